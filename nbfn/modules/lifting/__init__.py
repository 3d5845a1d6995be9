"""Modules in transformations: their variables become arguments and results."""
