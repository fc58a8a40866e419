"""Recorded calls: bounded, grouped by cause, with their steps, live, and without values unless allowed."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from dogubako import Effect, errors, tool
from dogubako.app import Toolbox
from dogubako.contract.call import CallEnd, Caller, ToolCall
from dogubako.contract.call_steps import CallStep, call_steps
from dogubako.contract.redaction import Redactor
from dogubako.engine.events import EndedCall
from dogubako.transports.console.recorder import CallRecord, CallRecorder
from dogubako.transports.console.statistics import Timeline, causes_of, totals_of
from dogubako.transports.http.app import HttpApp
from tests.doors.asgi import Client, Visit, opened
from tests.doors.processes import PATIENCE
from tests.gate.guarded import guarded_box

from .browser import Browser, browsing, text_of

SECRET = "Tr0ub4dor&3-xyz"
_tries: list[int] = []


@tool(effect=Effect.READ, retry=1)
async def flaky() -> str:
    """Fail once, then work. It asks a service each time."""
    _tries.append(1)
    steps = call_steps.get()
    assert steps is not None
    steps.append(CallStep("request", "mill", "GET", 0.0, 2.0, 200 if len(_tries) % 2 == 0 else 503))
    if len(_tries) % 2:
        raise errors.ApiError("Failed to read: the mill is away", status_code=503)
    return "done"


@tool(effect=Effect.READ)
async def whisper(password: str) -> str:
    """Say it again."""
    return f"password={password} and {SECRET}"


@pytest.fixture
def box(tmp_path: Path) -> Toolbox:
    return guarded_box(tmp_path, flaky, whisper, DOGUBAKO_AUTH="off")


@pytest.fixture
async def browser(box: Toolbox) -> AsyncIterator[Browser]:
    async with browsing(box) as one:
        yield one


async def _call(box: Toolbox, name: str, **arguments: object) -> None:
    await box.call(name, arguments)
    assert box._batches is not None
    box._batches.flush()


async def test_a_call_shows_its_steps(browser: Browser, box: Toolbox) -> None:
    await _call(box, "flaky")
    recorder = browser._client._app._recorder  # type: ignore[attr-defined]
    record = recorder.all()[-1]

    page = text_of(await browser.get(f"/console/calls/{record.id}"))

    assert [step.kind for step in record.steps] == ["request", "retry", "request"]
    assert "mill: GET, status 503" in page
    assert "Repeated after API_ERROR" in page
    assert "mill: GET, status 200" in page
    assert page.index("503") < page.index("Repeated") < page.index("status 200")
    # Nobody's steps are left behind.
    assert box._batches is not None and box._batches.steps == {}


async def test_failures_are_grouped_by_cause_and_lead_to_the_last_one(browser: Browser, box: Toolbox) -> None:
    for _ in range(3):
        await _call(box, "echo")
    await _call(box, "nothing_of_this_name")

    page = text_of(await browser.get("/console/calls"))

    assert "3 VALIDATION_ERROR Required parameter missing: text" in page
    assert "1 TOOL_NOT_FOUND Tool not found: nothing_of_this_name" in page


async def test_values_are_not_kept_unless_the_operator_says_so(tmp_path: Path) -> None:
    seen = {}
    for allowed in ("false", "true"):
        box = guarded_box(tmp_path, whisper, DOGUBAKO_AUTH="off", DOGUBAKO_CONSOLE_VALUES=allowed)
        box.redactor.add(SECRET)
        async with browsing(box) as browser:
            await _call(box, "whisper", password="hunter2-hunter2", note="visible")
            await _call(box, "whisper", password="hunter2-hunter2")
            recorder = browser._client._app._recorder  # type: ignore[attr-defined]
            paths = [f"/console/calls/{record.id}" for record in recorder.all()]
            seen[allowed] = " ".join([text_of(await browser.get(path)) for path in paths])

    assert "visible" not in seen["false"]
    assert "DOGUBAKO_CONSOLE_VALUES=true" in seen["false"]
    assert "visible" in seen["true"]
    assert not any(secret in text for secret in (SECRET, "hunter2") for text in seen.values())


def _ended(number: int, code: str = "OK") -> EndedCall:
    call = ToolCall(name=f"tool_{number % 7}", caller=Caller(name="ann", id=f"id{number % 3}"), door="http")
    return EndedCall(1_000_000.0 + number, call, CallEnd(code=code, milliseconds=float(number % 100)))


def test_the_recorder_keeps_the_last_calls_and_no_more() -> None:
    recorder = CallRecorder(100, Redactor(), keep_values=True)

    for start in range(0, 5_000, 50):
        recorder.add([_ended(number) for number in range(start, start + 50)])

    assert len(recorder) == 100
    assert recorder.all()[-1].tool == f"tool_{4_999 % 7}"
    assert len(recorder._values) <= 500


def test_the_timeline_keeps_a_day() -> None:
    timeline = Timeline()

    for number in range(1_000):
        at = {"at": number * 300.0, "ms": 10.0, "tool": "echo", "caller": "ann", "caller_id": "1"}
        timeline.add([CallRecord(id=str(number), door="http", code="OK", **at)])  # type: ignore[arg-type]

    assert len(timeline._steps) == 288


def test_sums_and_causes_are_right() -> None:
    recorder = CallRecorder(1_000, Redactor())
    recorder.add([_ended(number, "TIMEOUT" if number % 4 == 0 else "OK") for number in range(100)])

    totals = totals_of(recorder.all())
    causes = causes_of(recorder.all())

    assert (totals.calls, totals.failures, totals.p50, totals.p95) == (100, 25, 50.0, 95.0)
    assert sum(cause.count for cause in causes) == 25


async def test_new_calls_are_told_live_and_a_stopping_server_ends_the_stream(box: Toolbox) -> None:
    door = HttpApp(box)
    async with opened(door) as client:
        visit = Visit()
        visit.incoming.put_nowait({"type": "http.request", "body": b"", "more_body": False})
        running = asyncio.ensure_future(client.run(visit, "GET", "/console/events"))
        await _until(lambda: len(visit.sent) >= 2)
        await _call(box, "echo", text="x")
        await _until(lambda: b"event: calls" in visit.body)
        door.stop_streams()
        with anyio.fail_after(PATIENCE):
            await running

    assert visit.headers["content-type"].startswith("text/event-stream")


async def test_streams_need_a_session_and_are_bounded(tmp_path: Path) -> None:
    async with opened(HttpApp(guarded_box(tmp_path))) as client:
        assert (await client.get("/console/events")).status == 401


async def _until(fits: object) -> None:
    assert callable(fits)
    with anyio.fail_after(PATIENCE):
        while not fits():
            await anyio.lowlevel.checkpoint()


async def test_a_report_of_the_browser_is_logged_once_a_minute(
    browser: Browser, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(5):
        visit = await browser.post("/console/csp-report", content_type="application/csp-report")
        assert visit.status == 204

    assert capsys.readouterr().out.count("A browser blocked something") == 1


async def test_nobody_else_hears_of_a_call_that_is_not_remembered(browser: Browser) -> None:
    assert (await browser.get("/console/calls/0123456789abcdef")).status == 404
    assert isinstance(browser._client, Client)
