"""Stores of variables, scopes, random keys, and filters of collections."""
