"""A body that comes in many pieces is put together once: copying it for every piece would take the loop's time."""

import builtins
from collections.abc import Iterator

import pytest
from starlette.types import Message

from dogubako.contract.errors import CancelledError, PayloadTooLargeError
from dogubako.transports.http.request import read_body
from dogubako.transports.mcp.protocol import MAX_BODY_BYTES


class Pieces:
    """A client that sends these, one after the other."""

    def __init__(self, pieces: Iterator[bytes], *, leaves: bool = False) -> None:
        self._pieces = pieces
        self._leaves = leaves
        self.taken = 0

    async def __call__(self) -> Message:
        piece = next(self._pieces, None)
        if piece is None and self._leaves:
            return {"type": "http.disconnect"}
        self.taken += 1
        return {"type": "http.request", "body": piece or b"", "more_body": piece is not None}


async def test_many_pieces_are_copied_once(monkeypatch: pytest.MonkeyPatch) -> None:
    copied: list[int] = []

    def counted(data: bytes | bytearray) -> bytes:
        copied.append(len(data))
        return builtins.bytes(data)

    monkeypatch.setattr("dogubako.transports.http.request.bytes", counted, raising=False)
    body = await read_body(Pieces(b"x" * 10 for _ in range(1_000)))

    assert body == b"x" * 10_000
    assert copied == [10_000]


async def test_a_body_that_becomes_too_large_is_left_at_once() -> None:
    endless = Pieces(b"x" * 1_000_000 for _ in range(1_000))
    with pytest.raises(PayloadTooLargeError):
        await read_body(endless)

    assert endless.taken == MAX_BODY_BYTES // 1_000_000 + 1


@pytest.mark.parametrize("pieces", [0, 1, 3])
async def test_who_leaves_in_between_is_let_go(pieces: int) -> None:
    with pytest.raises(CancelledError):
        await read_body(Pieces((b"x" for _ in range(pieces)), leaves=True))
