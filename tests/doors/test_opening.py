"""The early answers of stdio are the SDK's own answers, word for word, in every revision of the handshake era."""

import asyncio
import json
from pathlib import Path
from typing import Any

import anyio
import pytest

from dogubako.app import Toolbox, build
from dogubako.settings import Sources
from dogubako.transports.mcp.fast_path import FastPath, Handshake
from dogubako.transports.mcp.stdio import StdioServer

from . import messages
from .processes import PATIENCE

_READY = messages.notification("notifications/initialized")
_EVERYTHING = {
    "roots": {"listChanged": True},
    "sampling": {},
    "elicitation": {"form": {}},
    "experimental": {"x/y": {"deep": [1]}},
}


class _Listener:
    """Where the door writes: keeps every message and wakes whoever waits for one."""

    def __init__(self) -> None:
        self.heard: list[dict[str, Any]] = []
        self._news = anyio.Event()

    def write(self, data: bytes) -> None:
        self.heard.append(json.loads(data))
        self._news.set()
        self._news = anyio.Event()

    async def drain(self) -> None:
        return None

    def close(self) -> None:
        return None

    async def answers(self, count: int) -> list[dict[str, Any]]:
        with anyio.fail_after(PATIENCE):
            while len(self.heard) < count:
                await self._news.wait()
        return self.heard


async def _converse(box: Toolbox, script: list[Any]) -> list[dict[str, Any]]:
    """Send one message after the other, each after the answer to the one before."""
    reader, listener = asyncio.StreamReader(), _Listener()
    expected = 0
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(StdioServer(box, listener, tasks).run, reader)
        for message in script:
            reader.feed_data(json.dumps(message).encode() + b"\n")
            expected += "id" in message
            await listener.answers(expected)
        tasks.cancel_scope.cancel()
    return listener.heard


def _opening(version: Any, **changes: Any) -> dict[str, Any]:
    return messages.request("initialize", {**messages.initialize(version), **changes}, request_id=0)


def _asking(method: str, params: Any = None, request_id: Any = 7) -> dict[str, Any]:
    return messages.request(method, params, request_id=request_id)


_LIST = _asking("tools/list")
_VERSIONS = (*messages.HANDSHAKE_VERSIONS, "2026-07-28", "2099-01-01", "1.0", "")

SCRIPTS = [
    *(
        pytest.param([_opening(version), _READY, _asking("ping", request_id=1), _LIST], id=f"as {version or 'nobody'}")
        for version in _VERSIONS
    ),
    pytest.param([_opening("2025-11-25"), _LIST], id="impatient"),
    pytest.param([_opening("2025-11-25", capabilities=_EVERYTHING), _READY, _LIST], id="capable"),
    pytest.param(
        [
            _opening(
                "2025-11-25", clientInfo={"name": "x", "version": "1", "title": "X", "websiteUrl": "https://x.example"}
            )
        ],
        id="well introduced",
    ),
    pytest.param([_asking("ping"), _opening("2025-11-25")], id="ping first"),
    pytest.param(
        [_opening("2025-11-25"), _READY, _asking("ping", {}), _asking("tools/list", {}, "s")], id="empty params"
    ),
    pytest.param([_opening("2025-11-25"), _READY, _asking("tools/list", {"cursor": "0"})], id="with a cursor"),
    pytest.param([_opening("2025-11-25"), _READY, _asking("tools/list", {"cursor": "x"})], id="with a wrong cursor"),
    pytest.param([_opening("2025-11-25"), _READY, _asking("tools/list", {"_meta": {"a": 1}})], id="with meta"),
    pytest.param([_opening("2025-11-25"), _READY, _asking("tools/list", None, -5)], id="negative id"),
    pytest.param([_opening("2025-11-25"), _READY, _asking("tools/list", None, "道具")], id="unicode id"),
    pytest.param([_opening("2025-11-25"), _READY, _opening("2025-11-25") | {"id": 9}, _LIST], id="twice"),
    pytest.param([_opening("2025-11-25"), _READY, _asking("no/such")], id="unknown method"),
    pytest.param([_opening("2025-11-25", clientInfo={"name": "x"})], id="without a client version"),
    pytest.param([_opening("2025-11-25", clientInfo=None)], id="without client info"),
    pytest.param([_opening("2025-11-25", capabilities=[])], id="capabilities as a list"),
    pytest.param([_opening("2025-11-25", capabilities={"roots": {"listChanged": "maybe"}})], id="wrong capability"),
    pytest.param([_opening("2025-11-25", capabilities={"sampling": {"tools": 1}})], id="wrong detail"),
    pytest.param([_opening("2025-11-25", capabilities={"elicitation": None})], id="capability of nothing"),
    pytest.param([_opening("2025-11-25", capabilities={"x/unknown": "y"})], id="unknown capability"),
    pytest.param(
        [_opening("2025-11-25", clientInfo={"name": "x", "version": "1", "websiteUrl": "::"})], id="wrong site"
    ),
    pytest.param([_opening("2025-11-25", clientInfo={"name": "", "version": "", "more": []})], id="no name at all"),
    pytest.param([_opening("2025-11-25", capabilities={"tasks": {"list": {}}})], id="capability of tasks"),
    pytest.param([_opening("2025-11-25", clientInfo={"name": "x", "version": "1", "icons": "no"})], id="wrong icons"),
    pytest.param([_opening("2025-11-25", _meta={"progressToken": 1})], id="meta in the handshake"),
    pytest.param([_opening("2025-11-25", more=1)], id="unknown field in the handshake"),
    pytest.param([_opening(20251125)], id="version as a number"),
    pytest.param([{**_opening("2025-11-25"), "jsonrpc": "1.0"}, _opening("2025-11-25") | {"id": 2}], id="JSON-RPC 1"),
]


@pytest.mark.parametrize("script", SCRIPTS)
async def test_the_opening_says_what_the_sdk_would_say(
    box: Toolbox, script: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = await _converse(box, script)
    monkeypatch.setattr(Handshake, "answer", lambda *_: None)
    monkeypatch.setattr(FastPath, "match", lambda *_args, **_kwargs: None)
    theirs = await _converse(box, script)

    assert ours == theirs


@pytest.mark.parametrize("version", messages.HANDSHAKE_VERSIONS)
async def test_tools_with_output_schemas_are_listed_as_the_sdk_would(
    tmp_path: Path, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    basics = {"DOGUBAKO_SANDBOX": "true", "DOGUBAKO_PACKS": "n8n", "DOGUBAKO_DISCOVERY": "full"}
    box = build(Sources(environ={**basics, "DOGUBAKO_DATA_DIR": str(tmp_path)}, env_file=None))
    script = [_opening(version), _READY, _LIST]
    ours = await _converse(box, script)
    monkeypatch.setattr(Handshake, "answer", lambda *_: None)

    assert ours == await _converse(box, script)
    assert any("outputSchema" in one for one in ours[1]["result"]["tools"])


@pytest.mark.parametrize("version", messages.HANDSHAKE_VERSIONS)
async def test_the_opening_needs_no_sdk(box: Toolbox, version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def nobody(*_: Any) -> None:
        raise AssertionError("the SDK was asked")

    monkeypatch.setattr("dogubako.transports.mcp.stdio_sdk.SdkPeer.send", nobody)
    ours = await _converse(box, [_opening(version), _asking("ping", request_id=1)])

    assert [one["id"] for one in ours] == [0, 1]
    assert ours[0]["result"]["protocolVersion"] == version
