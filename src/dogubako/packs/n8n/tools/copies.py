"""Copy workflows from one n8n to another, and name what the copy lacks there."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final

from pydantic import Field

from dogubako.contract.errors import ApiError, NotFoundError, ValidationError
from dogubako.contract.metadata import Effect
from dogubako.contract.offload import offload_if_large
from dogubako.contract.output import Guidance, Json, Message, example_call
from dogubako.contract.tool import BaseTool, ToolArgs
from dogubako.packs.n8n.client import N8nClient
from dogubako.packs.n8n.nodes.display import is_expression
from dogubako.packs.n8n.tools.workflows import WorkflowId
from dogubako.packs.n8n.workflow_writer import WorkflowWriter

JsonObject = dict[str, Any]

_COPIED: Final = ("nodes", "connections", "pinData")
_SUB_WORKFLOW: Final = "workflowId"
_TABLE: Final = "dataTableId"
_TABLE_SOURCE: Final = "dataTable"
_MOST_LOOKED_FOR: Final = 50
_MOST_SHOWN: Final = 10
_PER_PAGE: Final = 100
# Settings that name something of the instance that they come from.
_OF_ONE_INSTANCE: Final = ("errorWorkflow", "callerIds", "availableInMCP")


@dataclass(frozen=True, kw_only=True, slots=True)
class Linked:
    """What of the target the copy uses, each once."""

    credentials: list[JsonObject] = field(default_factory=list)
    tables: list[JsonObject] = field(default_factory=list)

    def credential(self, kind: str, name: str, credential_id: str) -> None:
        _add_once(self.credentials, {"type": kind, "name": name, "id": credential_id})

    def table(self, table_id: str, name: str) -> None:
        _add_once(self.tables, {"name": name, "id": table_id})


def _add_once(rows: list[JsonObject], row: JsonObject) -> None:
    if row not in rows:
        rows.append(row)


class CopyWorkflowArgs(ToolArgs):
    id: WorkflowId
    target: str = Field(min_length=1, max_length=32, description="The instance that gets the copy.")
    name: str | None = Field(None, min_length=1, description="Another name for the copy.")


class CopyWorkflow(BaseTool[CopyWorkflowArgs, N8nClient]):
    """Copy the draft of a workflow to another n8n, unpublished, and report what is missing there."""

    name = "copy_workflow"
    effect = Effect.WRITE
    tags = ("workflows",)
    between_instances = True
    keywords = {
        "en": "move an automation to production; bring a flow from test to live; "
        "transfer it to the other server; deploy from dev to prod; "
        "bring a bot over to another server",
        "ja": "本番に移す 別の環境 コピー 複製 移行 テスト環境から 転送 もう一つのサーバー 持っていく ステージング",
    }

    async def execute(self, args: CopyWorkflowArgs) -> Json:
        if args.target == getattr(args, "instance", None):
            raise ValidationError.of("target", "Invalid value for parameter target: it is where the workflow is")
        target: N8nClient = self.context.in_instance(args.target)
        source = await self.client.workflows.get(args.id, "copy workflow")
        existing = await target.lookups.credentials()
        linked = Linked()
        nodes, lacking = _with_credentials_of(source.get("nodes") or [], existing, linked)
        nodes, tables = await self._with_tables_of(nodes, target, linked)
        copy = {
            **{key: source[key] for key in _COPIED if source.get(key) is not None},
            "nodes": nodes,
            "name": args.name or source.get("name"),
            "settings": _portable(source.get("settings") or {}),
        }
        # What is missing there is told and can be added: the copy is a draft.
        outcome = await WorkflowWriter(target).create(copy, allow_invalid=True)
        facts: JsonObject = {
            "copied": {"from": args.id, "to": args.target, **_short(await offload_if_large(source, outcome.report))},
            "linked": {"credentials": linked.credentials, "dataTables": linked.tables},
            "missing": {
                "credentials": lacking,
                "dataTables": tables,
                "subWorkflows": await self._missing_workflows(nodes, target),
                "settings": [key for key in _OF_ONE_INSTANCE if (source.get("settings") or {}).get(key)],
                "tags": await _untagged(source, str(outcome.workflow["id"]), target),
            },
        }
        for part in ("linked", "missing"):
            facts[part] = {key: value for key, value in facts[part].items() if value}
        if source.get("isArchived"):
            facts["note"] = "The workflow is archived where it comes from; the copy is not."
        example = example_call("get_workflow", id=str(outcome.workflow["id"]), instance=args.target)
        guidance = Guidance(message="See the copy. It is not published.", example=example)
        message = Message(en="Workflow copied", ja="ワークフローをコピーしました")
        return Json(data=facts, message=message, guidance=guidance)

    async def _with_tables_of(
        self, nodes: list[JsonObject], target: N8nClient, linked: Linked
    ) -> tuple[list[JsonObject], list[JsonObject]]:
        """The nodes with the data tables of the same name there, and those that there are none or several of."""
        if not any(_table_of(node) for node in nodes):
            return nodes, []
        here, there = await _table_names(self.client), await _table_names(target)
        if there is None:
            return nodes, [{"reason": "The key of the target may not list data tables: look yourself."}]
        copied, lacking = [], []
        for node in nodes:
            if (used := _table_of(node)) is None:
                copied.append(node)
                continue
            mode, value, shown = used
            name = value if mode == "name" else (here or {}).get(value) or shown
            is_there = mode != "name" and value in there
            fitting = [value] if is_there else [one for one, other in there.items() if other == name]
            if len(fitting) == 1:
                linked.table(fitting[0], there[fitting[0]])
                copied.append(node if is_there or mode == "name" else _with_table(node, fitting[0], name))
                continue
            known = {"name": name, "id": value if mode != "name" else "", "sameName": fitting[:_MOST_SHOWN]}
            lacking.append({"node": node.get("name"), **{key: one for key, one in known.items() if one}})
            copied.append(node)
        return copied, lacking

    async def _missing_workflows(self, nodes: Sequence[JsonObject], target: N8nClient) -> list[JsonObject]:
        """Sub-workflows that the nodes call by an id that the target does not have, and those of the same name."""
        missing = []
        for called in islice(_called_workflows(nodes), _MOST_LOOKED_FOR):
            try:
                await target.workflows.get(called["id"], "copy workflow")
            except ApiError:
                # The copy is made, and is useful also where this cannot be told.
                missing.append(
                    {"node": called["node"], "id": called["id"], "reason": "n8n does not tell: look yourself."}
                )
            except NotFoundError:
                name = await self._name_of(called)
                known = {**called, "name": name, "sameName": await _workflows_named(name, target) if name else []}
                missing.append({key: one for key, one in known.items() if one})
        return missing

    async def _name_of(self, called: Mapping[str, Any]) -> str:
        """The name of a sub-workflow where the copy comes from, else as the editor showed it last."""
        try:
            return str((await self.client.workflows.get(called["id"], "copy workflow")).get("name") or called["name"])
        except (ApiError, NotFoundError):
            return str(called["name"])


def _with_table(node: JsonObject, table_id: str, name: str) -> JsonObject:
    locator = {"__rl": True, "mode": "list", "value": table_id, "cachedResultName": name}
    return {**node, "parameters": {**node["parameters"], _TABLE: locator}}


def _table_of(node: Mapping[str, Any]) -> tuple[str, str, str] | None:
    """How a node names the data table that it uses, the name or id itself, and the name that the editor shows."""
    parameters = node.get("parameters")
    parameters = parameters if isinstance(parameters, Mapping) else {}
    makes_it = parameters.get("resource") == "table" and parameters.get("operation") in (None, "create", "list")
    if makes_it or parameters.get("source", _TABLE_SOURCE) != _TABLE_SOURCE or node.get("disabled"):
        return None
    locator = parameters.get(_TABLE)
    mode = str(locator.get("mode", "id")) if isinstance(locator, Mapping) else "id"
    value = locator.get("value") if isinstance(locator, Mapping) else locator
    shown = locator.get("cachedResultName") if isinstance(locator, Mapping) else None
    if not isinstance(value, str) or not value or is_expression(value):
        return None
    return mode, value, str(shown or "")


async def _table_names(client: N8nClient) -> dict[str, str] | None:
    """The names of the data tables by id; None if the key may not list them."""
    try:
        return {str(one.get("id")): str(one.get("name")) for one in await client.administration.tables()}
    except ApiError:
        return None


async def _untagged(source: Mapping[str, Any], copy_id: str, target: N8nClient) -> list[str]:
    """Give the copy the tags of the same name, and return the others."""
    names = [str(tag["name"]) for tag in source.get("tags") or [] if isinstance(tag, Mapping) and "name" in tag]
    if not names:
        return []
    try:
        there = {str(tag["name"]): str(tag["id"]) for tag in await target.lookups.tags()}
        if ids := [there[name] for name in names if name in there]:
            await target.workflows.set_tags(copy_id, ids)
    except ApiError:
        # The copy is made, and is useful without its tags.
        return names
    return [name for name in names if name not in there]


def _with_credentials_of(
    nodes: Sequence[Any], existing: Sequence[Mapping[str, Any]], linked: Linked
) -> tuple[list[JsonObject], list[JsonObject]]:
    """The nodes with credentials of the same type and name there, and those that there are none or several of."""
    known: dict[tuple[str, str], list[str]] = {}
    for one in existing:
        known.setdefault((str(one.get("type")), str(one.get("name"))), []).append(str(one.get("id")))
    copied, lacking = [], []
    for node in (node for node in nodes if isinstance(node, Mapping)):
        kept = {}
        for kind, used in (node.get("credentials") or {}).items():
            name, own = (str(used.get("name")), str(used.get("id"))) if isinstance(used, Mapping) else ("", "")
            fitting = known.get((kind, name), [])
            # Which of several is meant only a person knows, unless it is the very same one.
            chosen = own if own in fitting else fitting[0] if len(fitting) == 1 else None
            if chosen is not None:
                kept[kind] = {"id": chosen, "name": name}
                linked.credential(kind, name, chosen)
            else:
                several = {"sameName": fitting[:_MOST_SHOWN]} if fitting else {}
                lacking.append({"node": node.get("name"), "type": kind, "name": name, **several})
        without = {key: value for key, value in node.items() if key not in ("credentials", "webhookId")}
        copied.append({**without, **({"credentials": kept} if kept else {})})
    return copied, lacking


def _portable(settings: Mapping[str, Any]) -> JsonObject:
    return {key: value for key, value in settings.items() if key not in _OF_ONE_INSTANCE}


async def _workflows_named(name: str, target: N8nClient) -> list[str]:
    """The ids of the workflows of exactly this name."""
    try:
        rows = (await target.workflows.page(name=name, limit=_PER_PAGE, excludePinnedData=True))["data"]
    except ApiError:
        return []
    return [str(one["id"]) for one in rows if one.get("name") == name and not one.get("isArchived")][:_MOST_SHOWN]


def _called_workflows(nodes: Sequence[JsonObject]) -> Iterator[JsonObject]:
    for node in nodes:
        parameters = node.get("parameters")
        used = parameters.get(_SUB_WORKFLOW) if isinstance(parameters, Mapping) else None
        id_ = used.get("value") if isinstance(used, Mapping) else used
        if isinstance(id_, str) and id_ and not id_.startswith("="):
            shown = used.get("cachedResultName") if isinstance(used, Mapping) else None
            yield {"node": node.get("name"), "id": id_, "name": str(shown or "")}


def _short(report: JsonObject) -> JsonObject:
    return {key: report[key] for key in ("id", "name", "versionId", "warnings", "differences") if report.get(key)}


TOOLS = (CopyWorkflow,)
