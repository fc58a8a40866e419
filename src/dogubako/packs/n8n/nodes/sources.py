"""Choose the best available source of node types."""

import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, TypeVar

import anyio
import structlog

from dogubako.contract.errors import ApiError
from dogubako.contract.offload import offload
from dogubako.packs.n8n.api.administration import AdministrationApi
from dogubako.packs.n8n.api.service import LookupsApi
from dogubako.packs.n8n.api.workflows import WorkflowsApi
from dogubako.packs.n8n.nodes.channels import TOOL, TOOL_SUFFIX
from dogubako.packs.n8n.nodes.descriptions import (
    Choice,
    Match,
    NewVersions,
    NodeDescription,
    NodeSource,
    Property,
    newest_version,
)
from dogubako.packs.n8n.nodes.index import (
    PACKAGES,
    NodeIndex,
    NoNodeTypes,
    downloaded_index,
    index_of,
    installed_packages,
)
from dogubako.packs.n8n.nodes.mcp_source import McpNodes
from dogubako.packs.n8n.nodes.problems import Problem
from dogubako.packs.n8n.nodes.ranking import best, ranked
from dogubako.packs.n8n.nodes.seen import SeenNodes
from dogubako.packs.n8n.nodes.subworkflows import called_ids, check_called
from dogubako.packs.n8n.nodes.tables import check_tables, named_tables
from dogubako.packs.n8n.nodes.validation import Validation, Validator, same_nodes

log = structlog.get_logger("dogubako.n8n")

_APPROVAL_TOOL: Final = "HitlTool"
ResultT = TypeVar("ResultT")
_LOOK_AGAIN_SECONDS: Final = 60.0
_MOST_COMMUNITY: Final = 50
_AND_MORE: Final = ", and community nodes from n8n's own MCP endpoint"
_DOWNLOAD: Final = "the command dogubako n8n-nodes download."


class IndexedNodes:
    """Node types from the user's own installation, or from the download command."""

    complete = True

    def __init__(self, index: NodeIndex, origin: str, version: str, instance: str | None) -> None:
        self._index = index
        self.certain = instance in (None, version) or not version
        self.name = f"node types of n8n {version or 'of an unknown version'} ({origin})"
        if not self.certain:
            self.name += f"; the instance runs {instance}, so the findings are only warnings"

    async def search(self, query: str, limit: int) -> Sequence[Match]:
        return await offload(lambda: ranked(self._index.summaries(), query, limit))

    async def packages(self) -> Sequence[str]:
        return await offload(self._index.packages)

    async def names(self) -> Sequence[str]:
        return [one.type for one in await offload(self._index.summaries)]

    async def describe(self, node_type: str) -> Sequence[NodeDescription]:
        return await offload(self._describe, node_type)

    def _describe(self, node_type: str) -> Sequence[NodeDescription]:
        if found := self._index.descriptions(node_type):
            return found
        if node_type.endswith(_APPROVAL_TOOL):
            return [_approval_tool(one, node_type) for one in self._base(node_type, _APPROVAL_TOOL)]
        if node_type.endswith(TOOL_SUFFIX):
            base = self._base(node_type, TOOL_SUFFIX)
            tools = [_as_tool(one, node_type) for one in base if one.usable_as_tool]
            for one in tools:
                one.only_these_versions = len(base) > 1
            return tools
        return ()

    def _base(self, node_type: str, suffix: str) -> Sequence[NodeDescription]:
        return self._index.descriptions(node_type.removesuffix(suffix))


