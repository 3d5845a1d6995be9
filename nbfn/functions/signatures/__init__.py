"""Patterns of input signatures, signatures that cover several calls, and relaxing."""
