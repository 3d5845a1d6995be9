"""Registries of running work and of observed functions; imports no TensorFlow."""
