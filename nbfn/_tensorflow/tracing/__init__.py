"""Trace caches of TensorFlow, their keys, and calls through them."""
