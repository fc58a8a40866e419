"""A server that sends more than anybody can read: bounded memory, and turns of the loop for everybody else."""

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any

from dogubako.gateway import stdio_link
from dogubako.gateway.link import Message, Receiver, RequestId
from dogubako.gateway.pending_requests import LogLine, Progress
from dogubako.gateway.session import UpstreamSession
from dogubako.gateway.stdio_link import LineReader, StdioLink
from dogubako.gateway.stdio_process import ChildCommand


class DeafLink:
    """A server that reads nothing."""

    may_be_silent = True
    diagnostics = ""
    noise_lines = 0

    async def open(self, receiver: Receiver) -> None:
        return None

    async def send(self, message: Message) -> None:
        if message.get("method") != "tools/call":
            await asyncio.Event().wait()

    def cancel(self, request: RequestId) -> bool:
        return False

    def use(self, version: str) -> None:
        return None

    def learn(self, tools: Iterable[Message]) -> Mapping[str, str]:
        return {}

    async def close(self) -> None:
        return None


class NoEvents:
    def list_changed(self) -> None:
        return None

    def resource_updated(self, uri: str) -> None:
        return None

    def connection_lost(self, reason: str) -> None:
        return None


class Heard:
    """What reaches the session, and how often others had their turn."""

    def __init__(self) -> None:
        self.messages: list[Message] = []

    def received(self, message: Message, within: RequestId | None) -> None:
        self.messages.append(message)

    def failed(self, request: RequestId, error: Exception) -> None:
        raise AssertionError

    def lost(self, reason: str) -> None:
        return None


class FakeProcess:
    """Counts how often reading was paused and went on."""

    def __init__(self) -> None:
        self.paused: list[bool] = []

    def pause_output(self, paused: bool) -> None:
        self.paused.append(paused)


def test_empty_lines_cost_nothing() -> None:
    lines: list[bytes] = []
    reader = LineReader(lines.append, lambda head, tail: None)

    reader.feed(b"\n" * 100_000 + b"a")
    reader.feed(b"b\n\n\r\nc\n")

    assert lines == [b"ab", b"\r", b"c"]


async def test_very_many_messages_leave_turns_for_others_and_keep_their_order(monkeypatch: Any) -> None:
    # Every message takes longer than its slice.
    monkeypatch.setattr(stdio_link, "_SLICE_SECONDS", 0.0)
    link, heard, process = StdioLink(ChildCommand(command="none")), Heard(), FakeProcess()
    link._receiver, link._process = heard, process  # type: ignore[assignment]
    numbers = iter(range(100))
    one = b'{"jsonrpc":"2.0","method":"x","id":%d}'
    lines = [one % next(numbers) for _ in range(30)]
    batch = b"[" + b",".join(one % next(numbers) for _ in range(40)) + b"]"
    rest = [one % next(numbers) for _ in range(30)]

    link._feed(b"\n".join([*lines, batch, *rest]) + b"\n")
    at_once = len(heard.messages)
    turns = 0
    while link._delivering is not None:
        await asyncio.sleep(0)
        turns += 1

    assert at_once == 1
    assert [message["id"] for message in heard.messages] == list(range(100))
    assert turns >= 50
    assert process.paused == [True, False]


async def test_answers_that_a_server_does_not_read_are_bounded() -> None:
    session = UpstreamSession(DeafLink(), NoEvents())
    for number in range(5_000):
        session.received({"jsonrpc": "2.0", "id": number, "method": "ping"}, None)

    assert len(session._replies) == 1_000
    await session.close()
    await asyncio.gather(*session._replies, return_exceptions=True)


async def test_questions_of_one_call_are_bounded() -> None:
    session = UpstreamSession(DeafLink(), NoEvents())
    pending = await session.start("tools/call", {"name": "x"}, owner="ann")
    for number in range(100):
        session.received({"jsonrpc": "2.0", "id": number, "method": "roots/list"}, pending.id)

    assert len(pending.open_questions) == 32
    await session.close()
    await asyncio.gather(*session._replies, return_exceptions=True)


async def test_log_lines_and_progress_of_any_size_are_short() -> None:
    session = UpstreamSession(DeafLink(), NoEvents())
    pending = await session.start("tools/call", {"name": "x"}, owner="ann")
    for method, params in (
        ("message", {"data": ["x"] * 100_000}),
        ("message", {"data": "x" * 1_000_000}),
        ("message", {"data": {"a": 1}}),
        ("progress", {"progressToken": pending.id, "progress": 1, "message": "x" * 1_000_000}),
    ):
        session.received({"jsonrpc": "2.0", "method": f"notifications/{method}", "params": params}, None)

    events = [await pending.next() for _ in range(4)]

    assert events == [
        LogLine("info", "[data]"),
        LogLine("info", "x" * 10_000),
        LogLine("info", "{'a': 1}"),
        Progress(1.0, None, "x" * 10_000),
    ]
    await session.close()
