"""The cell and line magics."""
