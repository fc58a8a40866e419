"""The same call through every door. Each speaker turns a call into its door's words and the answer into an `Answer`."""

import asyncio
import json
from collections.abc import Mapping
from itertools import count
from pathlib import Path
from typing import Any, Final, Literal, Protocol

import httpx2
from click.testing import CliRunner

from dogubako.app import Toolbox
from dogubako.cli import app
from dogubako.tools import ExecutionOptions

from . import messages
from .answers import Answer, from_mcp, from_response, from_rest, from_result
from .pipe import Pipe
from .processes import tool_words

Kind = Literal["memory", "stdio-2025", "stdio-2026", "http-2025", "http-2026", "rest", "cli"]
KINDS: Final[tuple[Kind, ...]] = ("memory", "stdio-2025", "stdio-2026", "http-2025", "http-2026", "rest", "cli")


def prescribed_frame(kind: Kind, code: str) -> int | None:
    """The one place where doors differ: MCP itself prescribes a JSON-RPC error for these, and only for these."""
    if kind in ("memory", "rest", "cli"):
        return None
    if code == "TOOL_NOT_FOUND":
        return -32602
    if code == "CAPABILITY_REQUIRED" and kind.endswith("2026"):
        return -32021
    return None


class Speaker(Protocol):
    """A door and somebody who speaks through it."""

    kind: Kind

    def call(self, name: str, arguments: Mapping[str, Any], options: Mapping[str, Any] | None = None) -> Answer: ...


class InMemory:
    """Python code with a toolbox of its own: what all others are compared with."""

    kind: Kind = "memory"

    def __init__(self, box: Toolbox) -> None:
        self._box = box

    def call(self, name: str, arguments: Mapping[str, Any], options: Mapping[str, Any] | None = None) -> Answer:
        wishes = ExecutionOptions.model_validate(options or {})
        return from_result(asyncio.run(self._box.call(name, arguments, wishes)))


class OverStdio:
    """JSON-RPC lines to a process."""

    def __init__(self, kind: Kind, pipe: Pipe) -> None:
        self.kind: Kind = kind
        self._pipe = pipe

    def call(self, name: str, arguments: Mapping[str, Any], options: Mapping[str, Any] | None = None) -> Answer:
        return from_response(self._pipe.call(name, arguments, options=options))


class OverHttp:
    """`POST /mcp`, in a session or without one."""

    def __init__(self, kind: Kind, client: httpx2.Client) -> None:
        self.kind: Kind = kind
        self._client = client
        self._ids = count(1)
        self._session = None if kind == "http-2026" else self._shake_hands()

    def call(self, name: str, arguments: Mapping[str, Any], options: Mapping[str, Any] | None = None) -> Answer:
        modern = self._session is None
        params = messages.call(name, arguments, modern=modern, options=options)
        headers = messages.modern_headers("tools/call", name) if modern else messages.legacy_headers(self._session)
        body = messages.request("tools/call", params, request_id=next(self._ids))
        response = self._client.post("/mcp", json=body, headers=headers)
        answer = from_response(messages.response_in(response.headers["content-type"], response.content))
        # Only the modern era has a status for a call that the protocol refuses.
        assert response.status_code == (400 if modern and answer.frame else 200)
        return answer

    def _shake_hands(self) -> str:
        opening = messages.request("initialize", messages.initialize(), request_id=next(self._ids))
        response = self._client.post("/mcp", json=opening, headers=messages.legacy_headers())
        session = str(response.headers["mcp-session-id"])
        ready = messages.notification("notifications/initialized")
        self._client.post("/mcp", json=ready, headers=messages.legacy_headers(session))
        return session


class OverRest:
    """`POST /v1/tools/call`."""

    kind: Kind = "rest"

    def __init__(self, client: httpx2.Client) -> None:
        self._client = client

    def call(self, name: str, arguments: Mapping[str, Any], options: Mapping[str, Any] | None = None) -> Answer:
        body = {"name": name, "parameters": arguments} | ({"options": options} if options is not None else {})
        response = self._client.post("/v1/tools/call", json=body)
        assert response.json()["success"] is (response.status_code == 200)
        return from_rest(response.json())


class OnCommandLine:
    """`dogubako tools call … --json`, in this process: a process per call would take minutes."""

    kind: Kind = "cli"

    def __init__(self, tools: tuple[Path, ...], folder: Path) -> None:
        self._tools = tools
        self._folder = folder

    def call(self, name: str, arguments: Mapping[str, Any], options: Mapping[str, Any] | None = None) -> Answer:
        switches = {"timeout": "--timeout", "maxTokens": "--max-tokens"}
        wishes = [word for key, value in (options or {}).items() for word in (switches[key], str(value))]
        words = ["tools", "call", name, json.dumps(arguments), *tool_words(*self._tools), *wishes, "--json"]
        # A folder that cannot be made: what one-off commands log is read elsewhere, in real processes.
        environment = {"LOG_DIR": str(self._folder / "file" / "logs")}
        (self._folder / "file").touch()
        outcome = CliRunner().invoke(app, words, env=environment)
        answer = from_mcp(json.loads(outcome.stdout))
        assert outcome.exit_code == (1 if answer.is_error else 0), outcome.stderr
        return answer
