"""An execution for those who want to see what happened, but not to whom."""

from typing import Final

from dogubako.sandbox.n8n.workflow_parts import Json

_REASON: Final = "user_requested"


def redacted(execution: Json) -> Json:
    """A copy whose items are empty and say so."""
    data = execution["data"]
    runs = {name: [_run(run) for run in own] for name, own in data["resultData"]["runData"].items()}
    told = {
        **data,
        "resultData": {**data["resultData"], "runData": runs},
        "redactionInfo": {"isRedacted": True, "reason": _REASON, "canReveal": True},
    }
    return {**execution, "data": told}


def _run(run: Json) -> Json:
    if "data" not in run:
        return run
    return {**run, "data": {channel: [_items(each) for each in outputs] for channel, outputs in run["data"].items()}}


def _items(output: list[Json] | None) -> list[Json] | None:
    # An output that gave nothing may be null.
    return output and [_item(item) for item in output]


def _item(item: Json) -> Json:
    return {**item, "json": {}, "redaction": {"redacted": True, "reason": _REASON}}
