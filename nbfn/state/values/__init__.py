"""Fingerprints of values, what is reached from them, and the settings of modules."""
