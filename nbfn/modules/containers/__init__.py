"""Modules made of parts."""
