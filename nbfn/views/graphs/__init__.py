"""The graph of a trace: as text, as HTML, and as what the picture is drawn from."""
