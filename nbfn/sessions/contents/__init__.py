"""The contents of a session: kinds of values, models, statistics, cells."""
