"""What ran when in a notebook, and where the time went."""
