"""What is in a graph."""
