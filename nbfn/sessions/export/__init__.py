"""`nbfn.export`: writes a SavedModel of the notebook and verifies it."""
