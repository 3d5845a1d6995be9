"""Which Python state a trace depends on, and whether it still holds."""
