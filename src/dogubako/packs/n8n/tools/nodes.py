"""Find and describe node types, and validate workflows before they are saved."""

from collections.abc import Sequence
from typing import Any

from pydantic import Field

from dogubako.contract.errors import NotFoundError, NotFoundErrorContext, ValidationError
from dogubako.contract.metadata import Effect, ToolExample
from dogubako.contract.output import Guidance, Json, Message, example_call
from dogubako.contract.tool import BaseTool, ToolArgs
from dogubako.packs.n8n.client import N8nClient
from dogubako.packs.n8n.formatters import node_type as show
from dogubako.packs.n8n.nodes.descriptions import NodeDescription, NodeSource, newest_version
from dogubako.packs.n8n.nodes.mcp_source import Definition, McpNodes, real_name
from dogubako.packs.n8n.nodes.node_shape import check_new_nodes
from dogubako.packs.n8n.nodes.problems import near_names, near_types, quoted
from dogubako.packs.n8n.nodes.validation import Validation
from dogubako.packs.n8n.tools.workflows import WorkflowId

JsonObject = dict[str, Any]
_BASE = "n8n-nodes-base."
_HALF = 0.5
_TRY_ENGLISH = "Node types are described in English: use a few English words, such as the name of a service."


class SearchNodesArgs(ToolArgs):
    query: str = Field(min_length=1, max_length=200, description="What the node should do, or its name.")
    limit: int = Field(8, ge=1, le=50, description="How many at most.")


class SearchNodes(BaseTool[SearchNodesArgs, N8nClient]):
    """Find node types for building workflows, by everyday words. The answer names the source of the knowledge."""

    name = "search_nodes"
    keywords = {
        "en": "which step sends an email; is there a step for slack; what building blocks are there; "
        "find a connector for a service; a building block for telegram; "
        "is there a step that can do this; what step can I use to read or send something",
        "ja": "ノードを探す 部品 連携 つなげるサービス どのノード コネクタ 使えるステップ 種類 送る部品 読むノード",
    }
    effect = Effect.READ
    tags = ("nodes", "workflows")
    examples = (ToolExample(description="A node that sends mail", parameters={"query": "send email"}),)

    async def execute(self, args: SearchNodesArgs) -> Json:
        if not args.query.strip():
            raise ValidationError.of("query", "Invalid value for parameter query: it has no words")
        found = await self.client.nodes.search(args.query.strip(), args.limit)
        rows = [show.row(one.summary) for one in found.matches]
        guidance = None
        if rows:
            example = example_call("describe_node", type=rows[0]["type"])
            guidance = Guidance(message="See its parameters.", example=example)
        message = Message(en=f"{len(rows)} node types found", ja=f"ノードの種類が{len(rows)}件見つかりました")
        data: JsonObject = {"nodes": rows, "source": found.source}
        if not found.complete:
            data["hint"] = self.client.nodes.better_source
        elif max((one.share for one in found.matches), default=0) < _HALF:
            data["hint"] = _TRY_ENGLISH if rows else f"Nothing fits. {_TRY_ENGLISH}"
        return Json(data=data, message=message, guidance=guidance, count=len(rows))


class DescribeNodeArgs(ToolArgs):
    type: str = Field(min_length=1, max_length=200, description="Node type, for example n8n-nodes-base.httpRequest.")
    version: float | None = Field(None, description="typeVersion. Without it: the newest.")
    resource: str | None = Field(None, max_length=100, description="Only this resource.")
    operation: str | None = Field(None, max_length=100, description="Only this operation.")
    parameter: str | None = Field(None, max_length=100, description="Show one parameter whole instead.")


class DescribeNode(BaseTool[DescribeNodeArgs, N8nClient]):
    """Describe a node type: versions, credentials, parameters (* is required). Narrow it by resource and operation."""

    name = "describe_node"
    keywords = {
        "en": "how is this step configured; which fields does a step have; options of a connector; "
        "what does a step need; explain the settings of a kind of step; "
        "which options can a step take",
        "ja": "ノードの使い方 項目 設定できる 引数 必須 オプション パラメータ 仕様",
    }
    effect = Effect.READ
    tags = ("nodes", "workflows")
    examples = (ToolExample(description="Parameters of a node", parameters={"type": "n8n-nodes-base.httpRequest"}),)

    async def execute(self, args: DescribeNodeArgs) -> Json:
        names = (args.type, _BASE + args.type)
        return await self.client.nodes.ask_about(names, lambda source: self._described(source, args))

    async def _described(self, source: NodeSource, args: DescribeNodeArgs) -> Json:
        if isinstance(source, McpNodes):
            return await _from_instance(source, args)
        descriptions = await _descriptions(source, args.type)
        versions = sorted({one for description in descriptions for one in description.versions})
        description, version = _at_version(descriptions, versions, args.version)
        chosen = {"resource": args.resource, "operation": args.operation}
        formatter = show.NodeTypeFormatter(description, version, {key: one for key, one in chosen.items() if one})
        _check_choice(description, "resource", args.resource)
        if args.resource is None:
            _check_choice(description, "operation", args.operation)
        else:
            of_resource = show.NodeTypeFormatter(description, version, {}).operations(args.resource)
            _check_choice(description, "operation", args.operation, of_resource)
        if args.parameter is not None:
            data: JsonObject = {
                "type": description.type,
                "version": version,
                **_parameter(formatter, args.parameter),
            }
        else:
            data = formatter.overview(versions)
        guidance = _next_step(data, args)
        data["source"] = source.name
        return Json(data=data, message=Message(en="Node type", ja="ノードの種類"), guidance=guidance)


