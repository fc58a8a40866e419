"""10,000 tools and 100,000 recorded calls: every page is ready within 300 ms of processor time, in bounded memory."""

import re
import time
import tracemalloc
from pathlib import Path

import pytest

from dogubako import Effect, tool
from dogubako.app import Toolbox
from dogubako.contract.call import CallEnd, Caller, ToolCall, ToolResult
from dogubako.contract.errors import ToolTimeoutError
from dogubako.contract.redaction import Redactor
from dogubako.engine.events import EndedCall
from dogubako.engine.registration import RegisterOptions
from dogubako.transports.console.recorder import CallRecorder
from dogubako.transports.console.routes import ROUTES
from tests.gate.guarded import guarded_box

from .browser import browsing

pytestmark = pytest.mark.slow

TOOLS, CALLS = 10_000, 100_000
# By processor time of all threads, so that neighbours on a busy machine do not count.
MOST_SECONDS = 0.3
PAGES = (
    "/console",
    "/console?page=200",
    "/console?effect=read&pack=bulk",
    "/console/tools/number_5000",
    "/console/calls",
    "/console/calls?outcome=failed",
    "/console/calls?tool=number_77&hours=24",
    "/console/tasks",
    "/console/services",
    "/console/settings?show=all",
    "/console/keys",
    "/console/audit",
    "/console/connect",
    "/console/sign-in",
)
SEARCH = "/console?q=say+something+in+a+sentence"


async def _act(text: str = "") -> str:
    return text


def _large_box(folder: Path) -> Toolbox:
    box = guarded_box(folder, DOGUBAKO_AUTH="off", DOGUBAKO_AUDIT="true", DOGUBAKO_CONSOLE_CALLS=str(CALLS))
    _act.__doc__ = "Do one of very many things, and say so in a sentence of ordinary length."
    for number in range(TOOLS):
        made = tool(name=f"number_{number}", effect=Effect.READ)(_act)
        box.registry.register(made, RegisterOptions(pack="bulk", proven=True))
    return box


def _batch(count: int) -> list[EndedCall]:
    now, slow = time.time(), ToolTimeoutError("Execution timeout after 30000ms", hint="Try again.")
    failed = ToolResult(content=({"type": "text", "text": "x"},), is_error=True, error=slow)
    good = ToolResult(content=({"type": "text", "text": "x"},), tokens=17)
    callers = [Caller(name=f"person {number}", id=f"id{number}") for number in range(20)]
    return [
        EndedCall(
            now - number / 10,
            ToolCall(name=f"number_{number % 500}", door="http", caller=callers[number % 20]),
            CallEnd(
                code="TIMEOUT" if number % 50 == 0 else "OK",
                milliseconds=number % 300,
                result=failed if number % 50 == 0 else good,
            ),
        )
        for number in range(count)
    ]


# Coverage doubles processor time, so `make attack` measures it.
@pytest.mark.stall
async def test_every_page_is_ready_soon(tmp_path: Path) -> None:
    box = _large_box(tmp_path)
    async with browsing(box) as browser:
        await box.registry.prepare_search()
        await browser.get("/console?q=one+of+many+things")
        recorder = browser._client._app._recorder  # type: ignore[attr-defined]
        recorder.add(_batch(CALLS))
        one = re.search(rb'href="(/console/calls/[^"]+)"', (await browser.get("/console/calls")).body)
        assert one is not None
        spent = {}
        for path in (*PAGES, SEARCH, one[1].decode()):
            await browser.get(path)
            # The second and third time: templates are compiled and schemas derived by then.
            times = []
            for _ in range(2):
                begun = time.process_time()
                assert (await browser.get(path)).status == 200
                times.append(time.process_time() - begun)
            spent[path] = min(times)

    # Which pages there are says `test_rights.py`; a page that is added there must be measured here.
    measured = {path.partition("?")[0].removeprefix("/console") for path in spent}
    shown = {route.path for route in ROUTES if route.show is not None and "{" not in route.path}
    # Nobody comes to the end of a sign-in without an issuer; its page lists nothing.
    assert shown - measured == {"/audit.csv", "/audit.json", "/signed-in/finish"}
    assert {path: seconds for path, seconds in spent.items() if seconds > MOST_SECONDS} == {}


def test_the_memory_of_the_recorder_is_bounded() -> None:
    recorder = CallRecorder(CALLS, Redactor())
    tracemalloc.start()
    try:
        for _ in range(12):
            recorder.add(_batch(10_000))
        size, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert len(recorder) == CALLS
    assert size < 80_000_000
