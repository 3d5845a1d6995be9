"""What a trace is: its key, its context, its captures, its cause."""
