"""Modules inside of transformations: their variables become arguments and results."""
