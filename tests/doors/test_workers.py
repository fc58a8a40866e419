"""Several workers behind one port: a client that keeps no session may meet any of them."""

import signal
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from . import messages
from .processes import HERE, PATIENCE, WORKBENCH, Command, serving

_CAN_BE_ASKED: dict[str, Any] = {"elicitation": {"form": {}}}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Command]:
    folder = tmp_path_factory.mktemp("workers")
    with serving(WORKBENCH, HERE / "worker_pack.py", folder=folder, words=["--workers", "2"]) as server:
        started: set[bytes] = set()
        for _ in range(2):
            line = server.stderr.first(lambda one: b"Started server process" in one and one not in started)
            started.add(line)
        server.stderr.first(lambda one: b"Application startup complete" in one)
        yield server


def _call(url: str, name: str, arguments: dict[str, Any], **more: Any) -> dict[str, Any]:
    """One call on a connection of its own, so that any worker may take it."""
    params = {**messages.call(name, arguments, modern=True, capabilities=_CAN_BE_ASKED), **more}
    headers = {**messages.modern_headers("tools/call", name), "connection": "close"}
    with httpx2.Client(timeout=PATIENCE, verify=False) as client:
        response = client.post(f"{url}/mcp", json=messages.request("tools/call", params), headers=headers)
    return messages.response_in(response.headers["content-type"], response.content)


def _worker(url: str) -> str:
    return str(_call(url, "which_worker", {})["result"]["content"][0]["text"])


def test_fifty_calls_on_new_connections_all_succeed_and_both_workers_answer(server: Command) -> None:
    url = server.url()
    answers = [_call(url, "echo", {"text": str(number)}) for number in range(50)]
    seen: set[str] = set()
    for _ in range(500):
        seen.add(_worker(url))
        if len(seen) == 2:
            break

    assert [one["result"]["content"][0]["text"] for one in answers] == [str(number) for number in range(50)]
    assert len(seen) == 2


def test_a_question_of_one_worker_can_be_answered_to_another(server: Command) -> None:
    url, pairs = server.url(), set[tuple[str, str]]()
    for _ in range(100):
        asked = _call(url, "ask_as_worker", {})["result"]
        [(key, question)] = asked["inputRequests"].items()
        said = {key: {"action": "accept", "content": {"answer": "green"}}}
        answer = _call(url, "ask_as_worker", {}, inputResponses=said, requestState=asked["requestState"])
        worker, word = answer["result"]["content"][0]["text"].split()
        assert (asked["resultType"], word) == ("input_required", "green")
        pairs.add((question["params"]["message"], worker))
        if question["params"]["message"] != worker:
            break

    assert any(asker != answerer for asker, answerer in pairs)


def test_what_workers_do_is_in_the_log_and_not_on_stdout(server: Command) -> None:
    _call(server.url(), "echo", {"text": "logged"})

    assert '"event":"Tool completed"' in server.log_file
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


def test_workers_stop_with_their_parent(server: Command) -> None:
    # The last one here, because it stops the server that the others share.
    server.signal(signal.SIGTERM)

    assert server.wait() == 0
    assert "Traceback" not in server.stderr.text()
