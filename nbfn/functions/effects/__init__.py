"""Finds what is Python's in code: effects, objects that it creates, values that it needs."""
