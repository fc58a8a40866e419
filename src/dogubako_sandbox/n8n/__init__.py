"""A small n8n inside the process."""
