"""Objects whose state TensorFlow saves: variables, tables, tracked containers, and saved files."""
