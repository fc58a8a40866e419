"""Trace one warm call through the server and count the files and functions that it passes.

    .venv/bin/python scripts/trace_call.py            # the table that CONTRIBUTING.md has
    .venv/bin/python scripts/trace_call.py --path     # also the order in which files are entered

A stranger who follows a call opens one file after the other. `files` is how many there are, `switches` how often
the call enters a function of another file than the one before, and `back` how many of these lead to a file that was
open already. Every function counts once. Frames of libraries and of the sandbox are left out.
"""

import argparse
import asyncio
import json
import sys
import threading
import unittest.mock
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from dogubako.app import build
from dogubako.settings import Sources
from dogubako.transports.http.app import HttpApp
from dogubako.transports.http.request import HEAD_FACTS

_SOURCE: Final = Path(__file__).resolve().parent.parent / "src"
_WORKBENCH: Final = _SOURCE.parent / "examples" / "workbench.py"
_OURS: Final = str(_SOURCE / "dogubako") + "/"
_TRIES: Final = 12
# Timers of the loop run this much slower while a call is traced: on a busy computer they would end during most calls.
_SLOWER: Final = 1_000
_VERSION: Final = "2026-07-28"
_PREFIX: Final = "io.modelcontextprotocol/"
_META: Final = {
    f"{_PREFIX}protocolVersion": _VERSION,
    f"{_PREFIX}clientInfo": {"name": "trace", "version": "1.0"},
    f"{_PREFIX}clientCapabilities": {},
}


@dataclass
class Trace:
    """The functions of ours in the order in which they were first entered."""

    functions: list[CodeType] = field(default_factory=list)
    _seen: set[CodeType] = field(default_factory=set)

    def note(self, frame: FrameType, event: str, _argument: object) -> None:
        code = frame.f_code
        if event == "call" and code not in self._seen and _counts(code):
            self._seen.add(code)
            self.functions.append(code)

    @property
    def path(self) -> list[str]:
        """The file of each function, without repeating it as long as the call stays there."""
        files = [code.co_filename for code in self.functions]
        return [name for before, name in zip([None, *files], files, strict=False) if name != before]

    def row(self, name: str) -> str:
        path = self.path
        files = len(set(path))
        return f"| {name} | {files} | {len(self.functions)} | {len(path)} | {len(path) - files} |"


def _counts(code: CodeType) -> bool:
    # The clock of all timers ticks in between, whatever call is running.
    return code.co_filename.startswith(_OURS) and not code.co_qualname.startswith("_Clock._tick")


# The trace of the call that is being measured. Worker threads, which format large answers, look here too.
_measured: list[Trace] = []


def _note(frame: FrameType, event: str, argument: object) -> None:
    for trace in _measured:
        trace.note(frame, event, argument)


async def traced(call: Callable[[], Awaitable[Any]]) -> Trace:
    """A warm call: the first one builds what later calls find ready. Of several, what all of them pass.

    What happens beside some of them, such as a look at a file that may have changed, is no part of the call.
    """
    await call()
    traces = [await _trace(call) for _ in range(_TRIES)]
    shortest = min(traces, key=lambda trace: len(trace.functions))
    return Trace([code for code in shortest.functions if all(code in trace.functions for trace in traces)])


async def _trace(call: Callable[[], Awaitable[Any]]) -> Trace:
    trace = Trace()
    loop = asyncio.get_running_loop()
    clock, start = loop.time, loop.time()
    with unittest.mock.patch.object(loop, "time", lambda: start + (clock() - start) / _SLOWER):
        _measured.append(trace)
        sys.setprofile(_note)
        try:
            await call()
        finally:
            sys.setprofile(None)
            _measured.clear()
    return trace


class Client:
    """Sends requests to the ASGI app as our protocol does: with the whole body in one message, and known heads."""

    def __init__(self, app: HttpApp) -> None:
        self._app = app
        self._facts: dict[tuple[str, ...], dict[Any, Any]] = {}

    async def post(self, path: str, body: Any, headers: dict[str, str] | None = None) -> Any:
        sent: list[Any] = []
        known = {"host": "127.0.0.1:3000", "content-type": "application/json", **(headers or {})}
        scope = {
            "type": "http",
            "method": "POST",
            "path": path,
            "query_string": b"",
            "headers": [(name.encode(), value.encode()) for name, value in known.items()],
            HEAD_FACTS: self._facts.setdefault((path, *known, *known.values()), {}),
        }
        incoming = [{"type": "http.request", "body": json.dumps(body).encode(), "more_body": False}]

        async def receive() -> Any:
            return incoming.pop() if incoming else await asyncio.Event().wait()

        async def send(message: Any) -> None:
            sent.append(message)

        await self._app(scope, receive, send)
        return json.loads(b"".join(message.get("body", b"") for message in sent))


def over_mcp(client: Client, name: str, arguments: dict[str, Any]) -> Callable[[], Awaitable[Any]]:
    params = {"name": name, "arguments": arguments, "_meta": _META}
    headers = {
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": _VERSION,
        "mcp-method": "tools/call",
        "mcp-name": name,
    }
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}

    async def call() -> None:
        answer = await client.post("/mcp", message, headers)
        assert answer["result"]["isError"] is False, answer

    return call


def over_rest(client: Client, name: str, arguments: dict[str, Any]) -> Callable[[], Awaitable[Any]]:
    async def call() -> None:
        answer = await client.post("/v1/tools/call", {"name": name, "parameters": arguments})
        assert answer["success"] is True, answer

    return call


async def measure() -> dict[str, Trace]:
    """The calls of the table, in process, without sockets."""
    box = build(Sources(overrides={"sandbox": True, "tools": (_WORKBENCH,)}, environ={}))
    door = HttpApp(box)
    async with door._lifespan(door):
        client, execution = Client(door), {"id": "1"}
        return {
            "`get_execution` over `/mcp`": await traced(over_mcp(client, "get_execution", execution)),
            "`get_execution` over REST": await traced(over_rest(client, "get_execution", execution)),
            "`echo` over `/mcp`": await traced(over_mcp(client, "echo", {"text": "hello"})),
            "`echo` over REST": await traced(over_rest(client, "echo", {"text": "hello"})),
        }


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--path", action="store_true", help="list the files in the order of the call")
    chosen = options.parse_args()
    print("| one warm call | files | functions | switches | back |\n| --- | --- | --- | --- | --- |")
    # Threads that start later are traced as well.
    threading.setprofile(_note)
    traces = asyncio.run(measure())
    for name, trace in traces.items():
        print(trace.row(name))
    if chosen.path:
        for name, trace in traces.items():
            print(f"\n{name}")
            for code in trace.functions:
                print(f"  {code.co_filename.removeprefix(_OURS)}  {code.co_qualname}")


if __name__ == "__main__":
    main()
