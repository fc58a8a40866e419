"""How n8n's answers read to an agent."""
