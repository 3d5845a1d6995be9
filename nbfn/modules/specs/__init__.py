"""``Spec`` and ``Config``."""
