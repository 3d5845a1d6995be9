"""The base class ``Module``."""
