"""Observes functions that nbfn did not make, and what a thread is doing."""
