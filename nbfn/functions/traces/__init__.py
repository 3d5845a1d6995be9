"""A trace: its key, context, captures and cause."""
