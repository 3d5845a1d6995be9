"""`nbfn.export`: a SavedModel of the notebook, and its proof."""