async def _from_instance(source: McpNodes, args: DescribeNodeArgs) -> Json:
    """The definition that the instance itself gives, as far as it fits."""
    node_type = args.type if "." in args.type else _BASE + args.type
    wanted = {"nodeId": node_type, "resource": args.resource, "operation": args.operation}
    version = {"version": f"{args.version:g}"} if args.version is not None else {}
    definition = await source.definition({key: value for key, value in wanted.items() if value} | version)
    if definition.unknown_type:
        near = [one.summary.type for one in await source.search(node_type.rpartition(".")[2], 3)]
        raise _no_such_type(node_type, near, source)
    if definition.unknown_version:
        raise ValidationError.of("version", "Invalid value for parameter version: the instance has no such version")
    data: JsonObject = {"type": node_type}
    if definition.refusal:
        data |= _choices(definition, args)
    if definition.needs:
        data["needsConnected"] = definition.needs
    _check_definition(definition.code, args)
    lines = show.parameter_of(definition.code, args.parameter) if args.parameter else definition.code.splitlines()
    fitting = show.within(lines, show.TOKENS)
    data |= {"definition": "\n".join(lines[:fitting])} if lines else {}
    guidance = None
    if fitting < len(lines):
        data["moreLines"] = len(lines) - fitting
        guidance = Guidance(
            message="Narrow it by resource and operation, or look at one parameter.",
            example=example_call("describe_node", type=node_type, parameter="options"),
        )
    data["source"] = source.name
    return Json(data=data, message=Message(en="Node type", ja="ノードの種類"), guidance=guidance)


def _choices(definition: Definition, args: DescribeNodeArgs) -> JsonObject:
    """What has to be chosen first. What was chosen wrongly is an error."""
    resources = definition.resources
    if not resources:
        if args.operation is not None or args.resource is not None:
            name = "operation" if args.operation is not None else "resource"
            _check_value(name, args.operation or args.resource, definition.choices)
        return {"choose": definition.refusal}
    _check_value("resource", args.resource, list(resources))
    operations = resources.get(args.resource or "", ())
    if args.resource is None:
        return {"resources": resources}
    _check_value("operation", args.operation, operations)
    return {"operations": operations}


def _check_definition(code: str, args: DescribeNodeArgs) -> None:
    """Choices that the code of a definition does not have."""
    if not code:
        return
    for name, value in (("resource", args.resource), ("operation", args.operation)):
        known = show.choices_of(code, name)
        if known is not None:
            _check_value(name, real_name(value) if value is not None else None, known)
    if args.parameter is not None and not show.parameter_of(code, args.parameter):
        raise _no_such_parameter(args.parameter, show.names_of(code))


async def _descriptions(source: NodeSource, node_type: str) -> Sequence[NodeDescription]:
    """The descriptions of a type by its full or short name, or an error with similar names."""
    for name in (node_type, _BASE + node_type):
        if found := await source.describe(name):
            return found
    names = await source.names()
    short = [name for name in names if name.rpartition(".")[2].lower() == node_type.rpartition(".")[2].lower()]
    if len(short) == 1 and (found := await source.describe(short[0])):
        return found
    raise _no_such_type(node_type, short or near_types(node_type, names), source)


def _no_such_type(node_type: str, near: Sequence[str], source: NodeSource) -> NotFoundError:
    hint = f"Did you mean {' or '.join(near)}?" if near else "search_nodes finds node types by everyday words."
    context = NotFoundErrorContext(operation="describe node", resource_type="Node type", resource_id=node_type[:100])
    hint = f"{hint} This was looked up in {source.name}."
    return NotFoundError(f"Node type {quoted(node_type)} not found", context=context, hint=hint)


def _at_version(
    descriptions: Sequence[NodeDescription], versions: Sequence[float], wanted: float | None
) -> tuple[NodeDescription, float]:
    version = wanted if wanted is not None else newest_version(descriptions) or 1
    for one in descriptions:
        if version in one.versions or not one.versions:
            return one, version
    listed = ", ".join(f"{one:g}" for one in versions)
    raise ValidationError.of("version", f"Invalid value for parameter version: there are {listed}")


def _check_choice(
    description: NodeDescription, name: str, value: str | None, among: Sequence[str] | None = None
) -> None:
    if description.complete:
        _check_value(name, value, description.values_of(name) if among is None else among)


