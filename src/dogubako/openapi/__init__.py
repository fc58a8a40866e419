"""HTTP APIs as tools: read an OpenAPI description, and send the requests that it describes."""
