"""What is Python's in code: effects that no graph repeats, objects it makes, values it needs."""
