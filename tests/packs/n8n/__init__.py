"""Executions and workflows of n8n, as our tools tell them."""
