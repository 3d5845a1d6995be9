"""AutoGraph: what it converts, and where the code came from."""
