"""A graph while it runs: cancel, sample, count."""
