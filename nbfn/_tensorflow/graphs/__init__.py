"""The contents of graphs."""
