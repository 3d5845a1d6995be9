"""The Python state that code depends on, and whether it has changed; independent of graphs."""
