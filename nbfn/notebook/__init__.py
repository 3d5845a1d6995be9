"""IPython: magics, cells turned into functions, and the comm to the panel."""
