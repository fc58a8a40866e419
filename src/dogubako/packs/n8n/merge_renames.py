"""Merge workflows of which one side has renamed nodes: the other side's part is given the new names first.

Nodes are told apart by their names, so a rename looks like a removal and an addition. Without this, a node that
somebody moved meanwhile would be a conflict, and an expression that somebody added would name a node that is gone.
"""

from collections.abc import Mapping
from typing import Any

from dogubako.packs.n8n.edits.editor import WorkflowEditor
from dogubako.packs.n8n.edits.operations import Operation
from dogubako.packs.n8n.merging import Clash, merge, names_by_id

JsonObject = dict[str, Any]


def merge_renamed(base: JsonObject, theirs: JsonObject, ours: JsonObject) -> tuple[JsonObject, list[Clash]]:
    """Both sides' changes in one content, and the places where they touch."""
    was, other, own = (names_by_id(one) for one in (base, theirs, ours))
    for number, name in was.items():
        left, right = other.get(number), own.get(number)
        if left == right and left not in (None, name) and _are_free(str(left), base):
            # One side has read the other's rename, and changed the node besides.
            base = _renamed(base, name, str(left))
        elif left == name and right is not None and _are_free(right, base, theirs):
            base, theirs = _renamed(base, name, right), _renamed(theirs, name, right)
        elif right == name and left is not None and _are_free(left, base, ours):
            base, ours = _renamed(base, name, left), _renamed(ours, name, left)
    return merge(base, theirs, ours)


def _are_free(name: str, *workflows: Mapping[str, Any]) -> bool:
    """Whether none of them has a node of this name. One that the other side added is a conflict, and no new name."""
    nodes = [one for workflow in workflows for one in workflow.get("nodes") or ()]
    return not any(isinstance(one, Mapping) and one.get("name") == name for one in nodes)


def _renamed(workflow: JsonObject, old: str, new: str) -> JsonObject:
    """The workflow with another name for a node, wherever it is named."""
    return WorkflowEditor(workflow).apply([Operation(op="renameNode", node=old, name=new)])
