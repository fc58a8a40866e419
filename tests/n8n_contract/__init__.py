"""What holds for the n8n in small and for a real one: the same tests ask both."""
