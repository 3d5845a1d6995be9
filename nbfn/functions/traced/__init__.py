"""``nbfn.function`` and ``TracedFunction``."""
