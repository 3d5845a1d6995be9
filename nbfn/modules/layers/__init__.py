"""Keras layers in the lifecycle."""
