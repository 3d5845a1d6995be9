"""The recorder of calls and traces, and policies: limits, stances, staleness, eviction."""
