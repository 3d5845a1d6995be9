"""Which Python state code depends on, and whether it has changed; knows no graph and no trace."""
