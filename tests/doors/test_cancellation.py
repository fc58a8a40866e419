"""A call that is cancelled by its id stops, on the short way and on the long one, and only for who may cancel it."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import anyio
import pytest

from dogubako.app import build
from dogubako.settings import Sources
from dogubako.transports.http.app import HttpApp

from . import messages
from .asgi import Client, Visit, opened
from .pipe import Pipe, speaking
from .processes import HERE, PATIENCE, WORKBENCH
from .waiting import says

_TOOLS = (WORKBENCH, HERE / "odd_tools.py")
BOTH_WAYS = pytest.mark.parametrize(
    "tool", [pytest.param("linger", id="short"), pytest.param("linger_talking", id="long")]
)


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    box = build(Sources(overrides={"tools": _TOOLS}, environ={}, env_file=None))
    async with opened(HttpApp(box)) as client:
        yield client


async def _call(client: Client, session: str, tool: str, marker: Path, answers: list[Visit]) -> None:
    body = messages.request(
        "tools/call", messages.call(tool, {"marker": str(marker)}, modern=False), request_id="the-call"
    )
    answers.append(await client.post("/mcp", body, messages.legacy_headers(session)))


async def _cancel(client: Client, session: str) -> Visit:
    notice = messages.notification("notifications/cancelled", {"requestId": "the-call", "reason": "enough"})
    return await client.post("/mcp", notice, messages.legacy_headers(session))


@BOTH_WAYS
async def test_a_session_can_cancel_its_call(client: Client, tool: str, tmp_path: Path) -> None:
    session, marker, answers = await client.open_session(), tmp_path / "marker", list[Visit]()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_call, client, session, tool, marker, answers)
        await says(marker, "started")
        notice = await _cancel(client, session)

    assert notice.status == 202
    assert marker.read_text() == "cancelled"
    assert answers[0].status == 200
    assert answers[0].response["error"] == {"code": -32800, "message": "Request cancelled"}


@BOTH_WAYS
async def test_nobody_cancels_the_call_of_another_session(client: Client, tool: str, tmp_path: Path) -> None:
    mine, theirs = await client.open_session(), await client.open_session()
    marker, answers = tmp_path / "marker", list[Visit]()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_call, client, mine, tool, marker, answers)
        await says(marker, "started")
        await _cancel(client, theirs)
        echo = messages.request("tools/call", messages.call("echo", {"text": "a"}, modern=False))
        await client.post("/mcp", echo, messages.legacy_headers(theirs))
        still_running = marker.read_text()
        await _cancel(client, mine)

    assert (still_running, marker.read_text()) == ("started", "cancelled")


async def test_of_two_calls_with_one_id_the_one_that_is_left_can_still_be_cancelled(
    client: Client, tmp_path: Path
) -> None:
    session, brief, long = await client.open_session(), tmp_path / "brief", tmp_path / "long"
    pause = messages.call("pause", {"marker": str(brief), "seconds": 1}, modern=False)
    ended, answers = anyio.Event(), list[Visit]()

    async def first() -> None:
        body = messages.request("tools/call", pause, request_id="the-call")
        await client.post("/mcp", body, messages.legacy_headers(session))
        ended.set()

    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(first)
            await says(brief, "started")
            tasks.start_soon(_call, client, session, "linger", long, answers)
            await says(long, "started")
            await ended.wait()
            await _cancel(client, session)

    assert long.read_text() == "cancelled"
    # Not by the time that a tool has: the caller's word reached it.
    assert answers[0].response["error"] == {"code": -32800, "message": "Request cancelled"}


async def test_a_cancellation_that_comes_too_late_is_accepted_and_changes_nothing(client: Client) -> None:
    session = await client.open_session()
    echo = messages.request("tools/call", messages.call("echo", {"text": "a"}, modern=False), request_id="the-call")
    answer = await client.post("/mcp", echo, messages.legacy_headers(session))
    late = await _cancel(client, session)
    again = await client.post("/mcp", echo, messages.legacy_headers(session))

    assert (answer.status, late.status, again.response) == (200, 202, answer.response)


@pytest.fixture(scope="module", params=[False, True], ids=["2025", "2026"])
def pipe(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pipe]:
    with speaking(*_TOOLS, folder=tmp_path_factory.mktemp("stdio"), modern=request.param) as pipe:
        if not request.param:
            pipe.open()
        yield pipe


@BOTH_WAYS
async def test_over_stdio_a_cancelled_call_stops_and_is_never_answered(pipe: Pipe, tool: str, tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    request_id = pipe.start_call(tool, {"marker": str(marker)})
    await says(marker, "started")
    pipe.send(messages.notification("notifications/cancelled", {"requestId": request_id}))
    await says(marker, "cancelled")

    assert pipe.call("echo", {"text": "next"})["result"]["content"][0]["text"] == "next"
    assert not pipe.answered(request_id)


@pytest.mark.slow
async def test_over_stdio_the_end_of_input_stops_what_runs(tmp_path: Path) -> None:
    markers = {tool: tmp_path / tool for tool in ("linger", "linger_talking")}
    with speaking(*_TOOLS, folder=tmp_path, settings={"DOGUBAKO_SHUTDOWN_GRACE": "1"}) as pipe:
        pipe.open()
        for tool, marker in markers.items():
            pipe.start_call(tool, {"marker": str(marker)})
            await says(marker, "started")
        pipe.command.stdin.close()

        assert pipe.command.wait() == 0
    assert [marker.read_text() for marker in markers.values()] == ["cancelled", "cancelled"]
