"""What we know about n8n 2.41, sentence by sentence. Every sentence has a case that would fail if it were wrong."""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

import pytest

Case = TypeVar("Case", bound=Callable[..., Any])

EXECUTION_FACTS: Final[Mapping[str, str]] = {
    "list-rows": "A list tells ten things about each execution and nothing else; the id is text.",
    "size-before-data": "One execution, got without its data, tells how many bytes of data are stored.",
    "runs": "The data of a node is a list of its runs, each with start in milliseconds, order, duration and source.",
    "outputs": "What a run gave out is a list per output, and in it a list of items.",
    "inputs": "What a run was given is not stored; its source names the node, the run and the output it came from.",
    "trigger-source": "The run of a trigger has an empty source.",
    "workflow-data": "Types and parameters of nodes, and the workflow's name, are only in the workflow's data.",
    "failed-run": "A run that failed has an error and no data.",
    "stacked-input": "What the failing run was given is also on the stack of the execution.",
    "api-error": "The error of a node that asked somebody else carries code, messages and the node.",
    "code-error": "The error of a Code node carries description and line but no node; the last node tells it.",
    "swallowed-error": "After an error that a node was told to go on from, run and execution are a success.",
    "waiting": "A waiting execution has a stop time although it is not finished.",
    "canceled-mid-node": "An execution that was canceled inside its first node shows no runs.",
    "running": "A running execution shows no runs.",
    "crashed": "A recovered execution has no sources, counts in seconds, orders nothing and holds artificial items.",
    "retried": "In an execution that is a retry, the first runs share one place in the order.",
    "retry-on-fail": "A node that tries again by itself leaves only the run of its last try.",
    "sub-workflow": "Parent and child executions name each other.",
    "binary": "Files are in the items, as base64.",
    "disabled": "A node that is switched off still leaves a run that is a success.",
    "withheld": "Data above the display limit is left out of a good answer; a flag and the stored size tell so.",
    "redacted": "Redacted items are empty and say so, and so does the execution.",
    "statuses": "There are eight statuses, and no other can be asked for.",
    "ten-thousand": "Ten thousand items through two nodes are megabytes with their data, and little without it.",
    "running-left-out": "A list without a status leaves out what is running.",
}

REQUEST_FACTS: Final[Mapping[str, str]] = {
    "put-back": "A workflow cannot be put back as it was got: the first key that is read-only is named.",
    "settings-required": "A workflow without settings is refused.",
    "extra-key": "A key that n8n does not know is named in the refusal.",
    "missing-workflow": "A change of a missing workflow is refused as not permitted, a look at it as not found.",
    "delete-published": "A published workflow cannot be deleted.",
    "publish-names": "Publish and activate are the same, and so are unpublish and deactivate.",
    "no-run-endpoint": "The API runs no workflow.",
    "publishing-takes-time": "A webhook may be unknown for a moment after its workflow was published.",
    "retry-blocks": "The answer to a retry comes when the new execution has ended.",
    "retry-success": "What succeeded cannot be retried.",
    "stop-finished": "What has ended cannot be stopped.",
    "malformed-json": "A body that is no JSON is answered with a page and status 500.",
    "unknown-filter-value": "A filter for something that is not there gives an empty list.",
    "bad-cursor": "A cursor that n8n did not make is refused.",
    "execution-word": "An execution id that is no number is refused as malformed.",
    "unknown-node-type": "A node of an unknown type is saved, and refused at publishing.",
    "no-trigger": "A workflow without a trigger cannot be published.",
    "paging": "Pages are linked by a cursor that is null at the end.",
    "largest-page": "A page holds 250 at most, whatever is asked for.",
    "unlicensed": "What is not licensed is refused with the reason.",
    "unlicensed-setting": "A setting that is not licensed is left out without a word.",
    "starting-up": "While n8n starts, every path answers 200 with a sentence.",
    "draft-saved": "A change that cannot be published is refused, and saved all the same.",
    "unpublishing-takes-time": "For a moment, a workflow that was just unpublished may not be deleted (409 or 500).",
    "pins-kept": "Pinned data that an update leaves out stays.",
    "credentials-dropped": "Credentials that an update leaves out of a node are gone.",
    "settings-merged": "Settings that an update leaves out stay.",
    "settings-forgotten": "An update to the time zone DEFAULT, or to the timeout -1, removes the setting.",
    "republishing-takes-time": "After an update of a published workflow the old version may run for a moment.",
    "version-in-page": "The version is in the page of the editor, and nowhere in the API.",
    "draft-beside-published": "A draft stays beside the published version if the request says so, else it goes live.",
    "history": "Every saved graph is a version with author and time; a new name makes none.",
    "publish-version": "Any version can be published; the draft stays as it is.",
    "static-kept": "Static data that an update leaves out stays.",
    "counter": "A counter grows with every change of settings or graph, but not with a name, pins or static data.",
    "archive": "An archived workflow is unpublished and cannot be changed until it is taken out of the archive.",
    "tags-mean-all": "Several tags mean all of them.",
}

NODE_FACTS: Final[Mapping[str, str]] = {
    "unknown-parameters": "The nodes of an execution have only the parameters that their types know, with defaults.",
    "unknown-version": "A version that a node type does not have is saved, and refused at publishing.",
    "missing-parameter": "A node without a required parameter is saved, and refused at publishing.",
}

TRIGGER_FACTS: Final[Mapping[str, str]] = {
    "get-webhook": "A webhook for GET has its data in the query.",
    "path-parameters": "A path with :parameters is called below the id of its webhook.",
    "form-trigger": "A form takes a multipart POST in which its fields are counted.",
    "chat-trigger": "A public chat takes a message below the id of its webhook.",
    "webhook-login": "A webhook with a login answers 401 without it.",
    "answered-4xx": "A workflow may answer its caller with an error, and succeed.",
    "mcp-run": "The MCP server runs drafts and other triggers, once the workflow allows it.",
    "table-filter": "A filter of a data table is JSON in the address, without a plus sign for a space.",
    "mcp-pinned": "The MCP server runs a draft with pinned data.",
}

FACTS: Final[Mapping[str, str]] = {**EXECUTION_FACTS, **REQUEST_FACTS, **NODE_FACTS, **TRIGGER_FACTS}


def proves(*facts: str) -> Callable[[Case], Case]:
    """Name the facts that a test would notice to be wrong."""
    unknown = [fact for fact in facts if fact not in FACTS]
    if unknown or not facts:
        raise ValueError(f"no such facts: {unknown}")

    def mark(case: Case) -> Case:
        return pytest.mark.proves(*facts)(case)  # type: ignore[no-any-return]

    return mark
