"""Format n8n's answers for agents."""
