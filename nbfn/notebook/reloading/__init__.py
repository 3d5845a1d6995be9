"""Follows modules that autoreload has changed in place."""
