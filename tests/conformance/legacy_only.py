"""Run an MCP server over stdio as one that knows only `initialize`: `python legacy_only.py COMMAND…`.

`server/discover` is refused, and everything else is passed on.
"""

import json
import subprocess
import sys


def main() -> int:
    """Pass lines on in both directions until stdin ends."""
    server = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE)
    assert server.stdin is not None
    with server.stdin:
        for line in sys.stdin.buffer:
            message = json.loads(line)
            if message.get("method") == "server/discover":
                refuse(message["id"])
            else:
                server.stdin.write(line)
                server.stdin.flush()
    return server.wait()


def refuse(request: object) -> None:
    """It comes before all other messages, so the server behind us writes nothing at the same time."""
    error = {"code": -32601, "message": "Method not found"}
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": request, "error": error}) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
