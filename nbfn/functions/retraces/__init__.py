"""Explains why a trace was made, what differs, and the remedy."""
