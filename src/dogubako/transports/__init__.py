"""Transports: a request becomes a `ToolCall`, a `ToolResult` becomes a response."""
