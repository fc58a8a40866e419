"""An execution of ten thousand items through two nodes: 6.5 MB, too much to keep, so it is made again when needed."""

from collections.abc import Sequence
from copy import deepcopy
from typing import Any, Final

import msgspec

from dogubako_sandbox.n8n.store import recordings

ITEMS: Final = 10_000
# The same execution as a real n8n tells it when it holds the data back: all but the data is true.
_WITHOUT_DATA: Final = "g-10000-oversized"
_STARTED: Final = 1794797186600

Json = dict[str, Any]


def large_execution() -> bytes:
    """What n8n sends for it, byte for byte but for moments and ids."""
    execution = deepcopy(next(one.execution for one in recordings() if one.key == _WITHOUT_DATA))
    del execution["dataTooLargeToDisplay"]
    runs = {
        "Webhook": [_run(0, None, [{"json": {"body": {"from": "dogubako"}}, "pairedItem": {"item": 0}}])],
        "Make 10000": [_run(1, "Webhook", [_item(number, 0) for number in range(ITEMS)])],
        "Pass": [_run(2, "Make 10000", [_item(number, number) for number in range(ITEMS)])],
    }
    execution["data"]["resultData"] = {"runData": runs, "lastNodeExecuted": "Pass"}
    return msgspec.json.encode(execution)


def _item(number: int, paired: int) -> Json:
    name = number + 1
    customer = {"id": name, "name": f"customer {name}", "email": f"c{name}@example.com", "note": "x" * 220}
    return {"json": customer, "pairedItem": {"item": paired}}


def _run(index: int, before: str | None, items: Sequence[Json]) -> Json:
    source = [{"previousNode": before, "previousNodeOutput": 0, "previousNodeRun": 0}] if before else []
    return {
        "startTime": _STARTED + index,
        "executionIndex": index,
        "source": source,
        "hints": [],
        "executionTime": 1,
        "executionStatus": "success",
        "data": {"main": [items]},
    }
