"""One call: its record, fast dispatch, interruption, placement and times."""
