"""`make bench-profile`: where the processor time of one `echo` call goes, by room of the house and by library."""

import argparse
import asyncio
import cProfile
import gc
import pstats
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any, Final

# `make bench-profile` runs this file, not a package.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import uvloop

from bench.machine import ROOT
from bench.report import as_text
from scripts.call_driver import Call, http_calls, stdio_calls

_OURS: Final = str(ROOT / "src" / "dogubako") + "/"
_WARM_UP: Final = 300
_SHOWN: Final = 40

Stats = dict[tuple[str, int, str], tuple[int, int, float, float, dict[Any, Any]]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=3_000)
    parser.add_argument("--functions", action="store_true", help="also the functions that take most")
    options = parser.parse_args()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_measure(options.calls, functions=options.functions))


async def _measure(count: int, *, functions: bool) -> None:
    for calls in (http_calls(), stdio_calls()):
        async with calls as found:
            for name, call in found.items():
                await _profile(name, call, count, functions=functions)


async def _profile(name: str, call: Call, count: int, *, functions: bool) -> None:
    for _ in range(_WARM_UP):
        await call()
    gc.collect()
    whole = min([await _seconds(call, count // 5) for _ in range(5)])
    profiler = cProfile.Profile()
    profiler.enable()
    for _ in range(count):
        await call()
    profiler.disable()
    stats: Stats = pstats.Stats(profiler).stats  # type: ignore[attr-defined]
    rooms, made = _by_room(stats), sum(entry[0] for entry in stats.values()) / count
    seen = sum(rooms.values())
    print(f"\n{name}: {whole * 1e6:,.0f} µs of a call without a socket, {made:,.0f} function calls")
    ordered = sorted(rooms.items(), key=lambda room: -room[1])
    rows = [[room, f"{share / seen:.0%}", f"{share / seen * whole * 1e6:,.1f} µs"] for room, share in ordered]
    print(as_text([["room", "share", "about"], *rows]))
    if functions:
        slowest = sorted(stats.items(), key=lambda one: -one[1][2])[:_SHOWN]
        listed = [
            [f"{_room(key[0])} {key[2]}:{key[1]}", f"{entry[0] / count:.1f}", f"{entry[2] / count * 1e6:.2f} µs"]
            for key, entry in slowest
        ]
        print(as_text([["function", "calls", "profiled"], *listed]))


async def _seconds(call: Call, count: int) -> float:
    started = time.process_time()
    for _ in range(count):
        await call()
    return (time.process_time() - started) / count


def _by_room(stats: Stats) -> dict[str, float]:
    """Own time by room. What a built-in function took counts for the room that called it."""
    rooms: dict[str, float] = defaultdict(float)
    for (file, _, _), (_, _, own, _, callers) in stats.items():
        if file != "~" or not callers:
            rooms[_room(file)] += own
            continue
        for (caller, _, _), entry in callers.items():
            rooms[_room(caller)] += entry[2]
    return rooms


def _room(file: str) -> str:
    """A folder of ours, a module of ours, or a library."""
    if file.startswith(_OURS):
        parts = Path(file.removeprefix(_OURS)).parts
        return "/".join(parts[:2] if parts[0] == "transports" and len(parts) > 2 else parts[:1])
    parts = Path(file).parts
    if "site-packages" in parts:
        return f"library {parts[parts.index('site-packages') + 1]}"
    return "the tool" if "examples" in parts else "driver" if "scripts" in parts or "bench" in parts else "Python"


if __name__ == "__main__":
    main()
