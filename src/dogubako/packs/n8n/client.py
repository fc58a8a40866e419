"""The service as our tools see it: one part per topic."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from dogubako.contract.pack import Host
from dogubako.outbound.folders import OpenFolders
from dogubako.outbound.http import connected
from dogubako.packs.n8n.api.executions import ExecutionsApi
from dogubako.packs.n8n.api.lookups import LookupsApi
from dogubako.packs.n8n.api.service import N8nService
from dogubako.packs.n8n.api.webhooks import WebhooksApi
from dogubako.packs.n8n.api.workflows import WorkflowsApi
from dogubako.packs.n8n.backups import Backups
from dogubako.packs.n8n.folders import WorkflowFiles
from dogubako.packs.n8n.settings import N8nSettings


@dataclass(frozen=True, kw_only=True, slots=True)
class N8nClient:
    """Everything that a tool of this pack may use."""

    executions: ExecutionsApi
    workflows: WorkflowsApi
    lookups: LookupsApi
    webhooks: WebhooksApi
    backups: Backups
    files: WorkflowFiles


@asynccontextmanager
async def connect(settings: N8nSettings, host: Host) -> AsyncIterator[N8nClient]:
    """A client for as long as the server runs."""
    url, key = settings.address, settings.key
    async with connected("n8n", url, ca_bundle=settings.ca_bundle, transport=host.transport) as http:
        service = N8nService(http, key)
        yield N8nClient(
            executions=ExecutionsApi(service, host.cache, f"{url} {key}"),
            workflows=WorkflowsApi(service),
            lookups=LookupsApi(service),
            webhooks=WebhooksApi(service),
            backups=Backups(host.data_dir, url),
            files=WorkflowFiles(OpenFolders(host.files)),
        )
