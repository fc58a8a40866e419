"""How fast and how large the search is among ten thousand tools. A process of its own, so that the memory is ours."""

import gc
import json
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from statistics import median, quantiles
from typing import TypeVar

# Run as a file, Python looks beside it, not where `bench` is.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.search_sets import RetrievalSet, Tool, document, load_sets
from dogubako.engine.search.index import ToolIndex

TOOLS = 10_000
_QUERIES_PER_SET = 100
_EVERY_NTH_FOR_FASTMCP = 20
_EVERY_NTH_CHANGED = 200
# As many as a server indexes at once.
_AT_ONCE = 64

T = TypeVar("T")


def main() -> int:
    sets = load_sets(_QUERIES_PER_SET)
    tools, queries = _many_tools(sets), [query["query"] for one in sets for query in one.queries]
    # Ours first: what FastMCP loads must not be counted as our memory.
    print(json.dumps({**_ours(tools, queries), **_fastmcp(tools, queries[::_EVERY_NTH_FOR_FASTMCP])}))
    return 0


def _ours(tools: Sequence[Tool], queries: Sequence[str]) -> dict[str, float]:
    gc.collect()
    before = _resident_megabytes()
    documents = [document(tool) for tool in tools]
    index = ToolIndex()
    build = sum(_times(lambda part: index.put(*part), batched(documents, _AT_ONCE)))
    # The first time that a word is looked for, its holders are packed; a server that runs has done that.
    first, again = _times(index.find, queries), _best_times(index.find, queries)
    gc.collect()
    memory = _resident_megabytes() - before
    changes = _times(index.put, documents[::_EVERY_NTH_CHANGED])
    return {
        "build_s": build,
        "first_ms": 1e3 * median(first),
        "p50_ms": 1e3 * median(again),
        "p95_ms": 1e3 * quantiles(again, n=20)[-1],
        "change_ms": 1e3 * quantiles(changes, n=20)[-1],
        "memory_mb": memory,
    }


def batched(items: Sequence[T], size: int) -> Iterable[Sequence[T]]:
    return (items[start : start + size] for start in range(0, len(items), size))


def _fastmcp(tools: Sequence[Tool], queries: Sequence[str]) -> dict[str, float]:
    from bench.search_contenders import fastmcp  # noqa: PLC0415 - not before our memory was measured

    return {"fastmcp_p50_ms": 1e3 * median(_best_times(fastmcp(tools), queries))}


def _many_tools(sets: Iterable[RetrievalSet]) -> list[Tool]:
    """All tools of all sets, and the first ones again under other names until they are enough."""
    tools: list[Mapping[str, object]] = [
        {**tool, "id": f"{one.name}/{tool['id']}"} for one in sets for tool in one.tools
    ]
    again = ({**tool, "id": f"{tool['id']}/again"} for tool in tools[: max(0, TOOLS - len(tools))])
    return [*tools[:TOOLS], *again]


def _times(act: Callable[[T], object], items: Iterable[T]) -> list[float]:
    times = []
    for item in items:
        started = time.process_time()
        act(item)
        times.append(time.process_time() - started)
    return times


def _best_times(act: Callable[[T], object], items: Sequence[T]) -> list[float]:
    """Of three tries the fastest: what else the machine does is not ours."""
    return [min(tries) for tries in zip(*(_times(act, items) for _ in range(3)), strict=True)]


def _resident_megabytes() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 1e6


if __name__ == "__main__":
    sys.exit(main())
