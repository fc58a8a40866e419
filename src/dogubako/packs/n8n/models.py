"""What n8n says, in our types. Items stay undecoded until somebody looks at them: there may be ten thousand."""

from dataclasses import replace
from typing import Any, Final

import msgspec
from msgspec import Raw, Struct

from dogubako.contract.offload import collection_paused
from dogubako.outbound.bounds import JSON_ANSWER

# A run, unlike an item, is decoded at once. Loops over thousands of items stay far below.
MOST_RUNS: Final = 25_000
MOST_NODES: Final = 10_000

# An item as n8n wrote it: {"json": …, "pairedItem": …, "binary": …}.
Items = list[Raw]
Outputs = list[Items | None]

_NULL: Final = Raw(b"null")
# An object may have any keys, and a million different ones would take half a second to decode.
_LARGEST_OBJECT: Final = replace(JSON_ANSWER, most_fields=50_000, most_containers=50_000)


class Source(Struct, rename="camel", gc=False):
    """Where one input of a run came from."""

    previous_node: str
    previous_node_output: int | None = 0
    previous_node_run: int | None = 0


class Run(Struct, rename="camel", gc=False):
    """One run of one node."""

    start_time: float = 0
    execution_index: int = 0
    execution_time: float = 0
    execution_status: str | None = None
    # After a crash n8n recovers runs without knowing their sources.
    source: list[Source | None] | None = None
    error_json: Raw = msgspec.field(name="error", default=_NULL)
    data: dict[str, Outputs] | None = None
    metadata_json: Raw = msgspec.field(name="metadata", default=_NULL)

    @property
    def error(self) -> dict[str, Any] | None:
        return _object(self.error_json)

    @property
    def metadata(self) -> dict[str, Any] | None:
        return _object(self.metadata_json)

    @property
    def outputs(self) -> Outputs:
        """What the run gave out, by output. Nodes that feed a language model have other channels than `main`."""
        channels = self.data or {}
        return channels.get("main") or next(iter(channels.values()), [])

    @property
    def status(self) -> str:
        return self.execution_status or ("error" if self._has_error else "success")

    @property
    def failed(self) -> bool:
        return self._has_error or self.status in ("error", "crashed")

    @property
    def _has_error(self) -> bool:
        return bytes(self.error_json) != b"null"


class ResultData(Struct, rename="camel", gc=False):
    """What the nodes did."""

    run_data: dict[str, list[Run]] = {}
    last_node_executed: str | None = None
    error_json: Raw = msgspec.field(name="error", default=_NULL)

    @property
    def error(self) -> dict[str, Any] | None:
        return _object(self.error_json)


class ExecutionBody(Struct, rename="camel", gc=False):
    """The part of an execution that comes only when asked for."""

    result_data: ResultData = msgspec.field(default_factory=ResultData)
    execution_data: Raw = _NULL
    redaction_json: Raw = msgspec.field(name="redactionInfo", default=_NULL)
    parent_json: Raw = msgspec.field(name="parentExecution", default=_NULL)

    @property
    def redaction_info(self) -> dict[str, Any] | None:
        return _object(self.redaction_json)

    @property
    def parent_execution(self) -> dict[str, Any] | None:
        return _object(self.parent_json)


class Node(Struct, rename="camel", gc=False):
    """A node as the workflow has it."""

    name: str
    type: str = "unknown"
    parameters: Raw = Raw(b"{}")
    disabled: bool = False
    on_error: str | None = None
    continue_on_fail: bool = False

    @property
    def goes_on_after_errors(self) -> bool:
        return self.continue_on_fail or (self.on_error or "").startswith("continue")

    @property
    def settings(self) -> dict[str, Any]:
        found = msgspec.json.decode(self.parameters)
        return found if isinstance(found, dict) else {}


class Link(Struct, gc=False):
    """The end of a connection."""

    node: str
    type: str = "main"
    index: int = 0


# From a node's name, by channel and output, to where it leads.
Connections = dict[str, dict[str, list[list[Link] | None]]]


class WorkflowData(Struct, rename="camel", gc=False):
    """The workflow as it was when it ran."""

    id: str | None = None
    name: str = ""
    nodes: list[Node] = []
    connections: Connections = {}

    def node(self, name: str) -> Node | None:
        return next((node for node in self.nodes if node.name == name), None)


class Execution(Struct, rename="camel", gc=False):
    """One execution. `received` is the whole answer, for those who want to see it raw."""

    id: str | int
    status: str = "unknown"
    mode: str = ""
    finished: bool = False
    started_at: str | None = None
    stopped_at: str | None = None
    wait_till: str | None = None
    workflow_id: str | None = None
    retry_of: str | None = None
    retry_success_id: str | None = None
    json_size_bytes: int | None = None
    data_too_large_to_display: bool = False
    data: ExecutionBody | None = None
    workflow_data: WorkflowData | None = None
    received: bytes = b""

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
    def ended(self) -> bool:
        """Whether it will stay as it is."""
        return self.status in ("success", "error", "canceled", "crashed") and self.stopped_at is not None

    @property
    def withheld(self) -> bool:
        """n8n leaves out data that is too large. Newer versions say so; else a size without data tells it."""
        said = self.data_too_large_to_display
        sized = self.ended and self.status in ("success", "error") and bool(self.json_size_bytes)
        return not self.runs and (said or sized)


def _object(written: Raw) -> dict[str, Any] | None:
    """An object that n8n wrote; of one that is too large only that."""
    if (exceeded := _LARGEST_OBJECT.exceeded_by(bytes(written))) is not None:
        return {"message": f"[more than {exceeded}, too many to be read]"}
    found = msgspec.json.decode(written)
    return found if isinstance(found, dict) or found is None else {"message": str(found)}


class TooManyParts(ValueError):  # noqa: N818 - a signal to the API, which has the words for callers
    """The execution has more runs or nodes than can be looked through."""


def read_execution(body: bytes) -> Execution:
    """Raises msgspec.DecodeError (or its ValidationError) when this is no execution, TooManyParts for a huge one."""
    with collection_paused():
        execution = msgspec.json.decode(body, type=Execution)
        if sum(map(len, execution.runs.values())) > MOST_RUNS or len(execution.workflow.nodes) > MOST_NODES:
            # It goes before the garbage collector looks at it.
            raise TooManyParts
    execution.received = body
    return execution