class InstalledNodeTypes:
    """Finds the node types on this machine when they are needed, once for all callers."""

    def __init__(self, folder: Path, node_types: Path | None) -> None:
        self._folder = folder / "n8n-nodes"
        self._node_types = node_types
        self._lock = anyio.Lock()
        self._indexed: IndexedNodes | None = None
        self._look_again = 0.0

    @property
    def advice(self) -> str:
        """How an operator makes node types known, where none were found."""
        if self._node_types is None:
            return f"An operator can give a better source: N8N_NODE_TYPES (an installation of n8n), or {_DOWNLOAD}"
        return (
            "N8N_NODE_TYPES is set, and no node types can be read in that folder: it has to be the folder of an "
            f"installation of n8n, on this machine. Another way is {_DOWNLOAD}"
        )

    async def get(self, lookups: LookupsApi) -> IndexedNodes | None:
        """The node types of the version that the instance runs, if there are any."""
        async with self._lock:
            if self._indexed is None and time.monotonic() >= self._look_again:
                # Somebody may download them while we run.
                self._look_again = time.monotonic() + _LOOK_AGAIN_SECONDS
                self._indexed = await offload(self._find, await lookups.version())
            return self._indexed

    def _find(self, instance: str | None) -> IndexedNodes | None:
        """The index of the operator's folder, else the downloaded one of the instance's version."""
        try:
            if self._node_types is not None:
                packages = installed_packages(self._node_types)
                if packages:
                    index = index_of(packages, self._folder)
                    return IndexedNodes(index, packages[0].origin, index.version(), instance)
                log.warning("No node types in N8N_NODE_TYPES", advice="Name the folder of an n8n installation.")
            if instance is not None and (path := downloaded_index(self._folder, instance)) is not None:
                index = NodeIndex(path)
                return IndexedNodes(index, "downloaded", index.version(), index.version())
        except (NoNodeTypes, OSError) as error:
            log.warning("The node types cannot be read", reason=str(error)[:200])
        return None


class NodeKnowledge:
    """Chooses the best source for each question."""

    def __init__(
        self,
        lookups: LookupsApi,
        workflows: WorkflowsApi,
        administration: AdministrationApi,
        seen: SeenNodes,
        mcp: McpNodes | None,
        installed: InstalledNodeTypes,
    ) -> None:
        self._lookups = lookups
        self._workflows = workflows
        self._administration = administration
        self._seen = seen
        self._mcp = mcp
        self._mcp_again = 0.0
        self._installed = installed

    async def ask(self, work: Callable[[NodeSource], Awaitable[ResultT]]) -> ResultT:
        """Do something with the best source: the instance itself if we have a token, node types, or what was seen."""
        if (mcp := self._mcp_if_well()) is not None:
            try:
                return await work(mcp)
            except ApiError as error:
                self._blame(error)
        return await work(await self._installed.get(self._lookups) or self._seen)

    async def ask_about(self, types: Sequence[str], work: Callable[[NodeSource], Awaitable[ResultT]]) -> ResultT:
        """Ask about one type, which may have several names. Node types of the instance's version know the most.

        The instance itself answers for what they do not know, such as nodes of community packages.
        """
        indexed = await self._installed.get(self._lookups)
        if indexed is not None and indexed.certain and any([await indexed.describe(one) for one in types]):
            return await work(indexed)
        return await self.ask(work)

    async def search(self, query: str, limit: int) -> "Found":
        """The node types that fit a wish. Those of the instance's version come with its community nodes."""
        indexed = await self._installed.get(self._lookups)
        if indexed is None or not indexed.certain:
            return await self.ask(lambda source: _found_in(source, query, limit))
        found = await _found_in(indexed, query, limit)
        if (mcp := self._mcp_if_well()) is not None:
            try:
                known = set(await indexed.packages())
                more = [one for one in await mcp.search(query, _MOST_COMMUNITY) if _package(one) not in known]
            except ApiError as error:
                self._blame(error)
            else:
                return replace(found, matches=best([*found.matches, *more], limit), source=f"{found.source}{_AND_MORE}")
        return found

    @property
    def better_source(self) -> str:
        return self._installed.advice

    async def source_name(self) -> str:
        """The words by which answers name the best source."""

        async def name_of(source: NodeSource) -> str:
            if source is not self._seen:
                await source.search("set", 1)
            return source.name

        return await self.ask(name_of)

    async def validate(self, workflow: Mapping[str, Any]) -> Validation:
        """Check a workflow. Node types find more than the instance's own check, so they come first here."""
        named = await self._check_named(workflow, {})
        return (await self._validated(workflow)).with_more(named)

    async def _check_named(self, workflow: Mapping[str, Any], before: Mapping[str, Any]) -> list[Problem]:
        """What nodes name and the instance does not have: other workflows, and data tables. Old names are left out."""
        return [
            *await check_called(workflow, self._workflows, called_ids(before)),
            *await check_tables(workflow, self._administration, named_tables(before)),
        ]

    async def _validated(self, workflow: Mapping[str, Any]) -> Validation:
        indexed = await self._installed.get(self._lookups)
        if indexed is None and (mcp := self._mcp_if_well()) is not None:
            try:
                return await Validator(mcp, self._lookups, mcp.check).check(workflow)
            except ApiError as error:
                self._blame(error)
        return await Validator(indexed or self._seen, self._lookups).check(workflow)

    async def validate_change(self, before: Mapping[str, Any], after: Mapping[str, Any]) -> Validation | None:
        """The problems that a change makes; None if they cannot be found out now. A write asks n8n for little."""
        indexed = await self._installed.get(self._lookups)
        mcp = self._mcp_if_well() if indexed is None else None
        validator = Validator(indexed or mcp or NO_SOURCE, self._lookups, mcp.check if mcp is not None else None)
        try:
            found = await validator.check(after)
            old = await validator.check(before) if found.problems and before else None
            named = await self._check_named(after, before)
        except ApiError as error:
            log.warning("A workflow was not validated before it was written", reason=error.message)
            return None
        new = found if old is None else found.new_since(old, same_nodes(before, after))
        return new.with_more(named)

    async def versions_for_new(self, types: Collection[str]) -> NewVersions:
        """The versions in which new nodes of these types should be made."""
        indexed = await self._installed.get(self._lookups) if types else None
        described = {} if indexed is None else await _newest(indexed, types)
        sure = indexed is not None and indexed.certain
        told = dict(described) if sure else {}
        missing = {kind for kind in types if sure and kind not in told and kind.rpartition(".")[0] in PACKAGES}
        left = set(types) - set(told) - missing
        if left and (mcp := self._mcp_if_well()) is not None:
            try:
                asked, gone = await mcp.newest_versions(sorted(left))
                told, missing = told | asked, missing | gone
            except ApiError as error:
                self._blame(error)
        try:
            used = await _newest(self._seen, left - set(told) - missing)
        except ApiError:
            # The key may read single workflows only.
            used = {}
        return NewVersions(instance=told, used=used, other=described, missing=missing)

    def _mcp_if_well(self) -> McpNodes | None:
        return self._mcp if time.monotonic() >= self._mcp_again else None

    def _blame(self, error: ApiError) -> None:
        """Leave the MCP endpoint alone for a while: the other sources still answer."""
        log.warning("n8n's MCP endpoint failed", reason=error.message, advice=error.hint)
        self._mcp_again = time.monotonic() + _LOOK_AGAIN_SECONDS


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """What a search found, and the source of the knowledge."""

    matches: Sequence[Match]
    source: str
    complete: bool


