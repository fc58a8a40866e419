"""The endpoints of executions."""

from typing import Any, Final

from dogubako_sandbox.n8n.replay import cannot_run, recording_of, replay
from dogubako_sandbox.n8n.request import Ask, RefusedError, one_of, page_by_last_id
from dogubako_sandbox.n8n.store import Store, now_ms, now_text, to_ms
from dogubako_sandbox.n8n.workflow_parts import JsonObject

_REASON: Final = "user_requested"


def redacted(execution: JsonObject) -> JsonObject:
    """A copy whose items are empty and marked as redacted."""
    data = execution["data"]
    runs = {name: [_run(run) for run in own] for name, own in data["resultData"]["runData"].items()}
    copy = {
        **data,
        "resultData": {**data["resultData"], "runData": runs},
        "redactionInfo": {"isRedacted": True, "reason": _REASON, "canReveal": True},
    }
    return {**execution, "data": copy}


def _run(run: JsonObject) -> JsonObject:
    if "data" not in run:
        return run
    return {**run, "data": {channel: [_items(each) for each in outputs] for channel, outputs in run["data"].items()}}


def _items(output: list[JsonObject] | None) -> list[JsonObject] | None:
    # An output without items may be null.
    return output and [_item(item) for item in output]


def _item(item: JsonObject) -> JsonObject:
    return {**item, "json": {}, "redaction": {"redacted": True, "reason": _REASON}}


_STATUSES: Final = ("canceled", "crashed", "error", "new", "running", "success", "unknown", "waiting")
_IN_LISTS: Final = (
    "id",
    "finished",
    "mode",
    "retryOf",
    "retrySuccessId",
    "status",
    "startedAt",
    "stoppedAt",
    "workflowId",
    "waitTill",
)
_IN_LISTS_WITH_DATA: Final = (
    *_IN_LISTS,
    "storedAt",
    "jsonSizeBytes",
    "workflowVersionId",
    "data",
    "workflowData",
    "customData",
    "dataTooLargeToDisplay",
)
_DATA: Final = ("data", "workflowData", "customData", "dataTooLargeToDisplay")
_IN_RETRIES: Final = (
    "id",
    "mode",
    "startedAt",
    "workflowId",
    "finished",
    "retryOf",
    "status",
    "data",
    "workflowData",
    "customData",
    "storedAt",
)


def list_executions(store: Store, ask: Ask) -> Any:
    """Running executions are listed only on request."""
    keys = _IN_LISTS_WITH_DATA if _wants_data(ask) else _IN_LISTS
    status = one_of(ask.query, "status", *_STATUSES)
    after, before = _moment(ask, "startedAfter"), _moment(ask, "startedBefore")
    executions = [
        _only(each, keys)
        for _, each in sorted(store.executions.items(), reverse=True)
        if (each["status"] == status if status else each["status"] != "running")
        and ask.query.get("workflowId") in (None, each["workflowId"])
        and ask.query.get("projectId") in (None, store.project()["id"])
        and (after is None or to_ms(each["startedAt"]) >= after)
        and (before is None or to_ms(each["startedAt"]) <= before)
    ]
    return page_by_last_id(executions, ask.query)


def get_execution(store: Store, ask: Ask) -> Any:
    execution = store.execution(_number(ask))
    if not _wants_data(ask):
        return _without_data(execution)
    return redacted(execution) if ask.says("redactExecutionData") else execution


def delete_execution(store: Store, ask: Ask) -> Any:
    """Delete an execution. Only here n8n writes the id as a number."""
    execution = store.execution(_number(ask))
    if execution["status"] == "running":
        raise RefusedError(400, "Cannot delete a running execution")
    del store.executions[int(execution["id"])]
    return _without_data(execution) | {"id": int(execution["id"])}


def stop_execution(store: Store, ask: Ask) -> Any:
    execution = store.executions.get(_number(ask))
    if execution is None:
        raise RefusedError(404, "Failed to find execution to stop")
    if execution["status"] not in ("running", "waiting"):
        state = f"{execution['id']} is currently {execution['status']}"
        raise RefusedError(409, f"Only running or waiting executions can be stopped and {state}")
    execution.update(status="canceled", stoppedAt=now_text(), waitTill=None)
    execution["data"]["resultData"]["error"] = _cancelled(execution["id"])
    return _only(execution, ("mode", "startedAt", "stoppedAt", "finished", "status"))


def retry_execution(store: Store, ask: Ask) -> Any:
    """Retry with the original or the current workflow. An interrupted execution has no recorded end."""
    number = _number(ask)
    if number not in store.executions:
        raise RefusedError(404, f'The execution with the ID "{number}" does not exist.')
    original = store.executions[number]
    if original["status"] == "success":
        raise RefusedError(409, "The execution succeeded, so it cannot be retried.")
    if original["status"] != "error":
        raise cannot_run()
    return _only(_replayed(store, original, latest=(ask.body or {}).get("loadWorkflow") is True), _IN_RETRIES)


def _replayed(store: Store, original: JsonObject, *, latest: bool) -> JsonObject:
    workflow = store.workflow(original["workflowId"])
    as_run = workflow if latest else {**workflow, **_only(original["workflowData"], ("name", "nodes"))}
    recording = recording_of(workflow) if latest else store.recordings[int(original["id"])]
    retried = replay(store, recording, as_run, ends=now_ms())
    retried.update(mode="retry", retryOf=original["id"], workflowVersionId=None)
    if retried["status"] == "success":
        original["retrySuccessId"] = retried["id"]
    return retried


def _cancelled(execution_id: str) -> JsonObject:
    message = "The execution was cancelled manually"
    return {
        "level": "warning",
        "shouldReport": False,
        "tags": {},
        "extra": {"executionId": execution_id},
        "timestamp": now_ms(),
        "context": {},
        "functionality": "regular",
        "name": "ManualExecutionCancelledError",
        "reason": "manual",
        "message": message,
        "stack": f"ManualExecutionCancelledError: {message}",
    }


def _number(ask: Ask) -> int:
    text = ask.path["id"]
    if not text.isdecimal() or int(text) == 0:
        raise RefusedError(400, "request/params/executionId must be a positive integer")
    return int(text)


def _moment(ask: Ask, name: str) -> int | None:
    if name not in ask.query:
        return None
    try:
        return to_ms(ask.query[name])
    except ValueError as error:
        raise RefusedError(400, f"request/query/{name} Invalid datetime") from error


def _wants_data(ask: Ask) -> bool:
    return one_of(ask.query, "includeData", "true", "false") == "true"


def _without_data(execution: JsonObject) -> JsonObject:
    return {name: value for name, value in execution.items() if name not in _DATA}


def _only(whole: JsonObject, keys: tuple[str, ...]) -> JsonObject:
    return {name: whole[name] for name in keys if name in whole}
