"""Compares eager and traced runs."""
