"""Runs cells in segments: as graphs where possible, else as Python."""
