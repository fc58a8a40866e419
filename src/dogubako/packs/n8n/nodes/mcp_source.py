"""Node types as the instance itself tells them over its MCP endpoint, with community nodes.

It describes types in TypeScript. Its own check of nodes takes unknown types, versions and parameters as good, so the
first two are looked up; and it refuses some good nodes, so only missing parameters count as certain.
"""

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

from dogubako.outbound.http import Operation
from dogubako.packs.n8n.api.mcp_endpoint import McpEndpoint
from dogubako.packs.n8n.nodes.descriptions import Match, NodeDescription, Summary
from dogubako.packs.n8n.nodes.problems import Problem, parameters_of, quoted
from dogubako.packs.n8n.nodes.ranking import ranked
from dogubako.packs.n8n.nodes.wishes import terms_of

JsonObject = dict[str, Any]

_CODE: Final = re.compile(r"```typescript\n(.*?)```", re.DOTALL)
_HEADING: Final = re.compile(r"^- (?P<type>[^\s.]++\.\S++)(?P<marks>.*)$")
_ENTRY: Final = re.compile(r"^\s{4,}- (\w+):?$")
_COMMENT: Final = re.compile(r"/\*\*((?:[^*]++|\*(?!/))*+)(?:\*/\n?|\Z)")
_PARAMS: Final = re.compile(
    r"^export (?:interface|type) \w+Params\b[^\n{]*+\{\n(.*?)(?:^\}|\Z)", re.DOTALL | re.MULTILINE
)
_SUBNODES: Final = re.compile(r"^export interface \w+SubnodeConfig \{\n(.*?)(?:^\}|\Z)", re.DOTALL | re.MULTILINE)
_SUBNODE: Final = re.compile(r"(\w+)(\??): (\w+)Instance\b")
_CONDITION: Final = "* @displayOptions.show"
# The inputs that are not named as the sub-nodes are for them.
_INPUT_NAMES: Final = {"DocumentLoader": "document"}
_MODE: Final = re.compile(r"^// ── mode: (\S++) ──$", re.MULTILINE)
_RESOURCES: Final = re.compile(r"(?<!\w)(\w++) \(([^()]*+)\)[;.]")
_AVAILABLE: Final = re.compile(r"\bAvailable: (\w++(?:, \w++)*+)")
_UNDERSCORE: Final = re.compile(r"_(\w)")
_MISSING: Final = re.compile(r'Required field "parameters\.([\w.\[\]]+)" is missing')
# What n8n's check says of nodes that run: of sub-nodes, which it is not told, of ids that n8n makes, and of numbers
# that stand for a text.
_NOT_MEANT: Final = (
    re.compile(r'^Required field "(?:subnodes|config)(?:\.[\w.]++)?" is missing'),
    re.compile(r'^Field "parameters\.[\w.]*+(?:assignments|conditions)\.\d++\.id" has wrong type'),
    re.compile(r'^Field "[^"]++" has wrong type: expected string, got (?:number|boolean)\.$'),
)
# It names one kind of value that the parameter may have, and leaves out the others.
_VAGUE: Final = re.compile(r'"parameters\.([^"]++)"(?:: Must be an n8n expression| must be "[^"]*+"\.$)')
_NEWEST: Final = re.compile(
    r"^## (\S++) \(v\d++\)$(?:(?!^## ).)*? - Version (\d++(?:\.\d++)?)$", re.DOTALL | re.MULTILINE
)
_NO_TYPE: Final = re.compile(r"Node type '([^']+)' not found")
_NO_VERSION: Final = re.compile(r"Version '([^']+)' not found for node '([^']+)'")
# n8n checks so many nodes at once.
_MOST_NODES: Final = 50
_LONGEST_COMMENT: Final = 100
_NOT_INSTALLED: Final = "(not installed on this instance)"
_MOST_QUERIES: Final = 24


@dataclass(frozen=True, kw_only=True, slots=True)
class Definition:
    """What the instance says about a node type: code, or why there is none."""

    code: str = ""
    refusal: str = ""
    unknown_type: bool = False
    unknown_version: bool = False
    # The operations of each resource, where one has to be chosen; else what may be chosen.
    resources: Mapping[str, Sequence[str]] = field(default_factory=dict)
    # The inputs to which a sub-node has to be connected.
    needs: Sequence[str] = ()
    choices: Sequence[str] = ()


