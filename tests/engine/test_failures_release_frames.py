"""A failed call keeps nothing alive that its frames worked on."""

import gc
import weakref

from dogubako.contract.call import ToolCall
from dogubako.contract.errors import ApiError
from dogubako.contract.function_tool import tool

from .boxes import box_of


class Piece:
    """Stands for a large answer of a service."""


async def test_a_failed_call_releases_its_frames_without_a_garbage_collection() -> None:
    pieces: list[weakref.ref[Piece]] = []

    @tool
    async def fetch() -> str:
        """Fetch a large answer and refuse it."""
        piece = Piece()
        pieces.append(weakref.ref(piece))
        # The local name makes a cycle: frame, error, traceback, frame.
        error = ApiError("too large")
        raise error

    box = box_of(fetch)
    gc.collect()
    gc.disable()
    try:
        result = await box.pipeline.handle(ToolCall(name="fetch"))
        assert result.code == "API_ERROR"
        assert [piece() for piece in pieces] == [None]
    finally:
        gc.enable()
