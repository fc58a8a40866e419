"""A stdio MCP server that nobody would write: `python -I -S hostile_server.py`.

Its names are Japanese or differ only in case, its numbers are huge, it asks before it was greeted, answers twice or
under another id, and closes its stdout without ending.
"""

import json
import os
import sys
import time
from typing import Any

HUGE = "9" * 400
LONG = "list_everything_that_anybody_has_ever_written_down_in_this_place"
NAMES = [
    "課題を探す",
    LONG,
    LONG.upper(),
    LONG.title(),
    "many_blocks",
    "huge_numbers",
    "twice",
    "another_id",
    "odd_questions",
    "close_stdout",
    "true_id",
    "answer_lists_with_a_result",
    "echo",
]
# Whether lists are answered as calls are.
confused = False


def write(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def send(message: dict[str, Any]) -> None:
    write(json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False))


def answer(request: Any, result: dict[str, Any]) -> None:
    send({"id": request, "result": result})


def say(request: Any, text: str) -> None:
    answer(request, {"content": [{"type": "text", "text": text}]})


def definition(name: str) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object", "properties": {"言葉": {"type": "string", "description": "探す言葉"}}}
    described = (
        f"\u202e{name}\u202c を実行します。\x1b[2J\x1b]0;owned\x07" if name.isascii() else "課題を言葉で探します。"
    )
    return {"name": name, "title": "道具", "description": described, "inputSchema": schema}


def early_questions() -> None:
    """Questions before anybody has said hello, under ids that the other side uses itself."""
    for number, method in enumerate(("ping", "roots/list", "sampling/createMessage", "elicitation/create", "no/such")):
        send({"id": number, "method": method, "params": {"message": "?", "requestedSchema": {"type": "object"}}})
    send({"id": [1], "method": "ping"})
    send({"id": None, "method": "ping"})
    send({"method": "notifications/tools/list_changed"})
    write('{"jsonrpc": "2.0", "id": 1, "result": {"tools": [{"name": "early"}]}}')


def call(request: Any, params: dict[str, Any]) -> None:
    name = params["name"]
    if name == "many_blocks":
        answer(request, {"content": [{"type": "text", "text": f"塊 {number}"} for number in range(5_000)]})
    elif name == "huge_numbers":
        token = json.dumps(params.get("_meta", {}).get("progressToken"))
        for value in (HUGE, f"-{HUGE}", "1e999", "NaN"):
            progress = f'{{"progressToken": {token}, "progress": {value}, "total": {value}}}'
            write(f'{{"jsonrpc": "2.0", "method": "notifications/progress", "params": {progress}}}')
        blocks = '[{"type": "text", "text": "huge"}]'
        data = f'{{"count": {HUGE}, "part": 1e999, "small": 1}}'
        write(f'{{"jsonrpc": "2.0", "id": {request}, "result": {{"content": {blocks}, "structuredContent": {data}}}}}')
    elif name == "twice":
        say(request, "first")
        say(request, "second")
    elif name == "another_id":
        say(request + 1_000, "for nobody")
        say(str(request), "by a string")
    elif name == "true_id":
        send({"id": True, "result": {"content": [{"type": "text", "text": "for request one"}]}})
        say(request, "mine")
    elif name == "odd_questions":
        for odd in ([1], {"a": 1}, None, True, 1.5):
            send({"id": odd, "method": "roots/list"})
        send(
            {
                "id": "bad",
                "method": "elicitation/create",
                "params": {"mode": "url", "url": "file:///etc", "message": ""},
            }
        )
        send({"id": "worse", "method": "sampling/createMessage", "params": {"messages": [[]], "maxTokens": "many"}})
        say(request, "asked")
    elif name == "answer_lists_with_a_result":
        globals()["confused"] = True
        send({"method": "notifications/tools/list_changed"})
        say(request, "changed")
    elif name == "close_stdout":
        os.close(1)
        time.sleep(600)
    else:
        say(request, name)


def main() -> None:
    early_questions()
    for line in sys.stdin:
        message = json.loads(line)
        method, request, params = message.get("method"), message.get("id"), message.get("params") or {}
        if method == "initialize":
            info = {"serverInfo": {"name": "敵", "version": HUGE}, "capabilities": {"tools": {"listChanged": True}}}
            answer(request, {"protocolVersion": params["protocolVersion"], **info})
        elif method == "tools/list" and confused:
            answer(request, {"content": []})
        elif method == "tools/list":
            cursor = params.get("cursor")
            page = NAMES if cursor is None else []
            answer(request, {"tools": [definition(name) for name in page], "nextCursor": f"{cursor}x"[-500:]})
        elif method == "tools/call":
            call(request, params)
        elif method is not None and request is not None:
            send({"id": request, "error": {"code": int(HUGE), "message": ["no"], "data": None}})


if __name__ == "__main__":
    main()
