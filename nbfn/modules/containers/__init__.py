"""Modules that consist of parts."""
