"""Analyses the bytecode of a code object for what it reads; no values are examined."""
