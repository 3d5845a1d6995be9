"""Outlines of results that do not change."""
