"""Which trigger of a workflow a call means, and what to do where none can be started."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from dogubako.contract.errors import ApiError, ApiErrorContext, ValidationError
from dogubako.contract.output import example_call
from dogubako.packs.n8n.triggers import CALLABLE, Trigger, triggers_of

_LISTED: Final = 10


def chosen_trigger(workflow: Mapping[str, Any], nodes: Sequence[Mapping[str, Any]], name: str | None) -> Trigger:
    """The named trigger of these nodes, or the only one that callers from outside can start, or the only one."""
    found = triggers_of(nodes)
    if name is not None:
        for one in found:
            if one.name == name:
                return one
        listed = ", ".join(one.name for one in found[:_LISTED]) or "none"
        raise ValidationError.of("trigger", f"Invalid value for parameter trigger: the triggers are {listed}")
    callable_ones = [one for one in found if one.kind in CALLABLE]
    candidates = callable_ones or found
    if len(candidates) > 1:
        listed = ", ".join(f"'{one.name[:100]}' ({one.kind})" for one in candidates[:_LISTED])
        raise ValidationError.of("trigger", f"Required parameter missing: trigger. The workflow has {listed}")
    if not candidates:
        has_one = triggers_of(nodes, disabled=True)
        reason = "all its triggers are disabled" if has_one else "it has no trigger"
        raise cannot_run(reason, _switched_off(workflow, CALLABLE) or "Add a Webhook node as its trigger.")
    return candidates[0]


def other_triggers(nodes: Sequence[Mapping[str, Any]], chosen: str) -> list[str]:
    """The names of the triggers that a call did not mean."""
    return [one.name[:100] for one in triggers_of(nodes) if one.name != chosen][:_LISTED]


def nodes_that_run(workflow: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """The published nodes where the workflow is published, else those of the draft."""
    published = workflow.get("activeVersion")
    live = published.get("nodes") if workflow.get("active") and isinstance(published, Mapping) else None
    return live or workflow.get("nodes") or ()


def _switched_off(workflow: Mapping[str, Any], kinds: Sequence[str]) -> str | None:
    """How to switch on a trigger of these kinds that the workflow has already."""
    found = [one for one in triggers_of(nodes_that_run(workflow), disabled=True) if one.kind in kinds]
    if not found:
        return None
    changes = [{"nodeName": found[0].name, "disabled": False}]
    example = example_call("update_workflow", id=str(workflow.get("id")), updateNodes=changes)
    return f"Its {found[0].kind} '{found[0].name[:100]}' is disabled. Switch it on with {example}, and publish it."


def not_startable(workflow: Mapping[str, Any], trigger: Trigger) -> ApiError:
    if trigger.kind not in CALLABLE:
        webhook = _switched_off(workflow, CALLABLE) or "Add a Webhook node as its trigger."
        hint = f"{webhook} Or start it in n8n's editor, or let an operator set N8N_MCP_TOKEN."
        reason = f"n8n lets nobody start its trigger '{trigger.name[:100]}' ({trigger.kind}) from outside"
        return cannot_run(reason, hint)
    hint = f"Publish it first: {example_call('activate_workflow', id=str(workflow.get('id')))}"
    return cannot_run("it is not published, and only published workflows have webhooks", hint)


def cannot_run(reason: str, hint: str | None) -> ApiError:
    context = ApiErrorContext(operation="run workflow", resource_type="Workflow", error_details=reason)
    return ApiError(f"Failed to run workflow: {reason}", context=context, hint=hint)
