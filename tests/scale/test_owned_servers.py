"""A server that keeps state runs once for three of ours, and moves when the one that runs it ends."""

import json
import signal
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import pytest

from tests.doors import messages
from tests.doors.processes import PATIENCE, ROOT
from tests.redis_server import INSTALLED

from .legacy_client import legacy_client
from .replicas import COUNT, NGINX, Replicas, replicas

pytestmark = [
    pytest.mark.scale,
    pytest.mark.skipif(not (INSTALLED and NGINX), reason="needs redis-server and nginx"),
]

_TOOLS: Final = Path(__file__).with_name("counter_tools.py")
_LEGACY: Final = ROOT / "tests" / "conformance" / "legacy_only.py"
_OWNS: Final = "This process runs an MCP server for all"


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replicas]:
    folder = tmp_path_factory.mktemp("replicas")
    behind = [sys.executable, "-m", "dogubako", "stdio", "--tools", str(_TOOLS)]
    # One that asks in the middle of a call, and one that asks to be called again.
    old = {"command": sys.executable, "args": [str(_LEGACY), *behind], "cwd": str(ROOT)}
    new = {"command": sys.executable, "args": behind[1:], "cwd": str(ROOT)}
    config = "".join(
        f"[servers.{name}]\n"
        + "".join(f"{key} = {json.dumps(value)}\n" for key, value in table.items())
        # Tools of both have the same names.
        + f'pinning = "off"\ninclude = {include}\n[servers.{name}.env]\nLOG_DIR = "{folder}"\nCOUNTER = "{name}"\n'
        for name, table, include in (
            ("old", old, '["ask_name", "stroll", "crawl"]'),
            ("new", new, '["count_up"]'),
        )
    )
    settings = {
        "DOGUBAKO_CALLER_CONCURRENCY": "64",
        "DOGUBAKO_DISCOVERY": "full",
        "RATE_LIMIT_TOOL_MAX": "100000",
    }
    with replicas(folder, config=config, settings=settings) as box:
        for url in box.urls:
            for tool in ("count_up", "ask_name"):
                _wait_for(box, url, tool)
        yield box


def _wait_for(box: Replicas, url: str, tool: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while box.code("describe_tool", {"name": tool}, url=url) != "OK":
        assert time.monotonic() < deadline, "the tool of the other server is not served"
        time.sleep(0.2)


def _text(answer: dict[str, Any]) -> str:
    return str(answer["result"]["content"][0]["text"])


def _owners(box: Replicas, server: str) -> list[int]:
    """Those that ran the server, by their numbers."""
    line = f"server={server}"
    said = [one.stderr.text().splitlines() for one in box.servers]
    return [number for number, lines in enumerate(said) if any(_OWNS in one and line in one for one in lines)]


def test_one_process_counts_for_all(box: Replicas) -> None:
    counted = [_text(box.call("count_up", {}, url=url)).split() for url in (*box.urls, *box.urls)]

    assert len({process for process, _ in counted}) == 1
    assert [int(number) for _, number in counted] == list(range(1, 2 * COUNT + 1))
    assert len(_owners(box, "new")) == len(_owners(box, "old")) == 1


async def test_progress_and_log_lines_reach_the_client_at_every_server(box: Replicas) -> None:
    meta = {"progressToken": "p"}
    call = messages.request("tools/call", messages.call("stroll", {}, modern=False, meta=meta), request_id="s")
    heard = []
    async with legacy_client(box.key) as client:
        await client.open(box.urls[0])
        for url in box.urls:
            async with client.stream(url, call) as events:
                heard.append([one.get("method", "answer") for one in await events.rest()])

    wanted = [*["notifications/progress"] * 3, "notifications/message", "answer"]
    assert heard == [wanted] * COUNT


async def test_questions_of_the_server_are_answered_at_every_server(box: Replicas) -> None:
    call = messages.request("tools/call", messages.call("ask_name", {}, modern=False), request_id="q")
    said = []
    async with legacy_client(box.key) as client:
        await client.open(box.urls[0])
        for number, url in enumerate(box.urls):
            async with client.stream(url, call) as events:
                asked = await events.next("elicitation/create")
                result = {"action": "accept", "content": {"answer": "Ann"}}
                answer = {"jsonrpc": "2.0", "id": asked["id"], "result": result}
                await client.send(box.urls[(number + 1) % COUNT], answer)
                said.append(_text(await events.next()))

    assert said == ["Hello Ann"] * COUNT


def test_a_newer_client_is_asked_by_one_server_and_answers_another(box: Replicas) -> None:
    said = []
    for number, url in enumerate(box.urls):
        asked = box.call("ask_name", {}, url=url)["result"]
        answers = {key: {"action": "accept", "content": {"answer": "Bob"}} for key in asked["inputRequests"]}
        more = {"inputResponses": answers, "requestState": asked["requestState"]}
        said.append(_text(box.call("ask_name", {}, url=box.urls[(number + 1) % COUNT], **more)))

    assert said == ["Hello Bob"] * COUNT


async def test_a_resource_is_the_same_at_every_server(box: Replicas) -> None:
    before = int(_text(box.call("count_up", {})).split()[1])
    async with legacy_client(box.key) as client:
        await client.open(box.urls[0])
        read = [await client.ask(url, "resources/read", {"uri": "new://total"}) for url in box.urls]

    assert [one["result"]["contents"][0]["text"] for one in read] == [str(before)] * COUNT


def test_a_call_of_a_killed_owner_fails_once_and_another_process_takes_over(box: Replicas, tmp_path: Path) -> None:
    """The last test: one of the servers is gone afterwards."""
    (owner,) = _owners(box, "old")
    caller = box.urls[(owner + 1) % COUNT]
    marker = tmp_path / "runs"
    with ThreadPoolExecutor(1) as threads:
        call = threads.submit(box.call, "crawl", {"marker": str(marker)}, url=caller)
        deadline = time.monotonic() + PATIENCE
        while not marker.exists():
            assert time.monotonic() < deadline, "the call does not start"
            time.sleep(0.05)
        box.servers[owner].signal(signal.SIGKILL)
        result = call.result()["result"]
    arrived = _text(box.call("stroll", {}, url=caller))

    assert result["isError"] and result["_meta"]["code"] == "API_ERROR" and not result["_meta"]["retryable"]
    assert "ended during the call" in result["content"][0]["text"]
    assert "may have been done" in result["content"][1]["text"]
    assert (marker.read_text(), arrived) == ("run\n", "arrived")
    assert len(_owners(box, "old")) == 2
