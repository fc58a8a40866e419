"""n8n: automations that agents can understand, run and repair."""
