"""n8n's answers as types, and the rows of its lists. Items are decoded on demand: there may be ten thousand."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, Final

import msgspec
from msgspec import Raw, Struct

from dogubako.contract.offload import collection_paused, offload
from dogubako.outbound.bounds import JSON_ANSWER
from dogubako.outbound.json_answers import BYTE_ORDER_MARK, UnreadableJson, decode_any_json

# Runs, unlike items, are decoded at once. Loops over thousands of items stay far below this.
MOST_RUNS: Final = 25_000
MOST_NODES: Final = 10_000

# An item as n8n wrote it: {"json": …, "pairedItem": …, "binary": …}.
Items = list[Raw]
Outputs = list[Items | None]

# Up to this many bytes, an execution is read on the event loop.
_SHORT: Final = 64 * 1024
_NULL: Final = Raw(b"null")
_STICKY_NOTE: Final = "n8n-nodes-base.stickyNote"
# An object may have any keys, and decoding a million different ones takes half a second.
_LARGEST_OBJECT: Final = replace(JSON_ANSWER, most_fields=50_000, most_containers=50_000)


class Source(Struct, rename="camel", gc=False):
    """The source of one input of a run."""

    previous_node: str
    previous_node_output: int | None = 0
    previous_node_run: int | None = 0


class Run(Struct, rename="camel", gc=False):
    """One run of one node."""

    start_time: float = 0
    execution_index: int = 0
    execution_time: float = 0
    execution_status: str | None = None
    # n8n recovers runs after a crash without their sources.
    source: list[Source | None] | None = None
    error_json: Raw = msgspec.field(name="error", default=_NULL)
    data: dict[str, Outputs] | None = None
    metadata_json: Raw = msgspec.field(name="metadata", default=_NULL)
    hints_json: Raw = msgspec.field(name="hints", default=_NULL)

    @property
    def hints(self) -> list[str]:
        """What n8n itself remarked about the run."""
        found = read_part(self.hints_json)
        told = [one.get("message") for one in found if isinstance(one, dict)] if isinstance(found, list) else []
        return [one for one in told if isinstance(one, str)]

    @property
    def error(self) -> dict[str, Any] | None:
        return _object(self.error_json)

    @property
    def sub_execution(self) -> dict[str, Any] | None:
        """The execution of another workflow that this run started."""
        child = (_object(self.metadata_json) or {}).get("subExecution")
        return child if isinstance(child, dict) else None

    @property
    def outputs(self) -> Outputs:
        """The output items of the run, by output. Nodes that feed a language model use other channels than `main`."""
        channels = self.data or {}
        return channels.get("main") or next(iter(channels.values()), [])

    @property
    def items_out(self) -> int:
        return sum(map(len, filter(None, self.outputs)))

    @property
    def status(self) -> str:
        """n8n's status; a run with an error is not a success, whatever n8n says."""
        status = self.execution_status or "success"
        return "error" if status == "success" and self._has_error else status

    @property
    def failed(self) -> bool:
        return self._has_error or self.status in ("error", "crashed")

    @property
    def _has_error(self) -> bool:
        return bytes(self.error_json) != b"null"


class ResultData(Struct, rename="camel", gc=False):
    """The results of the nodes."""

    run_data: dict[str, list[Run]] = {}
    last_node_executed: str | None = None
    error_json: Raw = msgspec.field(name="error", default=_NULL)
    pin_json: Raw = msgspec.field(name="pinData", default=_NULL)

    @property
    def error(self) -> dict[str, Any] | None:
        return _object(self.error_json)


class ExecutionBody(Struct, rename="camel", gc=False):
    """The part of an execution that n8n returns only on request."""

    result_data: ResultData = msgspec.field(default_factory=ResultData)
    execution_data: Raw = _NULL
    redaction_json: Raw = msgspec.field(name="redactionInfo", default=_NULL)
    parent_json: Raw = msgspec.field(name="parentExecution", default=_NULL)


class Node(Struct, rename="camel", gc=False):
    """A node of the workflow."""

    name: str
    type: str = "unknown"
    type_version: Any = None
    parameters: Raw = Raw(b"{}")
    disabled: bool = False
    always_output_data: bool = False
    on_error: str | None = None
    continue_on_fail: bool = False
    execute_once: bool = False

    @property
    def goes_on_after_errors(self) -> bool:
        return self.continue_on_fail or (self.on_error or "").startswith("continue")

    @property
    def settings(self) -> dict[str, Any]:
        found = read_part(self.parameters)
        return found if isinstance(found, dict) else {}


