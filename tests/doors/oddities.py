"""What mutations are made of: values that are right in one place and wrong in most others."""

from typing import Any, Final

from . import messages

# Stands for the id of a session that is open at the server in question.
SESSION: Final = b"{session}"

CALLS: Final[tuple[tuple[str, Any], ...]] = (
    ("echo", {"text": "hello"}),
    ("echo", {"text": "道具箱 🧰 \u0000 \u2028"}),
    ("echo", {"text": 1, "more": None}),
    ("echo", {}),
    ("big", {"items": 2}),
    ("big", {"items": 2**63, "offset": 0.5}),
    ("picture", {}),
    ("fail", {"kind": "API_ERROR"}),
    ("fail", {"kind": "TOOL_NOT_FOUND"}),
    ("fail", {"kind": "CAPABILITY_REQUIRED"}),
    ("fail", {"kind": "RATE_LIMIT_EXCEEDED"}),
    ("fail", {"kind": "unexpected"}),
    ("locked", {}),
    ("nothing", {}),
    ("slow", {"seconds": 0}),
)

ODD_VALUES: Final[tuple[Any, ...]] = (
    None, True, False, 0, -1, 1.0, 1.5, 2**53, 2**63, 2**64, 2**70, "", " ", "1", "日本", "echo", "tools/call", "2.0",
    [], [1], {}, {"a": 1}, "\u0000", "x" * 300, ["tools/call"], {"name": "echo"},
)  # fmt: skip

HEADER_VALUES: Final[dict[bytes, tuple[bytes, ...]]] = {
    b"accept": (
        b"application/json", b"text/event-stream", b"*/*", b"application/*, text/*", b"", b"text/html",
        b"Application/JSON , Text/Event-Stream", b"application/json;q=0.5,text/event-stream;q=0",
        b"application/jsonx, */*;q=0.1",
    ),
    b"content-type": (
        b"application/json; charset=utf-8", b"APPLICATION/JSON", b"text/plain", b"", b"application/json+x",
        b"application/jsonx", b"application/json, text/plain", b" application/json ",
    ),
    b"mcp-protocol-version": (
        b"2026-07-28", b"2025-11-25", b"2024-11-05", b"2025-06-18", b"2099-01-01", b"", b"latest",
        b" 2026-07-28 ", b"\xff",
    ),
    b"mcp-method": (b"tools/call", b"tools/list", b"", b"TOOLS/CALL", b" tools/call\t", b"=?base64?dG9vbHMvY2FsbA==?="),
    b"mcp-name": (b"echo", b"Echo", b"", b"big", b" echo ", b"=?base64?ZWNobw==?=", b"\xe9", b"nothing"),
    b"mcp-session-id": (b"", b"unknown", SESSION, b" {session} ", b"\xff"),
    b"mcp-param-text": (b"hello", b""),
    b"last-event-id": (b"1",),
    b"x-other": (b"1",),
}  # fmt: skip

META_KEYS: Final = (
    "io.modelcontextprotocol/protocolVersion",
    "io.modelcontextprotocol/clientInfo",
    "io.modelcontextprotocol/clientCapabilities",
    "io.modelcontextprotocol/logLevel",
    "progressToken",
    "dogubako/options",
    "traceparent",
    "x/other",
)
META_VALUES: Final[tuple[Any, ...]] = (
    "2026-07-28", "2025-11-25", messages.CLIENT_INFO, {"name": "x"}, {"elicitation": {}}, {"elicitation": {"form": {}}},
    {"roots": None}, {"unknown": {"a": 1}}, "info", {"maxTokens": 500}, {"maxTokens": 1}, {"timeout": 10**9}, "token",
)  # fmt: skip

TOKENS: Final = (
    "NaN", "-Infinity", "1e999", "9" * 400, "9" * 5000, "01", "-0", "1.0", "'x'", "nul", "{,}", '"\t"',
    '"\\ud800"', '"\\udc00\\ud800"', '"\\ud83e\\uddf0"', '"\\u0000"', "[" * 50 + "]" * 50,
    '{"text": "a", "text": "b"}', '{"text": "a" "b"}',
)  # fmt: skip
