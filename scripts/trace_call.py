"""Trace one warm call through the server and count the files and functions that it passes.

    .venv/bin/python scripts/trace_call.py            # the table that CONTRIBUTING.md has
    .venv/bin/python scripts/trace_call.py --path     # also the order in which files are entered

A stranger who follows a call opens one file after the other. `files` is how many there are, `switches` how often
the call enters a function of another file than the one before, and `back` how many of these lead to a file that was
open already. Every function counts once. Frames of libraries and of the sandbox are left out.
"""

import argparse
import asyncio
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import httpx2

from dogubako.app import build
from dogubako.settings import Sources
from dogubako.transports.http import HttpDoor

_SOURCE: Final = Path(__file__).resolve().parent.parent / "src"
_WORKBENCH: Final = _SOURCE.parent / "examples" / "workbench.py"
_OURS: Final = str(_SOURCE / "dogubako") + "/"
_SANDBOX: Final = _OURS + "sandbox/"
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
    return code.co_filename.startswith(_OURS) and not code.co_filename.startswith(_SANDBOX)


async def traced(call: Callable[[], Awaitable[Any]]) -> Trace:
    """The second call: the first one builds what later calls find ready."""
    await call()
    trace = Trace()
    sys.setprofile(trace.note)
    try:
        await call()
    finally:
        sys.setprofile(None)
    return trace


def over_mcp(client: httpx2.AsyncClient, name: str, arguments: dict[str, Any]) -> Callable[[], Awaitable[Any]]:
    params = {"name": name, "arguments": arguments, "_meta": _META}
    headers = {
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": _VERSION,
        "mcp-method": "tools/call",
        "mcp-name": name,
    }
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}

    async def call() -> None:
        answer = (await client.post("/mcp", json=message, headers=headers)).json()
        assert answer["result"]["isError"] is False, answer

    return call


def over_rest(client: httpx2.AsyncClient, name: str, arguments: dict[str, Any]) -> Callable[[], Awaitable[Any]]:
    async def call() -> None:
        answer = (await client.post("/v1/tools/call", json={"name": name, "parameters": arguments})).json()
        assert answer["success"] is True, answer

    return call


async def measure() -> dict[str, Trace]:
    """The calls of the table, in process, without sockets."""
    box = build(Sources(overrides={"sandbox": True, "tools": (_WORKBENCH,)}, environ={}))
    door = HttpDoor(box)
    async with door._lifespan(door):
        transport = httpx2.ASGITransport(door)
        async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1:3000") as client:
            execution = {"id": "1"}
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
