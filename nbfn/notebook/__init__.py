"""IPython: magics, traced cells, errors, displays, and the comm to the panel."""