class Link(Struct, gc=False):
    """The target of a connection."""

    node: str
    type: str = "main"
    index: int = 0


# From a node's name, by channel and output, to its targets.
Connections = dict[str, dict[str, list[list[Link] | None]]]


class WorkflowData(Struct, rename="camel", dict=True):
    """The workflow as it was when it ran."""

    id: str | None = None
    name: str = ""
    nodes: list[Node] = []
    connections: Connections = {}
    settings: dict[str, Any] | None = None
    pin_json: Raw = msgspec.field(name="pinData", default=_NULL)

    @cached_property
    def _by_name(self) -> dict[str, Node]:
        # Old workflows may have a name twice: the first node counts.
        return {node.name: node for node in reversed(self.nodes)}

    def node(self, name: str) -> Node | None:
        return self._by_name.get(name)


class Execution(Struct, rename="camel", gc=False):
    """One execution. `received` is the whole answer, for the raw view."""

    id: str | int
    status: str = "unknown"
    mode: str = ""
    finished: bool = False
    started_at: str | None = None
    stopped_at: str | None = None
    wait_till: str | None = None
    workflow_id: str | None = None
    workflow_version_id: str | None = None
    retry_of: str | None = None
    retry_success_id: str | None = None
    json_size_bytes: int | None = None
    data_too_large_to_display: bool = False
    data: ExecutionBody | None = None
    workflow_data: WorkflowData | None = None
    received: bytes = b""
    # Parameters that n8n dropped, if somebody compared: `{"node": …, "parameters": […]}`.
    ignored: list[dict[str, Any]] = []

    @property
    def result(self) -> ResultData:
        return self.data.result_data if self.data else ResultData()

    @property
    def runs(self) -> dict[str, list[Run]]:
        return self.result.run_data

    @property
    def workflow(self) -> WorkflowData:
        return self.workflow_data or WorkflowData()

    @property
    def pinned(self) -> frozenset[str]:
        """The nodes that did not run, but gave out items that a person pinned to them; only by hand are they used."""
        by_hand = _object(self.workflow.pin_json) if self.mode == "manual" else None
        return frozenset(_object(self.result.pin_json) or by_hand or ())

    def items_given_to(self, run: Run) -> int:
        """How many items a run received, over all its inputs."""
        count = 0
        for source in filter(None, run.source or ()):
            runs, number = self.runs.get(source.previous_node, []), source.previous_node_run or 0
            outputs, output = runs[number].outputs if 0 <= number < len(runs) else [], source.previous_node_output or 0
            count += len(outputs[output] or ()) if 0 <= output < len(outputs) else 0
        return count

    @property
    def tells_what_ran(self) -> bool:
        """Whether a node without a run has not run. While nodes run, n8n saves nothing, or not the last ones.

        A canceled execution has the data from before its wait, if it was waiting.
        """
        if self.withheld or self.status in ("running", "new", "unknown"):
            return False
        was_waiting = any(run.status == "waiting" for runs in self.runs.values() for run in runs[-1:])
        return self.status != "canceled" or was_waiting

    @property
    def nodes_not_run(self) -> list[str]:
        """Nodes that could have run and did not, as far as n8n tells."""
        if not self.tells_what_ran:
            return []
        nodes = (node for node in self.workflow.nodes if not node.disabled and node.type != _STICKY_NOTE)
        return [node.name for node in nodes if not self.runs.get(node.name)]

    @property
    def parent_execution(self) -> Any:
        """The id of the execution that started this one."""
        return (_object(self.data.parent_json) or {}).get("executionId") if self.data else None

    @property
    def is_redacted(self) -> bool:
        """Whether n8n shows its items empty."""
        return bool((_object(self.data.redaction_json) or {}).get("isRedacted")) if self.data else False

    @property
    def ended(self) -> bool:
        """Whether it will not change any more."""
        return self.status in ("success", "error", "canceled", "crashed") and self.stopped_at is not None

    @property
    def withheld(self) -> bool:
        """Whether n8n omitted data that is too large: newer versions say so, older ones show a size without data."""
        flag = self.data_too_large_to_display
        sized = self.ended and self.status in ("success", "error") and bool(self.json_size_bytes)
        return not self.runs and (flag or sized)


