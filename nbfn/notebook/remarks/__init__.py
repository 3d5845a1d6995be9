"""What Python does in a cell, and a trace does not repeat."""
