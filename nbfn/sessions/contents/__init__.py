"""What a session holds, looked at: kinds of things, values, models, cells."""
