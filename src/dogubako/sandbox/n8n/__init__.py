"""A small n8n inside our process."""
