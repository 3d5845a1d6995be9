"""Looking at graphs, carving them, and wrapping TensorFlow 1 code."""