class McpNodes:
    """Asks the instance. The definitions are text for the reader; checks are made by the instance."""

    name = "n8n's own MCP endpoint"
    complete = True
    certain = False

    def __init__(self, endpoint: McpEndpoint) -> None:
        self._endpoint = endpoint

    async def search(self, query: str, limit: int) -> Sequence[Match]:
        """n8n finds five for each query by their names; of what it finds for all words, we choose the best."""
        found = await self._found(_queries(query))
        return ranked(found, query, limit) or [Match(summary=one, score=0, share=0) for one in found[:limit]]

    async def _found(self, queries: Sequence[str]) -> list[Summary]:
        """What n8n finds for each of the queries, without what it offers to install."""
        found = await self._endpoint.call("search_nodes", {"queries": [*queries]}, Operation(name="search nodes"))
        text, _, _ = str(found.get("results") or found.get("text") or "").partition(_NOT_INSTALLED)
        return list({one.type: one for one in _summaries(text)}.values())

    async def names(self) -> Sequence[str]:
        return ()

    async def describe(self, node_type: str) -> Sequence[NodeDescription]:
        """Whether the type exists. Its parameters are in the definition, as text."""
        text = await self._types([{"nodeId": node_type}])
        known = _NO_TYPE.search(text) is None
        return [NodeDescription(type=node_type, complete=False)] if known else []

    async def newest_versions(self, types: Sequence[str]) -> tuple[dict[str, float], set[str]]:
        """The newest versions that the instance has, and the types that it does not have.

        A definition names the version; where a definition is refused, a search does.
        """
        text = await self._types([{"nodeId": kind} for kind in types])
        found = {kind: float(version) for kind, version in _NEWEST.findall(text) if kind in types}
        missing = {kind for kind in _NO_TYPE.findall(text) if kind in types}
        left = [kind for kind in types if kind not in found and kind not in missing]
        for one in await self._found([kind.rpartition(".")[2] for kind in left]) if left else ():
            if one.type in left:
                found[one.type] = one.version
        return found, missing

    async def definition(self, wanted: Mapping[str, str]) -> Definition:
        """The TypeScript of a node type, or n8n's own sentence that says what to choose first."""
        text = await self._types([dict(wanted)])
        code = _CODE.search(text)
        if code is not None:
            return Definition(code=condensed(code[1]), needs=list(_needed(code[1])))
        refusal = text.partition("# Errors")[2].strip().removeprefix("Error: ")
        resources = {
            real_name(resource): [real_name(one.strip()) for one in operations.split(",")]
            for resource, operations in _RESOURCES.findall(refusal)
        }
        return Definition(
            refusal=refusal or text.strip(),
            unknown_type=_NO_TYPE.search(text) is not None,
            unknown_version=_NO_VERSION.search(text) is not None,
            resources=resources,
            choices=[real_name(one) for listed in _AVAILABLE.findall(refusal) for one in listed.split(", ")],
        )

    async def check(self, nodes: Sequence[Mapping[str, Any]]) -> list[Problem]:
        """Unknown types and versions, and what n8n's own check finds."""
        asked = {(str(node.get("type")), node.get("typeVersion", 1)) for node in nodes}
        requests = [{"nodeId": kind, "version": f"{version:g}"} for kind, version in asked if _is_number(version)]
        text = await self._types(requests) if requests else ""
        gone = set(_NO_TYPE.findall(text))
        versions = {(kind, version) for version, kind in _NO_VERSION.findall(text)}
        problems = list(_unknown(nodes, gone, versions))
        known = [node for node in nodes if node.get("type") not in gone]
        for begin in range(0, len(known), _MOST_NODES):
            problems += await self._checked(known[begin : begin + _MOST_NODES])
        return problems

    async def _types(self, requests: Sequence[JsonObject]) -> str:
        found = await self._endpoint.call(
            "get_node_types", {"nodeIds": list(requests)}, Operation(name="describe node")
        )
        return str(found.get("definitions") or found.get("text") or "")

    async def _checked(self, nodes: Sequence[Mapping[str, Any]]) -> list[Problem]:
        sent: list[JsonObject] = [
            {
                "name": str(node.get("name")),
                "type": str(node.get("type")),
                "typeVersion": node.get("typeVersion", 1) if _is_number(node.get("typeVersion", 1)) else 1,
                "parameters": node.get("parameters") if isinstance(node.get("parameters"), Mapping) else {},
            }
            for node in nodes
        ]
        found = await self._endpoint.call("validate_node_config", {"nodes": sent}, Operation(name="validate workflow"))
        results = found.get("results")
        disabled = {str(node.get("name")) for node in nodes if node.get("disabled")}
        found_problems = _reported(results if isinstance(results, list) else [])
        given = {str(node.get("name")): parameters_of(node) for node in nodes}
        return [
            one
            for one in found_problems
            if one.node not in disabled
            and not (one.path and _is_number_as_text(given.get(one.node or "", {}), one.path))
        ]


def _queries(wish: str) -> list[str]:
    """The wish, its words two by two, and each of its words and of the nodes that are meant by them."""
    said = [(*term.words, *term.meant) for term in terms_of(wish)]
    pairs = [f"{one[0]} {two[0]}" for one, two in pairwise(said)]
    return list(dict.fromkeys((wish, *pairs, *(word for words in said for word in words))))[:_MOST_QUERIES]


def real_name(written: str) -> str:
    """The resource or operation `getAll`, which the instance lists by the name of a file: `get_all`."""
    return _UNDERSCORE.sub(lambda found: found[1].upper(), written)


def condensed(code: str) -> str:
    """The interfaces of the parameters, one for each mode of the node, with comments as single lines."""
    modes = [f"// --- mode: {real_name(one)}\n" for one in _MODE.findall(code)]
    bodies = _PARAMS.findall(code) or [code]
    headings = modes if len(modes) == len(bodies) else [""] * len(bodies)
    found = [heading + _COMMENT.sub(_one_line, body).rstrip() for heading, body in zip(headings, bodies, strict=True)]
    listed = ", ".join(one.removeprefix("// --- mode: ").strip() for one in modes)
    return "\n".join([f"// The node has {len(modes)} modes: {listed}"] * bool(modes) + found)


