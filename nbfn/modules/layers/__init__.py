"""Keras layers as modules."""
