"""The trace caches of TensorFlow, calls through them, and their keys."""
