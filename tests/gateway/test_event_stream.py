"""Events are found in bytes that are cut anywhere, and nothing of them can harm a header or a pause."""

import pytest

from dogubako.gateway.event_stream import Event, EventParser
from dogubako.gateway.link import AnswerTooLong

STREAM = (
    b"\xef\xbb\xbf: hello\r\nid: 7\r\nretry: 2000\r\ndata: one\r\ndata:two\r\n\r\n"
    b"event: endpoint\ndata: /messages\n\n\n\n"
    b"data\rother: x\r\rdata: never ended"
)
EVENTS = [
    Event("message", b"one\ntwo", "7", 2.0),
    Event("endpoint", b"/messages", None, None),
    Event("message", b"", None, None),
]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_the_same_events_are_found_however_the_stream_is_cut(size: int) -> None:
    parser = EventParser()

    found = [event for at in range(0, len(STREAM), size) for event in parser.feed(STREAM[at : at + size])]

    assert found == EVENTS


@pytest.mark.parametrize("id_", [b"", "é".encode(), b"a\x01b", b"a b", b"x" * 2_000])
def test_a_stream_is_not_continued_from_an_id_that_cannot_be_sent(id_: bytes) -> None:
    (event,) = EventParser().feed(b"id: " + id_ + b"\ndata: x\n\n")

    assert event.id == ""


@pytest.mark.parametrize(("written", "pause"), [(b"0", 0.1), (b"-5", None), (b"9" * 9, 60.0), (b"9" * 4_000, None)])
def test_a_pause_is_neither_nothing_nor_for_ever(written: bytes, pause: float | None) -> None:
    (event,) = EventParser().feed(b"retry: " + written + b"\ndata: x\n\n")

    assert event.pause == pause


@pytest.mark.parametrize("piece", [b"data: x", b":", b"data: " + b"x" * 1_000 + b"\n"])
def test_an_event_without_an_end_is_refused(piece: bytes) -> None:
    parser = EventParser()
    block = piece * (1024 * 1024 // len(piece))

    with pytest.raises(AnswerTooLong):
        for _ in range(40):
            list(parser.feed(block))