def _check_value(name: str, value: str | None, known: Sequence[str]) -> None:
    if value is None or value in known:
        return
    near = near_names(value, known)
    advice = f" Did you mean {' or '.join(near)}?" if near else ""
    listed = f"it may be {', '.join(known[:20])}." if known else "the node type has none."
    raise ValidationError.of(name, f"Invalid value for parameter {name}: {listed}{advice}")


def _parameter(formatter: show.NodeTypeFormatter, name: str) -> JsonObject:
    definitions = formatter.parameter(name)
    if not definitions:
        raise _no_such_parameter(name, formatter.names(), formatter.places_of(name))
    first, *others = definitions
    more = [show.line(one, one.show) for one in others[:10]]
    return show.details(first) | ({"elsewhere": more} if more else {})


def _no_such_parameter(name: str, known: Sequence[str], places: Sequence[str] = ()) -> ValidationError:
    """An error that names where it is, what resembles it, or all that there is."""
    near = near_names(name, known)
    if places:
        advice = f" It is inside of {' and '.join(map(quoted, places))}: give that instead."
    elif near:
        advice = f" Did you mean {' or '.join(near)}?"
    else:
        advice = f" There are: {', '.join(known[:40])}." if known else ""
    return ValidationError.of("parameter", f"Invalid value for parameter parameter: the type has no such.{advice}")


def _next_step(data: JsonObject, args: DescribeNodeArgs) -> Guidance | None:
    given = {"type": data["type"]}
    if "resources" in data:
        resource = next(iter(data["resources"]))
        operation = {"operation": data["resources"][resource][0]} if data["resources"][resource] else {}
        return Guidance(
            message="Choose a resource and an operation to see the parameters.",
            example=example_call("describe_node", **given, resource=resource, **operation),
        )
    if "operations" in data:
        resource = {"resource": args.resource} if args.resource else {}
        example = example_call("describe_node", **given, **resource, operation=data["operations"][0])
        return Guidance(message="Choose an operation to see the parameters.", example=example)
    if "moreParameters" in data:
        example = example_call("describe_node", **given, parameter=data["moreParameters"][0])
        return Guidance(message="See one of the other parameters.", example=example)
    return None


class ValidateWorkflowArgs(ToolArgs):
    id: WorkflowId | None = Field(None, description="A workflow of n8n. Or give nodes and connections instead.")
    nodes: list[JsonObject] | None = Field(None, max_length=2_000, description="Nodes that are not saved yet.")
    connections: JsonObject | None = Field(None, description="Their connections.")


class ValidateWorkflow(BaseTool[ValidateWorkflowArgs, N8nClient]):
    """Find mistakes before a workflow runs: types, versions, parameters, options, expressions, links, credentials."""

    name = "validate_workflow"
    keywords = {
        "en": "check an automation for errors before saving; is this flow correct; "
        "find typos and missing settings; lint it",
        "ja": "検証 チェック 間違い 正しいか 事前に確認 ミス 不備 点検",
    }
    effect = Effect.READ
    tags = ("workflows", "nodes", "repair")
    examples = (ToolExample(description="A workflow of n8n", parameters={"id": "bFqp5KICynapnI7k"}),)

    async def execute(self, args: ValidateWorkflowArgs) -> Json:
        if (args.id is None) is (args.nodes is None):
            raise ValidationError.of("id", "Invalid value for parameter id: give either id or nodes")
        workflow: JsonObject = {"nodes": args.nodes, "connections": args.connections or {}}
        if args.id is not None:
            workflow = await self.client.workflows.get(args.id, "validate workflow")
        validation = await self.client.nodes.validate(workflow)
        validation = validation.with_more(list(check_new_nodes(args.nodes or ())))
        return _validated(validation, self.client.nodes.better_source)


def _not_checked(kinds: int) -> str:
    return f"The parameters of {'one node type' if kinds == 1 else f'{kinds} node types'} were not checked"


def _validated(validation: Validation, better_source: str) -> Json:
    errors, warnings = validation.errors, validation.warnings
    en = f"{len(errors)} errors and {len(warnings)} warnings" if validation.problems else "No problems found"
    ja = f"エラー{len(errors)}件、警告{len(warnings)}件" if validation.problems else "問題は見つかりませんでした"
    data: JsonObject = {
        # Not known where parameters were not checked: most mistakes are there.
        "valid": False if errors else None if validation.unchecked else True,
        "errors": [one.shown() for one in errors],
        "warnings": [one.shown() for one in warnings],
        "nodesChecked": validation.nodes,
        "source": validation.source,
    }
    if validation.unchecked:
        unknown = "" if errors else ", so whether the workflow is valid is not known"
        en = f"{en} in links, expressions, code and credentials. {_not_checked(len(validation.unchecked))}{unknown}"
        ja = f"{ja}（接続・式・コード・認証情報のみ。{len(validation.unchecked)}種類のノードのパラメータは未確認）"
        data["parametersNotChecked"] = list(validation.unchecked)
        data["hint"] = better_source
    return Json(data=data, message=Message(en=en, ja=ja), count=len(validation.problems))


TOOLS = (SearchNodes, DescribeNode, ValidateWorkflow)