def planned_items(execution: Execution) -> Iterator[tuple[str, Any]]:
    """The nodes that are to run next, each with the first item for it. While an execution runs, n8n shows no others."""
    planned = read_part(execution.data.execution_data) if execution.data else None
    stack = planned.get("nodeExecutionStack") if isinstance(planned, Mapping) else None
    for entry in stack if isinstance(stack, list) else ():
        try:
            yield str(entry["node"]["name"]), entry["data"]["main"][0][0]
        except (LookupError, TypeError):
            continue


def read_part(written: Raw) -> Any:
    """A part that was left undecoded. One that no reader can take is replaced by the reason, so that the rest shows."""
    try:
        return decode_any_json(bytes(written))
    except UnreadableJson as error:
        return f"[left out: it has {error}]"
    except ValueError:
        return "[left out: it cannot be read]"


def _object(written: Raw) -> dict[str, Any] | None:
    """An object that n8n wrote; a placeholder if it is too large."""
    if bytes(written) == b"null":
        return None
    if (exceeded := _LARGEST_OBJECT.exceeded_by(bytes(written))) is not None:
        return {"message": f"[more than {exceeded}, too many to be read]"}
    found = read_part(written)
    return found if isinstance(found, dict) or found is None else {"message": str(found)}


class TooManyParts(ValueError):  # noqa: N818 - a signal to the API, which has the words for callers
    """The execution has more runs or nodes than can be examined."""


def read_execution(body: bytes) -> Execution:
    """Raises ValueError when this is no execution: UnreadableJson, TooManyParts for a huge one, or another."""
    try:
        return _read_execution(body.removeprefix(BYTE_ORDER_MARK))
    except TooManyParts:
        raise
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        # Lone surrogates stop a strict decoder. What else is wrong with it is still wrong afterwards.
        return _read_execution(msgspec.json.encode(decode_any_json(body)))


async def load_execution(body: bytes) -> Execution:
    """Like `read_execution`, for any size: a large one is read in a worker thread."""
    return read_execution(body) if len(body) <= _SHORT else await offload(_read_large_execution, body)


def _read_large_execution(body: bytes) -> Execution:
    # The garbage collector would visit all values again and again while they are decoded.
    with collection_paused():
        return read_execution(body)


def _read_execution(body: bytes) -> Execution:
    execution = msgspec.json.decode(body, type=Execution)
    if sum(map(len, execution.runs.values())) > MOST_RUNS or len(execution.workflow.nodes) > MOST_NODES:
        raise TooManyParts
    execution.received = body
    return execution


# Which columns a row has, and of which types a value may be.
Columns = Mapping[str, tuple[type, ...]]

_JSON_TYPES: Final = {str: "string", int: "integer", bool: "boolean", list: "array"}

# Ids are text in n8n today, and were numbers.
EXECUTION_ROW: Final[Columns] = {
    "id": (str, int),
    "workflowId": (str, int),
    "status": (str,),
    "mode": (str,),
    "startedAt": (str,),
    "stoppedAt": (str,),
    "retryOf": (str, int),
    "retrySuccessId": (str, int),
    "waitTill": (str,),
    "duration": (int,),
}
WORKFLOW_ROW: Final[Columns] = {
    "id": (str, int),
    "name": (str,),
    "active": (bool,),
    "tags": (list,),
    "nodes": (int,),
    "updatedAt": (str,),
    "archived": (bool,),
    "unpublishedDraft": (bool,),
}


def row_of(record: Mapping[str, Any], columns: Columns) -> dict[str, Any]:
    """The columns of a record that have a value. A value of another type would break the output schema."""
    return {name: record[name] for name, types in columns.items() if type(record.get(name)) in types}


def page_schema(name: str, columns: Columns) -> dict[str, Any]:
    """The output schema of a page of rows. Nothing is required: an answer may be cut, and `raw` has n8n's own rows."""
    cells = {key: {"type": [*(_JSON_TYPES[one] for one in types), "null"]} for key, types in columns.items()}
    rows = {"type": "array", "items": {"type": "object", "properties": cells}}
    cursor = {"type": ["string", "null"], "description": "Where the next page begins."}
    return {"type": "object", "properties": {name: rows, "nextCursor": cursor}}
