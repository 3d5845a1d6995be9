"""The runs of a notebook's cells, and where their time went."""
