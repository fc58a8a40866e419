"""Count the function calls and the bytes of one warm `echo` call over each transport, as JSON.

    .venv/bin/python scripts/count_calls.py

Both are the same on every machine. `tests/test_call_budget.py` compares them with what is written down there.
"""

import asyncio
import gc
import json
import sys
import tracemalloc
from pathlib import Path
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from scripts.call_driver import Call, http_calls, stdio_calls

_WARM_UP: Final = 50
# Timers, log lines and batches of observers are in some of the calls; the median of many has none of them.
_CALLS: Final = 41


async def function_calls(call: Call) -> int:
    """The functions that one call calls, in Python and in C."""
    counted = 0

    def count(_frame: Any, event: str, _argument: Any) -> None:
        nonlocal counted
        if event in ("call", "c_call"):
            counted += 1

    sys.setprofile(count)
    try:
        await call()
    finally:
        sys.setprofile(None)
    return counted


async def peak_bytes(call: Call) -> int:
    """The most memory that one call had at once, above what there was before it."""
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    await call()
    return tracemalloc.get_traced_memory()[1] - before


async def measure() -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for calls in (http_calls(), stdio_calls()):
        async with calls as by_name:
            for name, call in by_name.items():
                found[name] = await _measured(call)
    return found


async def _measured(call: Call) -> dict[str, int]:
    for _ in range(_WARM_UP):
        await call()
    gc.collect()
    gc.disable()
    counted = sorted([await function_calls(call) for _ in range(_CALLS)])
    tracemalloc.start()
    peaks = sorted([await peak_bytes(call) for _ in range(_CALLS)])
    tracemalloc.stop()
    gc.enable()
    return {"calls": counted[_CALLS // 2], "bytes": peaks[_CALLS // 2]}


if __name__ == "__main__":
    print(json.dumps(asyncio.run(measure()), indent=2))
