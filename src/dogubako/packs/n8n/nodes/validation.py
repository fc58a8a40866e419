"""Validate a workflow: everything that can be known before it is saved or run."""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from dogubako.contract.errors import ApiError
from dogubako.contract.offload import offload
from dogubako.packs.n8n.api.service import LookupsApi
from dogubako.packs.n8n.nodes.channels import TOOL_SUFFIX
from dogubako.packs.n8n.nodes.descriptions import NodeDescription, NodeSource, newest_version
from dogubako.packs.n8n.nodes.display import Values, displayed, resolve
from dogubako.packs.n8n.nodes.expressions import check_expressions
from dogubako.packs.n8n.nodes.graph import check_graph
from dogubako.packs.n8n.nodes.index import PACKAGES
from dogubako.packs.n8n.nodes.node_shape import check_node_shape
from dogubako.packs.n8n.nodes.parameters import check_parameters
from dogubako.packs.n8n.nodes.problems import Problem, is_likely_typo, near_names, near_types, parameters_of, quoted
from dogubako.packs.n8n.triggers import is_trigger_name

JsonObject = Mapping[str, Any]
Credentials = Sequence[JsonObject]
# Checks types and parameters somewhere else.
RemoteCheck = Callable[[Sequence[JsonObject]], Awaitable[Sequence[Problem]]]

