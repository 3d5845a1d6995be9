"""Traced cells: parsing, options, definitions, segments, one graph."""
