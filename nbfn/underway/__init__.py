"""What runs now, what it calls and how long it took; imports no TensorFlow."""
