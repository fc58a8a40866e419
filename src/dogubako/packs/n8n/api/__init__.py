"""n8n's public API, one module per topic."""