async def _found_in(source: NodeSource, query: str, limit: int) -> Found:
    matches = await source.search(query, limit)
    return Found(matches=matches, source=source.name, complete=source.complete)


def _package(match: Match) -> str:
    return match.summary.type.rpartition(".")[0]


async def _newest(source: NodeSource, types: Iterable[str]) -> dict[str, float]:
    found = {kind: newest_version(await source.describe(kind)) for kind in types}
    return {kind: version for kind, version in found.items() if version is not None}


class _NoSource:
    """Knows no node types: links, expressions and credentials can still be checked."""

    name = "no node types"
    complete = False
    certain = False

    async def search(self, query: str, limit: int) -> Sequence[Match]:
        return ()

    async def names(self) -> Sequence[str]:
        return ()

    async def describe(self, node_type: str) -> Sequence[NodeDescription]:
        return ()


NO_SOURCE: Final = _NoSource()

_DESCRIPTION_KIND: Final = Property(
    name="descriptionType", type="options", default="auto", choices=[Choice(value="auto"), Choice(value="manual")]
)


def _as_tool(base: NodeDescription, node_type: str) -> NodeDescription:
    """The variant for agents that n8n makes of nodes: it has a description for the model besides."""
    chosen = any(one.name in ("resource", "operation") for one in base.properties)
    told = Property(
        name="toolDescription",
        description="What the tool does, for the language model.",
        default=base.description,
        required=True,
        show={"descriptionType": ["manual"]} if chosen else None,
    )
    own = any(one.name == told.name for one in base.properties)
    return NodeDescription(
        type=node_type,
        title=f"{base.title} Tool",
        description=base.description,
        versions=base.versions,
        default_version=base.default_version,
        inputs=[],
        outputs=[TOOL],
        credentials=base.credentials,
        properties=[*(() if own else (_DESCRIPTION_KIND, told)), *base.properties],
    )


def _approval_tool(base: NodeDescription, node_type: str) -> NodeDescription:
    """The variant that asks a person: n8n makes its parameters at run time, so they are not checked."""
    tool = _as_tool(base, node_type)
    tool.complete = False
    return tool
