"""The gateway: connect to other MCP servers and serve their tools."""
