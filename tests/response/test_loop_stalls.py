"""Whatever a tool returns or raises, the event loop goes on, and the answer is within its budget."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import anyio
import pytest

from dogubako import Effect, Pack, tool
from dogubako.app import build
from dogubako.contract.errors import ApiError
from dogubako.contract.offload import offload
from dogubako.output import Link, Mixed
from dogubako.response.builder import ToolResponseBuilder
from dogubako.settings import Sources
from dogubako.tools import ToolResult
from tests.heartbeat import Heartbeat, best_of_three, check_stall, frozen_heap

# Measured alone: two busy processes on one core take twice as long, and so does a measured coverage.
pytestmark = pytest.mark.stall

BUDGET: Final = 25_000
SECRET: Final = "Sup3rSecretKey-abcdef0123456789"
ANSWERS: Final[dict[str, Callable[[], Any]]] = {
    "combining marks": lambda: "a" + "\u0300\u0323" * 500_000,
    "combining marks in data": lambda: {"a": ["a" + "\u0300\u0323" * 3_900] * 100},
    "ligatures": lambda: "\ufdfa" * 600_000,
    "few ligatures": lambda: "\ufdfa" * 7_900,
    "few ligatures in data": lambda: {"a": "\ufdfa" * 7_900},
    "a long name": lambda: {"k" * 9_000_000: 1, "b": 2},
    "a long Japanese name": lambda: {"鍵" * 3_000_000: 1},
    "a long message": lambda: ApiError("ば" * 5_000_000, status_code=500),
    "a long message with blanks": lambda: ApiError("token: ば" * 500_000, status_code=500),
    "a long hint": lambda: ApiError("x", status_code=500, hint='ば"\\\n' * 1_000_000),
    "ten long parts": lambda: Mixed(parts=["あ" * 30_000] * 10),
    "a hundred long parts": lambda: Mixed(parts=["あ" * 30_000] * 100),
    "2,000 links": lambda: [Link(uri=f"http://x/{number}", name="名前") for number in range(2_000)],
    "300,000 fields": lambda: {f"キー{number}": number for number in range(300_000)},
    "300,000 fields within": lambda: {"a": [{"b": {f"キー{number}": number for number in range(300_000)}}]},
    "300,000 fields by hand": lambda: ToolResult(
        content=(
            {
                "type": "text",
                "text": '{"success":true,"message":"","data":{'
                + ",".join(f'"キー{number}":1' for number in range(300_000))
                + "}}",
            },
        ),
        kind="json",
    ),
    "100,000 records": lambda: [{"id": number, "name": "somebody"} for number in range(100_000)],
    "bytes of megabytes": lambda: {"file": bytearray(5_000_000)},
}
_made: dict[str, Any] = {}


@tool(effect=Effect.READ)
async def answer(how: str) -> Any:
    """Return or raise what was made before."""
    made = _made.pop(how)
    if isinstance(made, Exception):
        raise made
    return made


class AnsweringPack(Pack[Any, None]):
    name = "answering"
    tools = (answer,)


@pytest.mark.parametrize("how", ANSWERS)
@best_of_three
async def test_no_answer_of_a_tool_keeps_the_event_loop(how: str, tmp_path: Path) -> None:
    settings = {"DOGUBAKO_DATA_DIR": str(tmp_path), "N8N_API_KEY": SECRET, "N8N_URL": "http://127.0.0.1:9"}
    box = build(Sources(environ=settings, env_file=None), packs=[AnsweringPack()])
    _made.update({how: ANSWERS[how](), "first": "a"})
    async with box.running():
        await box.call("answer", {"how": "first"})
        with frozen_heap(), Heartbeat() as heart:
            await anyio.sleep(0.03)
            heart.take()
            result = await box.call("answer", {"how": how})
            await anyio.sleep(0.03)
            stall = heart.take()

    check_stall(stall)
    assert result.code in ("OK", "API_ERROR"), result.content
    assert result.content
    assert result.tokens <= BUDGET


@best_of_three
async def test_a_thread_that_cuts_long_patterns_leaves_the_loop_its_turn() -> None:
    builder, text = ToolResponseBuilder(), "lorem ipsum " * 10_000
    with frozen_heap(), Heartbeat() as heart:
        await offload(lambda: [builder.success(text, in_pieces=True) for _ in range(15)])
    # Such stalls are a matter of chance: 50 to 150 ms without the pause of the thread, 7 to 25 with it.
    check_stall(2 * heart.worst)
