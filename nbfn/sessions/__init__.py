"""The bound-module session of a notebook: what it holds, and its export."""
