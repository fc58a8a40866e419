"""Every door leads to the same record: who came in by which one, and what they asked for."""

import signal
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.doors import messages
from tests.doors.pipe import speaking
from tests.doors.processes import PATIENCE, Command, run, serving, tool_words

from .sheds import ALWAYS, SHED, key_in, log_in, recorded_in

_ON = {"DOGUBAKO_AUDIT": "true"}


def settings_in(folder: Path, **more: str) -> dict[str, str]:
    return {**_ON, "DOGUBAKO_DATA_DIR": str(folder / "data"), **more}


class Visitor:
    """Calls over HTTP, by each of its doors."""

    def __init__(self, url: str, key: str | None = None) -> None:
        self._headers = {"x-api-key": key} if key else {}
        self._client = httpx2.Client(base_url=url, timeout=PATIENCE)
        self._ids = count(1)

    def rest(self, name: str, arguments: dict[str, Any]) -> Any:
        return self._client.post(
            "/v1/tools/call", json={"name": name, "parameters": arguments}, headers=self._headers
        ).json()

    def modern(self, name: str, arguments: dict[str, Any], **more: Any) -> Any:
        headers = messages.modern_headers("tools/call", name)
        return self._ask("tools/call", messages.call(name, arguments, modern=True, **more), headers)

    def legacy(self, name: str, arguments: dict[str, Any], **more: Any) -> Any:
        headers = messages.legacy_headers(self._shake_hands())
        return self._ask("tools/call", messages.call(name, arguments, modern=False, **more), headers)

    def read(self, uri: str) -> Any:
        headers = messages.modern_headers("resources/read", uri)
        return self._ask("resources/read", {"uri": uri, "_meta": messages.envelope()}, headers)

    def get_prompt(self, name: str) -> Any:
        headers = messages.modern_headers("prompts/get", name)
        return self._ask("prompts/get", {"name": name, "_meta": messages.envelope()}, headers)

    def close(self) -> None:
        self._client.close()

    def _ask(self, method: str, params: Any, headers: dict[str, str]) -> Any:
        body = messages.request(method, params, request_id=next(self._ids))
        answer = self._client.post("/mcp", json=body, headers={**headers, **self._headers})
        return messages.response_in(answer.headers["content-type"], answer.content)

    def _shake_hands(self) -> str:
        opening = messages.request("initialize", messages.initialize(), request_id=next(self._ids))
        headers = {**messages.legacy_headers(), **self._headers}
        return str(self._client.post("/mcp", json=opening, headers=headers).headers["mcp-session-id"])


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Command]:
    folder = tmp_path_factory.mktemp("serve")
    with serving(SHED, folder=folder, settings=settings_in(folder, DOGUBAKO_AUTH="keys")) as server:
        yield server


@pytest.fixture
def data(server: Command) -> Iterator[Path]:
    """The data folder, with nothing in its log."""
    folder = server.folder / "data"
    log_in(folder).write_bytes(b"")
    yield folder


@pytest.fixture(scope="module")
def ann(server: Command) -> Iterator[Visitor]:
    visitor = Visitor(server.url(), key_in(server.folder / "data", "ann", "write"))
    yield visitor
    visitor.close()


def test_calls_over_http_are_recorded_with_the_name_of_the_key(data: Path, ann: Visitor) -> None:
    for way in (ann.rest, ann.modern, ann.legacy):
        way("look", {"text": "a"})
        way("wipe", {"marker": "m", "confirm": True})
        way("call_tool", {"name": "look", "arguments": {"text": "a"}})
    # With options it takes the long way through the SDK.
    ann.modern("look", {"text": "a"}, options={"timeout": 1000})
    lines = recorded_in(data, lines=10)

    assert {one["caller"] for one in lines} == {"ann"}
    assert len({one["hash"] for one in lines if one["tool"] == "look"}) == 1
    assert [(one["door"], one["tool"], one["code"], one.get("via")) for one in lines] == [
        *(
            line
            for door in ("rest", "http", "http")
            for line in (
                (door, "look", "OK", None),
                (door, "wipe", "AUTHORIZATION_ERROR", None),
                (door, "look", "OK", "call_tool"),
            )
        ),
        ("http", "look", "OK", None),
    ]


def test_resources_and_prompts_are_recorded_over_http(data: Path, ann: Visitor) -> None:
    ann.read("shed://stock")
    ann.get_prompt("tidy")
    ann.read("else://where")

    assert [(one["door"], one["caller"], one["tool"], one["code"]) for one in recorded_in(data, lines=3)] == [
        ("http", "ann", "resources/read", "OK"),
        ("http", "ann", "prompts/get", "OK"),
        ("http", "ann", "resources/read", "NOT_FOUND"),
    ]


def test_who_does_not_get_in_calls_nothing(server: Command, data: Path) -> None:
    stranger = Visitor(server.url(), "dgb_00000000_" + "x" * 43)
    stranger.rest("look", {"text": "a"})
    stranger.close()

    assert recorded_in(data) == []


@pytest.mark.parametrize("modern", [False, True], ids=["2025", "2026"])
def test_calls_over_stdio_are_recorded(tmp_path: Path, modern: bool) -> None:
    with speaking(SHED, folder=tmp_path, modern=modern, settings=settings_in(tmp_path)) as pipe:
        if not modern:
            pipe.open()
        pipe.call("look", {"text": "a"})
        pipe.call("look", {"text": "a"}, options={"timeout": 1000})
        pipe.call("nothing", {})
    lines = recorded_in(tmp_path / "data")

    assert all(one.keys() == ALWAYS for one in lines)
    assert [(one["caller"], one["door"], one["tool"], one["code"]) for one in lines] == [
        ("anonymous", "stdio", "look", "OK"),
        ("anonymous", "stdio", "look", "OK"),
        ("anonymous", "stdio", "nothing", "TOOL_NOT_FOUND"),
    ]


def test_calls_of_the_command_line_are_recorded(tmp_path: Path) -> None:
    for words in (["look", "text=a"], ["put", "text=5"], ["wipe", "marker=m"]):
        run("tools", "call", *words, *tool_words(SHED), folder=tmp_path, settings=settings_in(tmp_path))

    assert [(one["door"], one["tool"], one["code"]) for one in recorded_in(tmp_path / "data")] == [
        ("cli", "look", "OK"),
        ("cli", "put", "OK"),
        ("cli", "wipe", "CONFIRMATION_REQUIRED"),
    ]


def test_a_server_that_is_asked_to_stop_leaves_a_complete_log(tmp_path: Path) -> None:
    with serving(SHED, folder=tmp_path, settings=settings_in(tmp_path)) as server:
        visitor = Visitor(server.url())
        for _ in range(20):
            visitor.rest("look", {"text": "a"})
        visitor.close()
        server.signal(signal.SIGTERM)
        assert server.wait() == 0

    assert len(recorded_in(tmp_path / "data")) == 20
