"""Runs over n8n's own MCP server: of drafts, with pinned data, and of what has no published address."""

from collections.abc import Mapping
from typing import Any, Final

from dogubako.contract.errors import ApiError, DogubakoError
from dogubako.contract.output import example_call
from dogubako.outbound.http import Operation
from dogubako.packs.n8n.call_headers import CALL_HEADER
from dogubako.packs.n8n.client import N8nClient
from dogubako.packs.n8n.trigger_calls import FIND_SECONDS, TriggerCall
from dogubako.packs.n8n.trigger_choice import cannot_run
from dogubako.packs.n8n.triggers import Trigger, TriggerRequest

JsonObject = dict[str, Any]
# n8n stops a test after this time, and takes no longer one.
_LONGEST_SECONDS: Final = 3_600


class DraftCall(TriggerCall):
    """One run of a draft's webhook. n8n answers when it has ended; until then it is found by its own header."""

    def __init__(
        self, client: N8nClient, workflow_id: str, trigger: Trigger, item: JsonObject, pinned: Mapping[str, Any]
    ) -> None:
        super().__init__(client, workflow_id, trigger, TriggerRequest(method="", path=""))
        marked = {**item, "headers": {**item["headers"], CALL_HEADER.lower(): self._marker}}
        self._pinned = {**pinned, trigger.name: [{"json": marked}]}
        self._started: int | None = None

    async def _send(self, operation: Operation, seconds: float) -> None:
        try:
            result = await tested(
                self._client,
                self._workflow_id,
                self._trigger,
                self._pinned,
                operation,
                stop_after=_LONGEST_SECONDS,
                seconds=seconds + FIND_SECONDS,
            )
            self._started = int(started(result, self._workflow_id))
        except DogubakoError as error:
            self._error = error
        self._answered.set()

    def _named_in_answer(self) -> int | None:
        return self._started


async def tested(
    client: N8nClient,
    workflow_id: str,
    trigger: Trigger,
    pinned: Mapping[str, Any],
    operation: Operation,
    *,
    stop_after: int,
    seconds: float,
) -> JsonObject:
    """What n8n answers when a run of the draft with pinned data has ended, or was stopped after its time."""
    assert client.mcp is not None
    arguments: JsonObject = {"workflowId": workflow_id, "pinData": pinned, "triggerNodeName": trigger.name}
    return await client.mcp.call("test_workflow", arguments | {"timeout": stop_after}, operation, seconds=seconds)


def started(result: Mapping[str, Any], workflow_id: str) -> str:
    """The id of the execution, or an error with n8n's own reason."""
    if result.get("executionId") is None:
        raise _not_started(str(result.get("error") or result.get("text") or "n8n did not start it")[:500], workflow_id)
    return str(result["executionId"])


def _not_started(reason: str, workflow_id: str) -> ApiError:
    hint = None
    if "not available in MCP" in reason:
        example = example_call("update_workflow", id=workflow_id, settings={"availableInMCP": True})
        hint = f"The workflow has to allow it: {example}"
    return cannot_run(reason, hint)
