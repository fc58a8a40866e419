"""Other people's MCP servers, served as if their tools were ours."""
