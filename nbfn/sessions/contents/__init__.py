"""What a session holds, looked at: kinds of things, memory, values, models."""
