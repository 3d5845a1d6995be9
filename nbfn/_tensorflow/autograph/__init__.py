"""AutoGraph: what it converts, and the source of converted code."""
