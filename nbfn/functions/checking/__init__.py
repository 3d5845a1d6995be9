"""Eager against traced."""
