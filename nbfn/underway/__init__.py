"""What goes on in this process, told to whoever listens; it imports no TensorFlow."""
