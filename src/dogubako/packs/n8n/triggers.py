"""Triggers of a workflow: which of them can be called from outside."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

JsonObject = dict[str, Any]
Kind = Literal["webhook", "form", "chat", "manual", "schedule", "other"]

_KINDS: Final[Mapping[str, Kind]] = {
    "n8n-nodes-base.webhook": "webhook",
    "n8n-nodes-base.formTrigger": "form",
    "@n8n/n8n-nodes-langchain.chatTrigger": "chat",
    "n8n-nodes-base.manualTrigger": "manual",
    "n8n-nodes-base.scheduleTrigger": "schedule",
}
# Triggers that nothing else starts, neither a person nor n8n's own MCP server.
_STARTED_BY: Final[Mapping[str, str]] = {
    "n8n-nodes-base.executeWorkflowTrigger": "a workflow that calls this one",
    "n8n-nodes-base.errorTrigger": "a failure of a workflow that names this one as its errorWorkflow",
}
CALLABLE: Final = ("webhook", "form", "chat")


@dataclass(frozen=True, kw_only=True, slots=True)
class Trigger:
    """A node that starts a workflow."""

    node: Mapping[str, Any]
    kind: Kind

    @property
    def name(self) -> str:
        return str(self.node.get("name"))

    @property
    def started_by(self) -> str | None:
        """What alone starts it, if that is no caller from outside."""
        return _STARTED_BY.get(str(self.node.get("type")))

    @property
    def version(self) -> float:
        found = self.node.get("typeVersion")
        return float(found) if isinstance(found, int | float) else 1.0

    @property
    def parameters(self) -> Mapping[str, Any]:
        found = self.node.get("parameters")
        return found if isinstance(found, Mapping) else {}

    @property
    def credential_names(self) -> list[str]:
        used = self.node.get("credentials")
        return [str(one.get("name")) for one in (used if isinstance(used, Mapping) else {}).values()]

    @property
    def asks_for_login(self) -> str | None:
        wanted = self.parameters.get("authentication")
        return None if wanted in (None, "none") else str(wanted)

    @property
    def is_private_chat(self) -> bool:
        """Whether it has no address although its workflow is published: only people in the editor use it."""
        return self.kind == "chat" and not self.parameters.get("public")


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """What a caller wants to send."""

    data: Mapping[str, Any] = field(default_factory=dict)
    query: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    path_parameters: Mapping[str, str] = field(default_factory=dict)
    method: str | None = None

    @property
    def given(self) -> dict[str, Any]:
        """What there is to send, by the names that callers use."""
        every = {
            "data": self.data,
            "query": self.query,
            "headers": self.headers,
            "pathParameters": self.path_parameters,
            "method": self.method,
        }
        return {name: value for name, value in every.items() if value}


@dataclass(frozen=True, kw_only=True, slots=True)
class TriggerRequest:
    """The request that starts a published workflow."""

    method: str
    path: str
    query: Mapping[str, Any] = field(default_factory=dict)
    content: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    # What the execution will show of it: fields of a form or a chat. `unique` if no other request has the same.
    shown: Mapping[str, Any] = field(default_factory=dict)
    unique: bool = False


def is_trigger_name(node_type: str) -> bool:
    """Whether a type starts workflows, by its name: the two that do not end in Trigger are known."""
    short = node_type.rpartition(".")[2]
    return short.lower().endswith("trigger") or short in ("webhook", "start", "cron", "interval", "emailReadImap")


def triggers_of(nodes: Sequence[Mapping[str, Any]], *, disabled: bool = False) -> list[Trigger]:
    """The triggers that are switched on, or those that are switched off."""
    found = [one for one in nodes if bool(one.get("disabled")) is disabled and is_trigger_name(str(one.get("type")))]
    return [Trigger(node=node, kind=_KINDS.get(str(node.get("type")), "other")) for node in found]
