"""The console of any process shows the calls of all of them."""

import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from types import SimpleNamespace

import anyio
import pytest

from dogubako.app import Toolbox
from dogubako.contract.redaction import Redactor
from dogubako.contract.storage import MessageHandler, NotDelivered
from dogubako.transports.console import shared_calls
from dogubako.transports.console.recorder import CallRecord, CallRecorder
from dogubako.transports.console.shared_calls import SharedCalls
from tests.doors.processes import PATIENCE
from tests.doors.waiting import until
from tests.gate.guarded import guarded_box
from tests.redis_server import INSTALLED, RedisProcess
from tests.shared_redis import KEY, PATIENT

from .browser import Browser, browsing, text_of

pytestmark = pytest.mark.skipif(not INSTALLED, reason="needs redis-server")


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[RedisProcess]:
    (tmp_path / "redis").mkdir()
    with RedisProcess(tmp_path / "redis") as process:
        yield process


@pytest.fixture
async def machines(redis: RedisProcess, tmp_path: Path) -> AsyncIterator[list[tuple[Toolbox, Browser]]]:
    shared = {"DOGUBAKO_SHARED": redis.url + PATIENT, "DOGUBAKO_REQUEST_STATE_KEY": KEY, "DOGUBAKO_AUTH": "off"}
    async with AsyncExitStack() as stack:
        found = []
        for name in ("here", "there"):
            (tmp_path / name).mkdir()
            box = guarded_box(tmp_path / name, **shared)
            found.append((box, await stack.enter_async_context(browsing(box))))
        yield found


async def shown(browser: Browser, *words: str) -> None:
    """Load the page again until it shows these words."""
    deadline = time.monotonic() + PATIENCE
    text = text_of(await browser.get("/console/calls"))
    while not all(word in text for word in words):
        assert time.monotonic() < deadline, text
        await anyio.sleep(0.05)
        text = text_of(await browser.get("/console/calls"))


async def test_calls_of_another_process_from_before_and_after_the_page_was_opened_are_shown(
    machines: list[tuple[Toolbox, Browser]],
) -> None:
    (here, _), (there, visitor) = machines
    await here.call("search_tools", {"query": "before"})
    await shown(visitor, "search_tools")
    await here.call("describe_tool", {"name": "search_tools"})
    await there.call("no_such_tool")
    await shown(visitor, "search_tools", "describe_tool", "no_such_tool")


def _record(number: int) -> CallRecord:
    return CallRecord(
        id=f"{number}", at=float(number), ms=1.0, tool="look", caller="ann", caller_id="ann", door="rest", code="OK"
    )


def test_calls_that_come_late_or_twice_are_in_order_and_there_once() -> None:
    recorder = CallRecorder(5, Redactor())
    recorder.take([_record(3), _record(4)])
    recorder.take([_record(1), _record(2), _record(3)])
    recorder.take([_record(number) for number in range(5, 8)])

    assert [record.id for record in recorder.all()] == ["3", "4", "5", "6", "7"]


class Outbox:
    """Messages that go nowhere."""

    process = "here"

    def __init__(self) -> None:
        self.sent: list[tuple[str, str]] = []
        self.handlers: dict[str, MessageHandler] = {}

    def handle(self, topic: str, handler: MessageHandler) -> None:
        self.handlers[topic] = handler

    async def send(self, process: str, topic: str, payload: bytes) -> None:
        self.sent.append((process, topic))

    async def broadcast(self, topic: str, payload: bytes) -> None:
        self.sent.append(("all", topic))

    async def request(self, process: str, topic: str, payload: bytes) -> bytes:
        raise NotDelivered

    async def is_alive(self, process: str) -> bool:
        return True


async def test_calls_are_passed_on_only_while_somebody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1_000.0
    monkeypatch.setattr(shared_calls, "_PAUSE_SECONDS", 0.0)
    monkeypatch.setattr(shared_calls, "time", SimpleNamespace(monotonic=lambda: now))
    recorder, outbox = CallRecorder(100, Redactor()), Outbox()
    shared = SharedCalls(recorder, outbox)
    async with shared.running():
        recorder.recorded.tell([_record(1)])
        await outbox.handlers["console-calls-wanted"](b"", "there")
        await until(lambda: len(outbox.sent) == 1, "the last calls are sent")
        recorder.recorded.tell([_record(2)])
        await until(lambda: len(outbox.sent) == 2, "the next call is sent")
        now += 31
        recorder.recorded.tell([_record(3)])
        await until(lambda: not shared._watchers, "nobody looks any more")

    assert outbox.sent == [("there", "console-calls")] * 2


async def test_others_are_asked_again_only_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1_000.0
    monkeypatch.setattr(shared_calls, "_WAIT_SECONDS", 0.0)
    monkeypatch.setattr(shared_calls, "time", SimpleNamespace(monotonic=lambda: now))
    recorder, outbox = CallRecorder(100, Redactor()), Outbox()
    SharedCalls(recorder, outbox)
    for _ in range(3):
        await recorder.look()
    now += 11
    await recorder.look()

    assert outbox.sent == [("all", "console-calls-wanted")] * 2