def _needed(code: str) -> Iterator[str]:
    """The inputs of a node with a single mode that are not optional, and when they are needed."""
    configs = _SUBNODES.findall(code)
    condition = ""
    for line in configs[0].splitlines() if len(configs) == 1 and not _MODE.search(code) else ():
        text = line.strip()
        if text.startswith(_CONDITION):
            condition = f" [{text.removeprefix(_CONDITION).strip(' {}')}]"
        elif subnode := _SUBNODE.match(text):
            _, optional, kind = subnode.groups()
            if not optional:
                yield f"ai_{_INPUT_NAMES.get(kind) or kind[0].lower() + kind[1:]}{condition}"
            condition = ""


def _one_line(comment: re.Match[str]) -> str:
    """`// what it is (default x) [when a: ["b"]]`; advice to builders is left out."""
    words, default, when = [], "", ""
    for part in re.split(r"\n[ \t]*+(?:\*[ \t]*+)?(?=@)|\A[ \t]*+(?:\*[ \t]*+)?(?=@)", comment[1]):
        text = " ".join(re.sub(r"^[ \t]*+\* ?", "", part, flags=re.MULTILINE).split())
        if text.startswith("@default"):
            default = f" (default {text.removeprefix('@default').strip()})"
        elif text.startswith("@displayOptions.show"):
            when = f" [when {text.removeprefix('@displayOptions.show').strip()}]"
        elif not text.startswith("@"):
            words.append(text)
    said = html.unescape(" ".join(words))
    if said.startswith("<patterns>"):
        return ""
    said = said if len(said) <= _LONGEST_COMMENT else f"{said[: _LONGEST_COMMENT - 1]}…"
    return f"// {said}{default[:60]}{when}\n"


def _summaries(text: str) -> Iterator[Summary]:
    """The results of a search: a heading per node, its facts, and its operations."""
    current: Summary | None = None
    for line in text.splitlines():
        if heading := _HEADING.match(line):
            if current is not None:
                yield current
            current = Summary(type=heading["type"], trigger="[TRIGGER]" in heading["marks"])
        elif current is not None:
            _read_fact(current, line)
    if current is not None:
        yield current


def _read_fact(summary: Summary, line: str) -> None:
    name, _, value = line.strip().partition(": ")
    if name == "Display Name":
        summary.title = value
    elif name == "Description":
        summary.description = value
    elif name == "Version" and re.fullmatch(r"\d+(\.\d+)?", value):
        summary.version = float(value)
    elif entry := _ENTRY.match(line):
        listed = summary.resources if line.rstrip().endswith(":") else summary.operations
        if entry[1] not in listed:
            listed.append(entry[1])


def _unknown(nodes: Sequence[Mapping[str, Any]], gone: set[str], versions: set[tuple[str, str]]) -> Iterator[Problem]:
    for node in nodes:
        kind, version = str(node.get("type")), node.get("typeVersion", 1)
        if kind in gone:
            message = f"There is no node type '{kind[:100]}' in this instance."
            yield Problem(kind="unknownType", path="type", message=message).of(str(node.get("name")))
        elif _is_number(version) and (kind, f"{version:g}") in versions:
            message = f"{kind[:100]} has no version {version:g} in this instance."
            # n8n takes any version of some types, and this source does not tell of which.
            yield Problem(kind="unknownVersion", path="typeVersion", message=message, certain=False).of(
                str(node.get("name"))
            )


def _reported(results: Sequence[Any]) -> Iterator[Problem]:
    for result in results:
        errors = result.get("errors") if isinstance(result, Mapping) else None
        for error in errors if isinstance(errors, list) else ():
            message = str(error.get("message"))[:300] if isinstance(error, Mapping) else ""
            path = str(error.get("path") or "").removeprefix("parameters.") if isinstance(error, Mapping) else ""
            if any(pattern.search(message) for pattern in _NOT_MEANT):
                continue
            missing = _MISSING.search(message)
            vague = _VAGUE.search(message)
            said = f"n8n says: {message}"
            if vague is not None:
                path = vague[1]
                said = f"n8n's own check does not take the value of {quoted(path)}: describe_node shows what it may be."
            yield Problem(
                kind="missingParameter" if missing else "unknownOption",
                node=str(result.get("name")),
                path=missing[1] if missing else path or None,
                message=said,
                certain=missing is not None,
            )


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_number_as_text(parameters: Mapping[str, Any], path: str) -> bool:
    """A number that is written as a text, which n8n converts, and its check refuses."""
    value: Any = parameters
    for part in path.split("."):
        if isinstance(value, list) and part.isdecimal() and int(part) < len(value):
            value = value[int(part)]
        else:
            value = value.get(part) if isinstance(value, Mapping) else None
    return isinstance(value, str) and re.fullmatch(r"-?\d++(?:\.\d++)?", value) is not None
