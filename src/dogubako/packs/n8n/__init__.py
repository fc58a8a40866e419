"""The n8n pack: inspect, run and repair workflows."""
