"""The answer: what fits, how it reads, and the proof that it is valid."""
