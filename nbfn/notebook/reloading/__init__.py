"""Modules of the user that autoreload has changed in place."""
