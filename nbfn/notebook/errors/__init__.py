"""Errors and interrupts as the user should see them."""
