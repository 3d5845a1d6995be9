"""One call: fast dispatch, interrupt, placement."""
