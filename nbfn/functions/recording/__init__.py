"""Counts and policies: the recorder, limits, stances, eviction."""
