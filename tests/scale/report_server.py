"""A stdio MCP server with one tool that must not run twice: `report_server.py FILE` notes each run in the file."""

import json
import sys
from pathlib import Path

RUNS = Path(sys.argv[1])
TOOL = {"name": "report", "description": "Write a long report.", "inputSchema": {"type": "object"}}


def answer(message: dict[str, object]) -> object:
    method = message["method"]
    if method == "initialize":
        info = {"name": "reports", "version": "1"}
        return {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info}
    if method == "tools/list":
        return {"tools": [TOOL]}
    if method == "tools/call":
        with RUNS.open("a") as file:
            file.write("run\n")
        text = "\n".join(f"line {number} of the report" for number in range(20_000))
        return {"content": [{"type": "text", "text": text}]}
    return {}


for line in sys.stdin:
    request = json.loads(line)
    if "id" in request:
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": answer(request)}), flush=True)
