"""What a code object reads, told from its bytecode; no values are looked at."""
