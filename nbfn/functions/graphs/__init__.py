"""Inspects graphs, carves functions from them, and wraps TensorFlow 1 code."""
