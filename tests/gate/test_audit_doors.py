"""Every door leads to the same record: who came in by which one, and what they asked for."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

from tests.doors import messages
from tests.doors.pipe import speaking
from tests.doors.processes import PATIENCE, Command, run, serving, tool_words
from tests.doors.speakers import OverHttp, OverRest

from .sheds import ALWAYS, SHED, key_in, log_in, recorded_in

_ON = {"DOGUBAKO_AUDIT": "true"}


def settings_in(folder: Path, **more: str) -> dict[str, str]:
    return {**_ON, "DOGUBAKO_DATA_DIR": str(folder / "data"), **more}


@contextmanager
def client_of(url: str, key: str | None = None) -> Iterator[httpx2.Client]:
    headers = {"x-api-key": key} if key else {}
    with httpx2.Client(base_url=url, timeout=PATIENCE, headers=headers) as client:
        yield client


def ask(client: httpx2.Client, method: str, key: str, value: str) -> None:
    """A modern request that names one thing."""
    body = messages.request(method, {key: value, "_meta": messages.envelope()})
    client.post("/mcp", json=body, headers=messages.modern_headers(method, value))


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
def ann(server: Command) -> Iterator[httpx2.Client]:
    with client_of(server.url(), key_in(server.folder / "data", "ann", "write")) as client:
        yield client


def test_calls_over_http_are_recorded_with_the_name_of_the_key(data: Path, ann: httpx2.Client) -> None:
    rest, modern, legacy = OverRest(ann), OverHttp("http-2026", ann), OverHttp("http-2025", ann)
    for way in (rest, modern, legacy):
        way.call("look", {"text": "a"})
        way.call("wipe", {"marker": "m", "confirm": True})
        way.call("call_tool", {"name": "look", "arguments": {"text": "a"}})
    # With options it takes the long way through the SDK.
    modern.call("look", {"text": "a"}, {"timeout": 1000})
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


def test_resources_and_prompts_are_recorded_over_http(data: Path, ann: httpx2.Client) -> None:
    ask(ann, "resources/read", "uri", "shed://stock")
    ask(ann, "prompts/get", "name", "tidy")
    ask(ann, "resources/read", "uri", "else://where")

    assert [(one["door"], one["caller"], one["tool"], one["code"]) for one in recorded_in(data, lines=3)] == [
        ("http", "ann", "resources/read", "OK"),
        ("http", "ann", "prompts/get", "OK"),
        ("http", "ann", "resources/read", "NOT_FOUND"),
    ]


def test_who_does_not_get_in_calls_nothing(server: Command, data: Path, ann: httpx2.Client) -> None:
    with client_of(server.url(), "dgb_00000000_" + "x" * 43) as stranger:
        refused = OverRest(stranger).call("look", {"text": "a"})
    OverRest(ann).call("put", {"text": "a"})

    # The line of the change came last and at once; one of the stranger would stand before it.
    assert refused.code == "AUTHENTICATION_ERROR"
    assert [(one["caller"], one["tool"]) for one in recorded_in(data, lines=1)] == [("ann", "put")]


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_server_that_is_asked_to_stop_leaves_a_complete_log(tmp_path: Path) -> None:
    with serving(SHED, folder=tmp_path, settings=settings_in(tmp_path)) as server:
        with client_of(server.url()) as client:
            for _ in range(20):
                OverRest(client).call("look", {"text": "a"})
        server.signal(signal.SIGTERM)
        assert server.wait() == 0

    assert len(recorded_in(tmp_path / "data")) == 20
