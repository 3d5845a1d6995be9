"""Shows errors and interrupts without internal frames, and with advice."""
