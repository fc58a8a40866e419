"""Workflows and executions as resources, and the prompt for a failed execution."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from dogubako.contract.context import Context
from dogubako.contract.resources import Prompt, PromptArgument, PromptMessage, ResourceTemplate
from dogubako.packs.n8n.call_headers import without_secrets
from dogubako.packs.n8n.client import N8nClient
from dogubako.packs.n8n.formatters.facts import facts_of
from dogubako.packs.n8n.formatters.summary import ExecutionFormatter
from dogubako.packs.n8n.formatters.workflow import overview
from dogubako.packs.n8n.models import Execution

_SUGGESTIONS = 50


async def _read_workflow(context: Context[Any], variables: Mapping[str, str]) -> str:
    client: N8nClient = context.client
    return _json(overview(await client.workflows.get(variables["id"])))


async def _read_execution(context: Context[Any], variables: Mapping[str, str]) -> str:
    client: N8nClient = context.client
    return _summary(await client.executions.get(variables["id"]))


async def _workflow_ids(context: Context[Any], typed: str, _: Mapping[str, str]) -> list[str]:
    client: N8nClient = context.client
    page = await client.workflows.page(limit=_SUGGESTIONS, excludePinnedData=True)
    return [str(one["id"]) for one in page["data"] if str(one["id"]).startswith(typed)]


async def _failed_ids(context: Context[Any], typed: str, _: Mapping[str, str]) -> list[str]:
    client: N8nClient = context.client
    page = await client.executions.page(limit=_SUGGESTIONS, status="error")
    return [str(one["id"]) for one in page["data"] if str(one["id"]).startswith(typed)]


async def _investigate(context: Context[Any], arguments: Mapping[str, str]) -> Sequence[PromptMessage]:
    """The prompt includes the summary of the execution, which saves a call."""
    client: N8nClient = context.client
    execution_id = arguments.get("id")
    if not execution_id:
        page = await client.executions.page(limit=1, status="error")
        if not page["data"]:
            return [PromptMessage(content="No execution of this n8n has failed. Say so, and stop.")]
        execution_id = str(page["data"][0]["id"])
    execution = await client.executions.get(execution_id)
    text = _STEPS.format(id=execution.id, summary=_summary(execution))
    return [PromptMessage(content=text)]


_STEPS = """Find out why execution {id} went wrong, and propose a repair.

Its summary:
{summary}

1. Call diagnose_execution(id: '{id}'). It names the first place where the data went wrong.
2. Look at that node: get_execution_by_node for what it received and gave out, get_workflow_node for how it is set up.
3. Explain the cause in two sentences, with the item that shows it.
4. Propose the smallest change that repairs it, as a call of edit_workflow. Ask before you make it.
5. After the change, which is a draft until publish: true, run_workflow if it has a webhook, and compare.
   restore_workflow undoes the change."""


def _summary(execution: Execution) -> str:
    return _json(without_secrets(execution, ExecutionFormatter(facts_of(execution)).format_summary()))


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


RESOURCE_TEMPLATES = (
    ResourceTemplate(
        uri_template="n8n://workflows/{id}",
        name="n8n workflow",
        description="A workflow: nodes, connections, settings.",
        mime_type="application/json",
        read=_read_workflow,
        completions={"id": _workflow_ids},
    ),
    ResourceTemplate(
        uri_template="n8n://executions/{id}",
        name="n8n execution",
        description="An execution in short: status, error, nodes.",
        mime_type="application/json",
        read=_read_execution,
        completions={"id": _failed_ids},
    ),
)

PROMPTS = (
    Prompt(
        name="investigate_execution",
        title="Why did this execution fail?",
        description="Leads through a failed n8n execution: summary, diagnosis, cause, repair.",
        arguments=(
            PromptArgument(
                name="id", description="Execution id; without it the last that failed.", complete=_failed_ids
            ),
        ),
        render=_investigate,
    ),
)