# Parameters in which an HTTP node names the type of its credential.
_CREDENTIAL_CHOICES: Final = ("nodeCredentialType", "genericAuthType")
_MOST_NODES: Final = 2_000
# Problems that may come from another version than was meant.
_OF_PARAMETERS: Final = ("unknownParameter", "hiddenParameter", "unknownOption", "missingParameter")
# Types that every n8n has, for sources that do not know them all.
_CORE: Final = frozenset(
    """
    aggregate code compareDatasets convertToFile crypto dataTable dateTime editImage emailSend errorTrigger
    executeWorkflow executeWorkflowTrigger executionData extractFromFile filter form formTrigger function functionItem
    html httpRequest if limit manualTrigger markdown merge n8n noOp readWriteFile removeDuplicates renameKeys
    respondToWebhook scheduleTrigger set sort splitInBatches splitOut stickyNote stopAndError summarize switch wait
    webhook xml agent chainLlm chatTrigger
    """.split()  # noqa: SIM905 - a list of names reads best so
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Validation:
    """The problems of a workflow, and the source of the knowledge."""

    problems: Sequence[Problem]
    source: str
    nodes: int
    # Types that the source says nothing about.
    unchecked: Sequence[str] = ()

    @property
    def errors(self) -> list[Problem]:
        return [one for one in self.problems if one.certain]

    @property
    def warnings(self) -> list[Problem]:
        return [one for one in self.problems if not one.certain]

    def with_more(self, problems: Sequence[Problem]) -> "Validation":
        return replace(self, problems=[*self.problems, *problems])

    def new_since(self, before: "Validation", names_before: Mapping[str, str]) -> "Validation":
        """Only the problems that a change made: what was wrong before does not refuse a repair elsewhere."""
        old = {(one.kind, one.node, one.path) for one in before.problems}
        was = {name: names_before.get(name, name) for name in {one.node or "" for one in self.problems}}
        new = [one for one in self.problems if (one.kind, was[one.node or ""] or None, one.path) not in old]
        return replace(self, problems=new)


def _without_repeated_doubts(problems: Sequence[Problem]) -> list[Problem]:
    """A doubt adds nothing where something certain of the same kind is told of the same place."""
    told = {(one.kind, one.node, one.path) for one in problems if one.certain}
    return [one for one in problems if one.certain or (one.kind, one.node, one.path) not in told]


def same_nodes(before: JsonObject, after: JsonObject) -> dict[str, str]:
    """The names that nodes had before, by the names that they have now."""
    old = {one.get("id"): str(one.get("name")) for one in before.get("nodes") or () if isinstance(one, Mapping)}
    now = [one for one in after.get("nodes") or () if isinstance(one, Mapping) and one.get("id") is not None]
    return {str(one.get("name")): old[one["id"]] for one in now if isinstance(one["id"], str) and one["id"] in old}


class Validator:
    """Checks workflows with one source of node types and the credentials of the instance."""

    def __init__(self, source: NodeSource, lookups: LookupsApi, remote: RemoteCheck | None = None) -> None:
        self._source = source
        self._lookups = lookups
        self._remote = remote

    async def check(self, workflow: JsonObject) -> Validation:
        nodes = [one for one in workflow.get("nodes") or () if isinstance(one, Mapping)][:_MOST_NODES]
        types = dict.fromkeys(str(node.get("type")) for node in nodes)
        if self._remote is not None:
            return await self._checked_remotely(self._remote, workflow, nodes)
        known = {name: await self._source.describe(name) for name in types}
        unknown = [name for name in types if not known[name]]
        names = await self._source.names() if unknown else ()
        credentials = await self._credentials(nodes)
        work = _Work(self._source, known, names, credentials)
        problems = await offload(lambda: _without_repeated_doubts(list(work.problems(workflow, nodes))))
        unchecked = [name for name in types if not any(one.complete for one in known[name])]
        unchecked = [] if self._source.complete else unchecked
        return Validation(problems=problems, source=self._source.name, nodes=len(nodes), unchecked=unchecked)

    async def _checked_remotely(
        self, remote: RemoteCheck, workflow: JsonObject, nodes: Sequence[JsonObject]
    ) -> Validation:
        """The instance checks types and parameters; links, expressions and credentials are checked here."""
        told = await remote(nodes)
        assumed = {
            str(node.get("type")): [NodeDescription(type=str(node.get("type")), complete=False)] for node in nodes
        }
        work = _Work(self._source, assumed, (), await self._credentials(nodes))
        problems = await offload(lambda: [*told, *work.problems(workflow, nodes)])
        return Validation(problems=problems, source=self._source.name, nodes=len(nodes))

    async def _credentials(self, nodes: Sequence[JsonObject]) -> Credentials | None:
        """The credentials of the instance, if a node uses some and our key may list them."""
        if not any(node.get("credentials") for node in nodes):
            return None
        try:
            return await self._lookups.credentials()
        except ApiError as error:
            if error.status_code in (403, 404):
                return None
            raise


class _Work:
    """The checks themselves, without waiting for anything."""

    def __init__(
        self,
        source: NodeSource,
        known: Mapping[str, Sequence[NodeDescription]],
        names: Sequence[str],
        credentials: Credentials | None,
    ) -> None:
        self._source = source
        self._known = known
        self._names = names
        self._credentials = None if credentials is None else {str(one.get("id")): one for one in credentials}

    def problems(self, workflow: JsonObject, nodes: Sequence[JsonObject]) -> Iterator[Problem]:
        yield from check_graph(workflow, nodes, self._is_trigger, self._described)
        names = {str(node.get("name")) for node in nodes}
        for node in nodes:
            name = str(node.get("name"))
            for problem in self._node(node, names):
                yield problem.of(name)

    def _described(self, node: JsonObject) -> NodeDescription | None:
        """The description of the node in its version."""
        version = node.get("typeVersion", 1)
        fitting = (one for one in self._known.get(str(node.get("type"))) or () if version in one.versions)
        return next(fitting, None)

    def _is_trigger(self, node: JsonObject) -> bool:
        node_type = str(node.get("type"))
        descriptions = self._known.get(node_type) or ()
        return any(one.trigger for one in descriptions) or is_trigger_name(node_type)

    def _node(self, node: JsonObject, names: set[str]) -> Iterator[Problem]:
        description = None
        yield from check_node_shape(node)
        for finding in self._type_and_version(node):
            if isinstance(finding, Problem):
                yield finding if self._source.certain else finding.doubtful()
            else:
                description = finding
        if description is not None and description.complete:
            for problem in self._parameters(node, description):
                told = problem if "typeVersion" in node else self._of_first_version(problem, str(node.get("type")))
                yield told if self._source.certain else told.doubtful()
        editors = {one.name for one in description.properties if one.editor} if description is not None else set()
        yield from check_expressions(node, names, editors)
        yield from self._used_credentials(node, description)

    def _of_first_version(self, problem: Problem, node_type: str) -> Problem:
        """A problem of parameters, with the version that n8n takes where none is given."""
        newest = newest_version(self._known[node_type])
        if problem.kind not in _OF_PARAMETERS or newest is None or newest <= 1:
            return problem
        advice = f" The node has no typeVersion, so n8n takes version 1; the newest is {newest:g}."
        return replace(problem, message=problem.message + advice)

    def _type_and_version(self, node: JsonObject) -> Iterator[Problem | NodeDescription]:
        node_type, version = str(node.get("type")), node.get("typeVersion", 1)
        descriptions = self._known.get(node_type) or ()
        if not descriptions:
            yield from self._unknown_type(node_type)
            return
        if not isinstance(version, int | float):
            yield Problem(kind="unknownVersion", path="typeVersion", message="'typeVersion' has to be a number.")
            return
        fitting = [one for one in descriptions if version in one.versions or not one.versions]
        if fitting:
            yield fitting[0]
        elif all(one.versions for one in descriptions) and self._source.complete:
            versions = sorted({one for description in descriptions for one in description.versions})
            listed = ", ".join(f"{one:g}" for one in versions)
            message = f"{node_type} has no version {version:g}. There are: {listed}."
            # n8n takes any version of a type that has only one description.
            certain = len(descriptions) > 1 or descriptions[0].only_these_versions
            yield Problem(kind="unknownVersion", path="typeVersion", message=message, certain=certain)

    def _unknown_type(self, node_type: str) -> Iterator[Problem]:
        package, _, short = node_type.rpartition(".")
        near = near_types(node_type, self._names)
        own = package in PACKAGES
        if not package or not short:
            message = f"{quoted(node_type)} is no node type: it has to be like n8n-nodes-base.set."
            yield Problem(kind="unknownType", path="type", message=message, near=near)
        elif self._source.complete and node_type.removesuffix(TOOL_SUFFIX) in self._names:
            message = f"n8n cannot use {node_type.removesuffix(TOOL_SUFFIX)} as a tool, and does not publish it."
            yield Problem(kind="unknownType", path="type", message=message)
        elif self._source.complete:
            doubt = "" if own else " It may belong to a community package, which this source does not know."
            message = f"There is no node type {quoted(node_type)}.{doubt}"
            yield Problem(kind="unknownType", path="type", message=message, near=near, certain=own)
        elif short not in _CORE or not own:
            message = f"No node that was read has the type {quoted(node_type)}; whether it exists is not known."
            likely = near if near and is_likely_typo(node_type, near[0]) else ()
            yield Problem(kind="unknownType", path="type", message=message, near=likely, certain=False)

    def _parameters(self, node: JsonObject, description: NodeDescription) -> Iterator[Problem]:
        parameters = parameters_of(node)
        tool = description.type.endswith(TOOL_SUFFIX)
        version, disabled = float(node.get("typeVersion", 1)), bool(node.get("disabled"))
        yield from check_parameters(description, version, parameters, tool=tool, disabled=disabled)
        yield from _missing_credential(node, description, version, tool=tool)

    def _used_credentials(self, node: JsonObject, description: NodeDescription | None) -> Iterator[Problem]:
        used = node.get("credentials")
        for kind, reference in (used if isinstance(used, Mapping) else {}).items():
            path = f"credentials.{kind}"
            credential_id = reference.get("id") if isinstance(reference, Mapping) else None
            if self._credentials is not None and credential_id is not None:
                found = self._existing(str(kind), str(credential_id), path)
                # n8n publishes a node that is switched off without its credential.
                yield from (one.doubtful() if node.get("disabled") else one for one in found)
            if description is not None and description.complete and not _takes(description, node, str(kind)):
                allowed = ", ".join(one.name for one in description.credentials) or "none"
                message = (
                    f"{description.type} does not use credentials of type {quoted(str(kind))}. It uses: {allowed}."
                )
                near = near_names(str(kind), (one.name for one in description.credentials))
                yield Problem(kind="wrongCredential", path=path, message=message, near=near, certain=False)

    def _existing(self, kind: str, credential_id: str, path: str) -> Iterator[Problem]:
        assert self._credentials is not None
        found = self._credentials.get(credential_id)
        fitting = [str(one.get("id")) for one in self._credentials.values() if one.get("type") == kind]
        if found is None:
            message = f"There is no credential with the id of {quoted(path)}. list_credentials has the ids."
            yield Problem(kind="unknownCredential", path=path, message=message, near=tuple(fitting[:3]))
        elif found.get("type") != kind:
            message = f"The credential of {quoted(path)} has the type {quoted(str(found.get('type')))}."
            yield Problem(kind="wrongCredential", path=path, message=message, near=tuple(fitting[:3]))


def _takes(description: NodeDescription, node: JsonObject, kind: str) -> bool:
    """Whether a node can use a type of credential; HTTP nodes name it in a parameter."""
    parameters = node.get("parameters")
    chosen = [parameters.get(key) for key in _CREDENTIAL_CHOICES] if isinstance(parameters, Mapping) else []
    open_choice = any(one.name in _CREDENTIAL_CHOICES for one in description.properties)
    return open_choice or kind in chosen or any(one.name == kind for one in description.credentials)


def _missing_credential(
    node: JsonObject, description: NodeDescription, version: float, *, tool: bool
) -> Iterator[Problem]:
    """A required credential that is shown and not set: n8n refuses to publish. People often add it later."""
    used, parameters = node.get("credentials"), parameters_of(node)
    if node.get("disabled") or not description.credentials:
        return
    values = resolve(description.properties, parameters, Values(here={}, version=version, tool=tool), defaults=True)
    needed = [one.name for one in description.credentials if one.required and displayed(one, values) is True]
    if needed and not any(name in (used or {}) for name in needed):
        message = f"The node needs a credential of type {' or '.join(needed)}."
        yield Problem(kind="missingCredential", path="credentials", message=message, certain=False)
