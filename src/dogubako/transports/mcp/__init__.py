"""MCP over stdio and Streamable HTTP."""
