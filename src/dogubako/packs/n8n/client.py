"""`N8nClient`: one object for all parts of n8n's API."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Final
from weakref import WeakValueDictionary

import anyio

from dogubako.contract.credentials import Credential
from dogubako.contract.errors import BusyError
from dogubako.contract.offload import offload_if_large
from dogubako.contract.pack import Host
from dogubako.contract.storage import SharedStore
from dogubako.outbound.allowed_folders import OpenFolders, wrong_path
from dogubako.outbound.bounds import MEGABYTE
from dogubako.outbound.http import connected
from dogubako.outbound.json_answers import decode_json
from dogubako.packs.n8n.api.administration import AdministrationApi
from dogubako.packs.n8n.api.executions import ExecutionsApi, WebhooksApi
from dogubako.packs.n8n.api.mcp_endpoint import McpEndpoint
from dogubako.packs.n8n.api.service import LookupsApi, N8nService
from dogubako.packs.n8n.api.workflows import LARGEST_WORKFLOW, WorkflowsApi
from dogubako.packs.n8n.backups import Backups, SharedBackups
from dogubako.packs.n8n.nodes.mcp_source import McpNodes
from dogubako.packs.n8n.nodes.seen import SeenNodes
from dogubako.packs.n8n.nodes.sources import InstalledNodeTypes, NodeKnowledge
from dogubako.packs.n8n.settings import N8nSettings, WebhookLogin

# As large a workflow as n8n may answer with. A file is decoded at once, and that holds the interpreter.
_LARGEST: Final = replace(LARGEST_WORKFLOW, most_bytes=10 * MEGABYTE)


class WorkflowFiles:
    """Reads exported workflows."""

    def __init__(self, folders: OpenFolders) -> None:
        self._folders = folders

    async def read(self, path: str) -> dict[str, Any]:
        """The JSON object in the file, or a ValidationError with the reason."""
        body = await self._folders.read(path, _LARGEST.most_bytes)
        workflow = await offload_if_large(body, _decoded, body)
        if not isinstance(workflow, dict) or not isinstance(workflow.get("nodes"), list):
            raise wrong_path("the file holds no workflow: it has no nodes")
        for part in ("connections", "settings"):
            if not isinstance(workflow.get(part), dict | None):
                raise wrong_path(f"the file holds no workflow: its {part} are no object")
        return workflow


def _decoded(body: bytes) -> Any:
    if (exceeded := _LARGEST.exceeded_by(body)) is not None:
        raise wrong_path(f"the file has more than {exceeded}")
    try:
        return decode_json(body)
    except ValueError as error:
        raise wrong_path("the file is not valid JSON") from error


_LOCK_SECONDS: Final = 20.0
# Of the whole process: several clients may work with one instance. A lock lives while somebody holds or awaits it.
_LOCKS: Final[WeakValueDictionary[tuple[str, str], anyio.Lock]] = WeakValueDictionary()


class WorkflowLocks:
    """One lock per workflow of one instance, within this process and in all that share a store with it."""

    def __init__(self, instance: str, shared: SharedStore | None = None) -> None:
        self._instance = instance
        self._shared = shared

    @asynccontextmanager
    async def hold(self, workflow_id: str) -> AsyncIterator[None]:
        """Keep other writers away while the workflow is read, changed and written."""
        lock = _LOCKS.setdefault((self._instance, workflow_id), anyio.Lock())
        try:
            with anyio.fail_after(_LOCK_SECONDS):
                await lock.acquire()
        except TimeoutError as error:
            message = "The workflow is being changed by other calls"
            raise BusyError(message, hint="Try again in a few seconds.", retry_after=5) from error
        try:
            if self._shared is None:
                yield
                return
            async with self._shared.lock(f"n8n {self._instance} {workflow_id}", wait=_LOCK_SECONDS):
                yield
        finally:
            lock.release()


@dataclass(frozen=True, kw_only=True, slots=True)
class N8nClient:
    """The parts of n8n's API that tools use."""

    address: str
    executions: ExecutionsApi
    workflows: WorkflowsApi
    lookups: LookupsApi
    administration: AdministrationApi
    webhooks: WebhooksApi
    backups: Backups
    locks: WorkflowLocks
    files: WorkflowFiles
    nodes: NodeKnowledge
    # The client of a caller that signs in with a credential of its own.
    signed_in: Callable[[Credential], "N8nClient"]
    # n8n's own MCP server, where there is a token for it. The token belongs to the settings, not to callers.
    mcp: McpEndpoint | None = None
    webhook_logins: Mapping[str, WebhookLogin] = field(default_factory=dict)


@asynccontextmanager
async def connect(settings: N8nSettings, host: Host) -> AsyncIterator[N8nClient]:
    """Open a client while the server runs."""
    url, token = settings.address, settings.mcp_token
    async with connected("n8n", url, ca_bundle=settings.ca_bundle, transport=host.transport) as http:
        # Shared by all callers: they edit the same workflows.
        locks = WorkflowLocks(url, host.shared)
        shared_mcp = McpEndpoint(http, token.get_secret_value()) if token is not None else None
        node_types = InstalledNodeTypes(host.data_dir, settings.node_types)

        def signed_in(credential: Credential, owner: str = "") -> N8nClient:
            """Cached executions and backups belong to the owner of the credential; those of the settings to all."""
            service = N8nService(http, credential.key, own=bool(owner))
            executions = ExecutionsApi(service, host.cache, f"{url} {credential.key}")
            workflows, lookups, administration = WorkflowsApi(service), LookupsApi(service), AdministrationApi(service)
            mcp = None if owner else shared_mcp
            seen = SeenNodes(workflows, executions)
            instance = f"{url} {owner}".strip()
            shared_backups = SharedBackups(host.shared, instance, settings.backup_days) if host.shared else None
            return N8nClient(
                address=url,
                executions=executions,
                workflows=workflows,
                lookups=lookups,
                administration=administration,
                webhooks=WebhooksApi(service),
                backups=Backups(host.data_dir, instance, shared_backups),
                locks=locks,
                files=WorkflowFiles(OpenFolders(host.files)),
                nodes=NodeKnowledge(
                    lookups, workflows, administration, seen, McpNodes(mcp) if mcp else None, node_types
                ),
                signed_in=lambda other: signed_in(other, other.fingerprint),
                mcp=mcp,
                webhook_logins={} if owner else settings.webhook_logins,
            )

        yield signed_in(Credential(key=settings.key))
