"""Apply operations to a copy of a workflow. One that cannot be applied stops them all."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from typing import Any, Final
from uuid import uuid4

from dogubako.contract.errors import DogubakoError, ValidationError
from dogubako.packs.n8n.edits.connections import Connections, new_ends
from dogubako.packs.n8n.edits.defaults import free_position, full_type, type_version
from dogubako.packs.n8n.edits.expressions import Renaming, evaluated_text
from dogubako.packs.n8n.edits.operations import Operation, WrongOperation, with_settings
from dogubako.packs.n8n.formatters.workflow import node_not_found
from dogubako.packs.n8n.merging import Edge
from dogubako.packs.n8n.nodes.channels import MAIN, offered_channel
from dogubako.packs.n8n.nodes.descriptions import NewVersions
from dogubako.packs.n8n.paths import PathError, parse_path, set_at, unset_at
from dogubako.packs.n8n.workflow_change import changed_settings

JsonObject = dict[str, Any]
_NOTE: Final = "n8n-nodes-base.stickyNote"


class WorkflowEditor:
    """A workflow that is being changed, and what the change leaves behind."""

    def __init__(
        self,
        workflow: Mapping[str, Any],
        credentials: Sequence[Mapping[str, Any]] = (),
        versions: NewVersions | None = None,
    ) -> None:
        self._whole = deepcopy(dict(workflow))
        self._credentials = credentials
        self._versions = versions or NewVersions()
        self.nodes: list[JsonObject] = list(self._whole.get("nodes") or [])
        self.connections = Connections(self._whole.get("connections") or {})
        self._removed: list[str] = []
        self._renamed: list[str] = []
        # By identity of the node: a hundred renames in a thousand nodes need not read all parameters again.
        self._texts: dict[int, str] = {}

    def apply(self, operations: Sequence[Operation]) -> JsonObject:
        """The workflow with all operations applied in order."""
        for number, operation in enumerate(operations):
            try:
                _APPLY[operation.op](self, operation)
            except (WrongOperation, PathError) as error:
                field = f"operations[{number}]"
                message = f"Invalid value for parameter {field} ({operation.op}): {error}"
                raise ValidationError.of(field, message, hint="Nothing was changed.") from error
            except DogubakoError as error:
                error.hint = f"{error.hint or ''} It is operations[{number}]. Nothing was changed.".strip()
                raise
        return {**self._whole, "nodes": self.nodes, "connections": self.connections.as_json()}

    def loose_references(self) -> list[str]:
        """Nodes whose expressions still name a node that was removed, or may name one that was renamed."""
        names = {str(node.get("name")) for node in self.nodes}
        gone = {name: Renaming(name, name) for name in self._removed if name not in names}
        renamed = {name: Renaming(name, name) for name in self._renamed if name not in names}
        return (
            [
                f"{node.get('name')} still refers to the removed node {name}"
                for name, renaming in gone.items()
                for node in self.nodes
                if renaming.finds(self._text(node))
            ]
            + [
                f"{node.get('name')} finds a node by a computed name and still has the text {name}, which was renamed"
                for name, renaming in renamed.items()
                for node in self.nodes
                if renaming.may_compute(self._text(node))
            ]
            + [
                f"what the node remembered (static data) stays under its old name {name}"
                for name in renamed
                if f"node:{name}" in (self._whole.get("staticData") or {})
            ]
        )

    def _text(self, node: JsonObject) -> str:
        if (text := self._texts.get(id(node))) is None:
            text = self._texts[id(node)] = evaluated_text(node.get("parameters"))
        return text

    def _node(self, name: str | None) -> JsonObject:
        named = [node for node in self.nodes if node.get("name") == name] or [
            node for node in self.nodes if node.get("id") == name
        ]
        if len(named) > 1:
            raise WrongOperation("several nodes have this name; name it by its id")
        if not named:
            raise node_not_found({"id": self._whole.get("id"), "nodes": self.nodes}, str(name))
        return named[0]

    def _name_of(self, name: str | None) -> str:
        return str(self._node(name)["name"])

    def add_node(self, operation: Operation) -> None:
        name, kind = str(operation.name), full_type(str(operation.type))
        self._refuse_taken(name)
        source = self._node(operation.source) if operation.source is not None else None
        position = list(operation.position) if operation.position else free_position(self.nodes, source)
        node: JsonObject = {
            "name": name,
            "type": kind,
            "typeVersion": operation.type_version or type_version(kind, self.nodes, self._versions),
            "position": position,
            "parameters": deepcopy(operation.parameters or {}),
        }
        node = with_settings(node, operation.settings or {})
        self.nodes.append(node)
        self._insert(node, source, operation)

    def _insert(self, node: JsonObject, source: JsonObject | None, operation: Operation) -> None:
        """Connect a new node. Between two connected nodes it takes the place of their connection.

        `output` belongs to `from` and `input` to `to`; where one of these is not named, to the new node.
        """
        name, offered = str(node["name"]), offered_channel(node)
        target = self._name_of(operation.to) if operation.to is not None else None
        if source is not None and offered != MAIN and offered_channel(source) in (MAIN, offered):
            raise WrongOperation(f"this node serves another one as {offered}, and takes no items: give 'to' alone")
        self._join_group(node, source, target)
        if source is not None and target is not None:
            direct = self.connections.between(str(source["name"]), target, operation)
            if direct is not None:
                onward = Edge(name, offered, 0, target, direct.input)
                self.connections.insert(direct, direct._replace(target=name, input=0), onward)
                return
        new_input = (operation.input or 0) if target is None else 0
        new_output = (operation.output or 0) if source is None else 0
        into = source and Edge(str(source["name"]), offered_channel(source), operation.output or 0, name, new_input)
        out = target and Edge(name, offered, new_output, target, operation.input or 0)
        for edge in (into, out):
            if edge:
                self.connections.add(edge)

    def _join_group(self, node: JsonObject, source: JsonObject | None, target: str | None) -> None:
        """Put a new node into the group that both of its neighbours are in: n8n refuses a group that is interrupted."""
        if source is None or target is None:
            return
        ends = {str(source.get("id")), str(self._node(target).get("id"))}
        for group in self._whole.get("nodeGroups") or []:
            members = group.get("nodeIds") if isinstance(group, dict) else None
            if isinstance(members, list) and ends <= set(map(str, members)):
                node.setdefault("id", str(uuid4()))
                group["nodeIds"] = [*members, node["id"]]

    def _refuse_taken(self, name: str) -> None:
        if not name.strip():
            raise WrongOperation("a name cannot consist of blanks")
        if any(node.get("name") == name for node in self.nodes):
            raise WrongOperation("another node has this name")

    def remove_node(self, operation: Operation) -> None:
        node = self._node(operation.node)
        name = str(node["name"])
        self.connections.remove_node(name, rewire=operation.rewire is not False)
        self.nodes = [one for one in self.nodes if one is not node]
        self._removed.append(name)
        self._forget(node)

    def _forget(self, node: JsonObject) -> None:
        """Remove a node from pinned data and groups."""
        pins = self._whole.get("pinData")
        if isinstance(pins, dict):
            pins.pop(node["name"], None)
        for group in self._whole.get("nodeGroups") or []:
            if isinstance(group, dict) and isinstance(group.get("nodeIds"), list):
                group["nodeIds"] = [one for one in group["nodeIds"] if one != node.get("id")]
        if groups := self._whole.get("nodeGroups"):
            # n8n refuses a group without members.
            self._whole["nodeGroups"] = [one for one in groups if not isinstance(one, dict) or one.get("nodeIds")]

    def rename_node(self, operation: Operation) -> None:
        """Rename a node where it is named: connections, pinned data, expressions and code of all nodes."""
        node, new = self._node(operation.node), str(operation.name)
        old = str(node["name"])
        if old == new:
            return
        self._refuse_taken(new)
        node["name"] = new
        self._renamed.append(old)
        self.connections.rename_node(old, new)
        pins = self._whole.get("pinData")
        if isinstance(pins, dict) and old in pins:
            pins[new] = pins.pop(old)
        renaming = Renaming(old, new)
        for one in self.nodes:
            if renaming.finds(self._text(one)):
                one["parameters"] = renaming.apply(one["parameters"])
                del self._texts[id(one)]

    def set_parameter(self, operation: Operation) -> None:
        if operation.value is None:
            with suppress(PathError):
                unset_at(*self._place(operation))
            return
        set_at(*self._place(operation), deepcopy(operation.value))

    def unset_parameter(self, operation: Operation) -> None:
        unset_at(*self._place(operation))

    def _place(self, operation: Operation) -> tuple[JsonObject, tuple[str | int, ...]]:
        node = self._node(operation.node)
        self._texts.pop(id(node), None)
        parameters = node.setdefault("parameters", {})
        path = parse_path(str(operation.path))
        # The differences that we show begin with `parameters`.
        if len(path) > 1 and path[0] == "parameters" and "parameters" not in parameters:
            path = path[1:]
        return parameters, path

    def set_node_settings(self, operation: Operation) -> None:
        node = self._node(operation.node)
        changed = with_settings(node, operation.settings or {})
        node.clear()
        node.update(changed)

    def set_credential(self, operation: Operation) -> None:
        node, kind = self._node(operation.node), str(operation.type)
        used = dict(node.get("credentials") or {})
        used.pop(kind, None)
        if operation.value is not None:
            used[kind] = self._credential(kind, operation.value)
        node["credentials"] = used
        if not used:
            del node["credentials"]

    def _credential(self, kind: str, wanted: Any) -> JsonObject:
        named = [one for one in self._credentials if wanted in (one.get("id"), one.get("name"))]
        found = [one for one in named if one.get("type") == kind]
        if len(found) == 1:
            return {"id": found[0]["id"], "name": found[0].get("name")}
        if found:
            raise WrongOperation("several credentials have this name; give the id, which list_credentials shows")
        if named:
            raise WrongOperation(f"this credential has the type {named[0].get('type')}")
        raise WrongOperation("there is no such credential; list_credentials shows which there are")

    def move_node(self, operation: Operation) -> None:
        self._node(operation.node)["position"] = list(operation.position or ())

    def add_connection(self, operation: Operation) -> None:
        source, target = self._node(operation.source), self._name_of(operation.to)
        if _NOTE in (source.get("type"), self._node(operation.to).get("type")):
            raise WrongOperation("a sticky note has no connections")
        kind = operation.type or offered_channel(source)
        self.connections.add(Edge(str(source["name"]), kind, operation.output or 0, target, operation.input or 0))

    def remove_connection(self, operation: Operation) -> None:
        self.connections.remove(self._connections(operation))

    def replace_connection(self, operation: Operation) -> None:
        found, ends = self._connections(operation), new_ends(operation.value)
        if len(found) != 1:
            raise WrongOperation("several connections are meant; name output and input")
        changes = {"output": ends.get("output", found[0].output), "input": ends.get("input", found[0].input)}
        source = self._name_of(ends.get("from", found[0].source))
        self.connections.replace(
            found[0], found[0]._replace(source=source, target=self._name_of(ends.get("to", found[0].target)), **changes)
        )

    def _connections(self, operation: Operation) -> list[Edge]:
        return self.connections.find(self._name_of(operation.source), self._name_of(operation.to), operation)

    def set_pin_data(self, operation: Operation) -> None:
        pins = self._whole.get("pinData")
        self._whole["pinData"] = pins if isinstance(pins, dict) else {}
        name = self._name_of(operation.node)
        if operation.value is None:
            self._whole["pinData"].pop(name, None)
        else:
            self._whole["pinData"][name] = _items(operation.value)

    def set_workflow_settings(self, operation: Operation) -> None:
        self._whole["settings"] = changed_settings(self._whole, operation.settings or {})

    def set_name(self, operation: Operation) -> None:
        self._whole["name"] = operation.name

    def set_tags(self, operation: Operation) -> None:
        self._whole["tags"] = [{"name": name} for name in dict.fromkeys(operation.tags or ())]


_APPLY: Final[Mapping[str, Callable[[WorkflowEditor, Operation], None]]] = {
    "addNode": WorkflowEditor.add_node,
    "removeNode": WorkflowEditor.remove_node,
    "renameNode": WorkflowEditor.rename_node,
    "setParameter": WorkflowEditor.set_parameter,
    "unsetParameter": WorkflowEditor.unset_parameter,
    "setNodeSettings": WorkflowEditor.set_node_settings,
    "setCredential": WorkflowEditor.set_credential,
    "moveNode": WorkflowEditor.move_node,
    "addConnection": WorkflowEditor.add_connection,
    "removeConnection": WorkflowEditor.remove_connection,
    "replaceConnection": WorkflowEditor.replace_connection,
    "setPinData": WorkflowEditor.set_pin_data,
    "setWorkflowSettings": WorkflowEditor.set_workflow_settings,
    "setName": WorkflowEditor.set_name,
    "setTags": WorkflowEditor.set_tags,
}


def _items(value: Any) -> list[JsonObject]:
    """Items as n8n pins them. A plain object is the `json` of one item."""
    items = value if isinstance(value, list) else [value]
    if not all(isinstance(item, dict) for item in items):
        raise WrongOperation("pinned data is a list of objects, one for each item, or null to remove it")
    return [deepcopy(item) if isinstance(item.get("json"), dict) else {"json": deepcopy(item)} for item in items]
