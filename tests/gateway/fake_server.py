"""A small stdio MCP server of either era, which misbehaves on request: `python -I -S fake_server.py ERA [FAULT…]`.

ERA is `legacy` or `modern`. Faults: noise, ignore_eof, hang_initialize, exit_on_discover, silent_discover, no_schema,
stderr, late_tools (the first list is empty, and changes at once), flaky_list (the second list is an error). `MARKS`
names a file to which it appends one line for everything that a test wants to know.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ERA = sys.argv[1]
FAULTS = set(sys.argv[2:])
MODERN = "2026-07-28"
INFO = {"name": "fake", "version": "1"}
FORM = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
STEP = {"progress": 0.5, "total": 1}
URL_ID = {"elicitationId": "one"} if ERA == "legacy" else {}
QUESTIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "ask": ("elicitation/create", {"message": "Who are you?", "requestedSchema": FORM}),
    "sample": (
        "sampling/createMessage",
        {"messages": [{"role": "user", "content": {"type": "text", "text": "Say hello"}}], "maxTokens": 50},
    ),
    "folders": ("roots/list", {}),
    "page": ("elicitation/create", {"mode": "url", "message": "Please pay.", "url": "https://pay.example/1", **URL_ID}),
}
TOOLS = [
    "echo",
    "steps",
    "wait",
    *QUESTIONS,
    "die",
    "big",
    "storm",
    "grow",
    "fail",
    "odd",
    "spawn",
    "speak",
    "hog",
    "half",
    "look",
    "pace",
]
READING = {"echo", "steps"}

# Calls that wait for the answer to a question, by the question's id.
asked: dict[Any, tuple[Any, str]] = {}
extra_tools: list[str] = []
listening: list[Any] = []
lists: list[Any] = []
hoarded: list[bytes] = []


def send(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def mark(text: str) -> None:
    if "MARKS" in os.environ:
        with Path(os.environ["MARKS"]).open("a") as marks:
            marks.write(f"{text}\n")


def answer(request: Any, result: dict[str, Any]) -> None:
    send({"id": request, "result": {**({"resultType": "complete"} if ERA == "modern" else {}), **result}})


def say(request: Any, text: str) -> None:
    answer(request, {"content": [{"type": "text", "text": text}]})


def refuse(request: Any, code: int, message: str, data: Any = None) -> None:
    send({"id": request, "error": {"code": code, "message": message, **({"data": data} if data else {})}})


def definition(name: str) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"text": {"type": "string"}}}
    annotations = {"readOnlyHint": True} if name in READING else {}
    return {"name": name, "description": f"The tool {name}.", "inputSchema": schema, "annotations": annotations}


def changed() -> None:
    meta = {"_meta": {"io.modelcontextprotocol/subscriptionId": listening[-1]}} if listening else {}
    if ERA == "legacy" or listening:
        send({"method": "notifications/tools/list_changed", "params": meta})


def call(request: Any, params: dict[str, Any]) -> None:
    name, arguments = params["name"], params.get("arguments") or {}
    mark(f"call {name}")
    if name not in [*TOOLS, *extra_tools]:
        refuse(request, -32602, f"Unknown tool: {name}")
    elif name in QUESTIONS:
        ask(request, name, params)
    elif name == "steps":
        token = params["_meta"]["progressToken"]
        for step in (1, 2, 3):
            progress = {"progressToken": token, "progress": step, "total": 3, "message": f"step {step}"}
            send({"method": "notifications/progress", "params": progress})
            time.sleep(0.1)
        say(request, "stepped")
    elif name == "pace":
        send(
            {"method": "notifications/progress", "params": {**STEP, "progressToken": params["_meta"]["progressToken"]}}
        )
    elif name == "wait":
        mark(f"waiting {request}")
    elif name == "die":
        os._exit(7)
    elif name == "big":
        say(request, "x" * int(arguments["text"]))
    elif name == "storm":
        for _ in range(300):
            changed()
        say(request, "stormed")
    elif name == "grow":
        extra_tools.append("grown")
        changed()
        say(request, "grown")
    elif name == "fail":
        answer(request, {"content": [{"type": "text", "text": "The disk is full."}], "isError": True})
    elif name == "odd":
        answer(request, {"content": [{"type": "weird", "foo": 1}, {"type": "text", "text": "and a text"}]})
    elif name == "spawn":
        # In a session of its own, as browsers and daemons are.
        child = subprocess.Popen(["sleep", "600"], start_new_session=True, stdin=subprocess.DEVNULL)
        say(request, str(child.pid))
    elif name == "half":
        say(request, "\ud800")
    elif name == "look":
        try:
            say(request, Path(arguments["text"]).read_text())
        except OSError as error:
            say(request, type(error).__name__)
    elif name == "hog":
        hoarded.append(b"x" * 300 * 1024 * 1024)
    elif name == "speak":
        send({"method": "notifications/message", "params": {"level": "warning", "data": "a line"}})
        say(request, "spoke")
    else:
        say(request, arguments.get("text", ""))


def ask(request: Any, name: str, params: dict[str, Any]) -> None:
    method, question = QUESTIONS[name]
    if ERA == "legacy":
        asked[f"q{request}"] = (request, name)
        send({"id": f"q{request}", "method": method, "params": question})
        mark("asked")
    elif "inputResponses" in params:
        assert params["requestState"] == "state-1"
        say(request, json.dumps(params["inputResponses"]["who"], sort_keys=True))
    else:
        requests = {"who": {"method": method, "params": question}}
        answer(request, {"resultType": "input_required", "inputRequests": requests, "requestState": "state-1"})


def handle(message: dict[str, Any]) -> None:
    method, request, params = message.get("method"), message.get("id"), message.get("params") or {}
    if method is None:
        call_id, _ = asked.pop(request)
        if "error" in message:
            answer(call_id, {"content": [{"type": "text", "text": "nobody could be asked"}], "isError": True})
        else:
            say(call_id, json.dumps(message["result"], sort_keys=True))
    elif method == "server/discover":
        discover(request)
    elif method == "initialize":
        initialize(request, params)
    elif method == "tools/list":
        mark("list")
        lists.append(request)
        if "late_tools" in FAULTS and len(lists) == 1:
            answer(request, {"tools": []})
            changed()
            return
        if "flaky_list" in FAULTS and len(lists) == 2:
            refuse(request, -32603, "busy")
            return
        tools = [definition(name) for name in [*TOOLS, *extra_tools]]
        answer(request, {"tools": [*tools, {"name": "bare"}] if "no_schema" in FAULTS else tools})
    elif method == "tools/call":
        call(request, params)
    elif method == "resources/read":
        answer(request, {"contents": [{"uri": params["uri"], "text": "a resource"}]})
    elif method == "subscriptions/listen":
        listening.append(request)
        meta = {"io.modelcontextprotocol/subscriptionId": request}
        send({"method": "notifications/subscriptions/acknowledged", "params": {"_meta": meta}})
    elif method == "notifications/cancelled":
        mark(f"cancelled {params['requestId']}")
    elif request is not None:
        refuse(request, -32601, "Method not found")


def discover(request: Any) -> None:
    if "silent_discover" in FAULTS:
        return
    if "exit_on_discover" in FAULTS:
        sys.exit(3)
    if ERA == "legacy":
        refuse(request, -32601, "Method not found")
        return
    capabilities = {"tools": {"listChanged": True}}
    meta = {"io.modelcontextprotocol/serverInfo": INFO}
    answer(request, {"supportedVersions": [MODERN], "capabilities": capabilities, "_meta": meta})


def initialize(request: Any, params: dict[str, Any]) -> None:
    mark("initialize")
    if "hang_initialize" in FAULTS:
        return
    if ERA == "modern":
        refuse(request, -32022, "Unsupported protocol version", {"supported": [MODERN]})
        return
    capabilities = {"tools": {"listChanged": True}, "resources": {}}
    version = params["protocolVersion"]
    answer(request, {"protocolVersion": version, "capabilities": capabilities, "serverInfo": INFO})


def main() -> None:
    mark(f"pid {os.getpid()}")
    if "noise" in FAULTS:
        sys.stdout.write('Starting…\n{"level": 30, "msg": "hello"}\n[1, 2]\n\n')
    if "stderr" in FAULTS:
        sys.stderr.write("The variable TOKEN is missing.\n")
        sys.exit(1)
    for line in sys.stdin:
        handle(json.loads(line))
    while "ignore_eof" in FAULTS:
        time.sleep(1)
    mark("ended")


if __name__ == "__main__":
    main()
