"""A cell turned into a function: what it is given, and what it leaves."""
