"""Looks inside a graph while it runs: where values go wrong, and intermediate values."""
