"""Input patterns, signatures that cover calls, and relaxing."""
