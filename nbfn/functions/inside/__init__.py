"""Inside of a graph that runs: where values go wrong, and what they are."""
