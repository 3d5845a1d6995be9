"""How modules are initialized, applied and bound, below the base class."""
