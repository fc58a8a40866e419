"""Several workers behind one port: a client that keeps no session may meet any of them."""

import signal
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from . import messages
from .processes import HERE, PATIENCE, WORKBENCH, Command, serving
from .waiting import until

pytestmark = pytest.mark.slow

_CAN_BE_ASKED: dict[str, Any] = {"elicitation": {"form": {}}}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Command]:
    folder = tmp_path_factory.mktemp("workers")
    with two_workers(folder) as server:
        yield server


@contextmanager
def two_workers(folder: Path) -> Iterator[Command]:
    """A server of which both workers take requests."""
    with serving(WORKBENCH, HERE / "worker_pack.py", folder=folder, words=["--workers", "2"]) as server:
        server.stderr.first(lambda line: b"Application startup complete" in line, nth=2)
        yield server


def test_a_client_that_comes_before_the_first_worker_waits_for_it(tmp_path: Path) -> None:
    """The address is printed before the workers start, which takes a moment."""
    with serving(WORKBENCH, folder=tmp_path, words=["--workers", "2"]) as server:
        url = server.url()
        assert "Started server process" not in server.stderr.text()
        answer = _call(url, "echo", {"text": "early"})

    assert answer["result"]["content"] == [{"type": "text", "text": "early"}]


def _call(url: str, name: str, arguments: dict[str, Any], **more: Any) -> dict[str, Any]:
    """One call on a connection of its own, so that any worker may take it."""
    params = {**messages.call(name, arguments, modern=True, capabilities=_CAN_BE_ASKED), **more}
    headers = {**messages.modern_headers("tools/call", name), "connection": "close"}
    with httpx2.Client(timeout=PATIENCE, verify=False) as client:
        response = client.post(f"{url}/mcp", json=messages.request("tools/call", params), headers=headers)
    return messages.response_in(response.headers["content-type"], response.content)


@asynccontextmanager
async def held(url: str, marker: Path) -> AsyncIterator[str]:
    """One worker is kept busy, so that all other calls meet the other one: the process that is held."""
    with ThreadPoolExecutor(1) as threads, ExitStack() as at_the_end:
        threads.submit(_call, url, "hold_worker", {"marker": str(marker)})
        at_the_end.callback(marker.unlink, missing_ok=True)
        await until(lambda: _process_in(marker) != "", "a worker is held")
        yield _process_in(marker)


def _process_in(marker: Path) -> str:
    return marker.read_text() if marker.exists() else ""


def _answer(url: str, asked: dict[str, Any]) -> dict[str, Any]:
    """Come back with what the person said."""
    said = {key: {"action": "accept", "content": {"answer": "green"}} for key in asked["inputRequests"]}
    return _call(url, "ask_as_worker", {}, inputResponses=said, requestState=asked["requestState"])


def _text(answer: dict[str, Any]) -> str:
    return str(answer["result"]["content"][0]["text"])


async def test_fifty_calls_on_new_connections_all_succeed_and_both_workers_answer(
    server: Command, tmp_path: Path
) -> None:
    url = server.url()
    answers = [_text(_call(url, "echo", {"text": str(number)})) for number in range(50)]
    async with held(url, tmp_path / "marker") as one:
        other = _text(_call(url, "which_worker", {}))

    assert answers == [str(number) for number in range(50)]
    assert one != other


async def test_a_question_of_one_worker_can_be_answered_to_another(server: Command, tmp_path: Path) -> None:
    url = server.url()
    async with AsyncExitStack() as second:
        async with held(url, tmp_path / "first") as answerer:
            asked = _call(url, "ask_as_worker", {})["result"]
            # While one is held, it is the other one that has asked, and that is held next.
            asker = await second.enter_async_context(held(url, tmp_path / "second"))
        answer = _answer(url, asked)

    assert asked["resultType"] == "input_required"
    assert _text(answer) == f"{answerer} green" and asker != answerer


async def test_an_answer_that_one_worker_has_heard_is_none_for_another(server: Command, tmp_path: Path) -> None:
    url = server.url()
    asked = _call(url, "ask_as_worker", {})["result"]
    async with AsyncExitStack() as second:
        async with held(url, tmp_path / "first"):
            heard = _answer(url, asked)
            hearer = await second.enter_async_context(held(url, tmp_path / "second"))
        again = _answer(url, asked)["result"]
        at_last = _answer(url, again)

    assert _text(heard) == f"{hearer} green"
    assert again["resultType"] == "input_required" and again["inputRequests"] == asked["inputRequests"]
    assert _text(at_last).endswith(" green") and _text(at_last) != _text(heard)


async def test_what_workers_do_is_in_the_log_and_not_on_stdout(server: Command) -> None:
    _call(server.url(), "echo", {"text": "logged"})

    await until(lambda: '"event":"Tool completed"' in server.log_file, "the call is in the log")
    assert server.stdout.text() == ""


def test_a_client_of_the_handshake_era_is_served_without_a_session(server: Command) -> None:
    body = messages.request("tools/call", messages.call("echo", {"text": "a"}, modern=False))
    with httpx2.Client(base_url=server.url(), timeout=PATIENCE) as client:
        opened = client.post(
            "/mcp", json=messages.request("initialize", messages.initialize()), headers=messages.legacy_headers()
        )
        answer = client.post("/mcp", json=body, headers=messages.legacy_headers())

    assert opened.status_code == 200 and "mcp-session-id" not in opened.headers
    response = messages.response_in(answer.headers["content-type"], answer.content)
    assert response["result"]["content"][0]["text"] == "a"


def test_workers_stop_with_their_parent(tmp_path: Path) -> None:
    with two_workers(tmp_path) as server:
        server.signal(signal.SIGTERM)

        assert server.wait() == 0
    assert "Traceback" not in server.stderr.text()


# A change in one worker is not heard in another, so no worker promises that its clients will hear of it.
_UNHEARD = {
    "prompts": {"listChanged": False},
    "resources": {"subscribe": False, "listChanged": False},
    "tools": {"listChanged": False},
}


def _ask(url: str, method: str, params: dict[str, Any], *, modern: bool) -> dict[str, Any]:
    headers = messages.modern_headers(method) if modern else messages.legacy_headers()
    said = {**params, "_meta": messages.envelope()} if modern else params
    with httpx2.Client(base_url=url, timeout=PATIENCE) as client:
        answer = client.post("/mcp", json=messages.request(method, said), headers={**headers, "connection": "close"})
    return messages.response_in(answer.headers["content-type"], answer.content)


@pytest.mark.parametrize("modern", [False, True], ids=["2025", "2026"])
def test_workers_announce_no_changes_that_nobody_can_hear(server: Command, modern: bool) -> None:
    method, params = ("server/discover", {}) if modern else ("initialize", messages.initialize())
    announced = _ask(server.url(), method, params, modern=modern)["result"]["capabilities"]

    assert {kind: announced[kind] for kind in _UNHEARD} == _UNHEARD


@pytest.mark.parametrize(
    ("method", "params", "modern"),
    [
        pytest.param("resources/subscribe", {"uri": "n8n://workflows/1"}, False, id="2025"),
        pytest.param("resources/unsubscribe", {"uri": "n8n://workflows/1"}, False, id="2025 again"),
        pytest.param("subscriptions/listen", {"notifications": {"toolsListChanged": True}}, True, id="2026"),
    ],
)
def test_what_workers_do_not_announce_they_do_not_accept(
    server: Command, method: str, params: dict[str, Any], modern: bool
) -> None:
    assert _ask(server.url(), method, params, modern=modern)["error"]["code"] == -32601
