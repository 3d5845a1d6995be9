"""Cells in segments: graph where it is graph, Python where it is Python."""
