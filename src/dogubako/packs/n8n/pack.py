"""Front door of the n8n pack."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Final

import structlog

from dogubako.contract.errors import ApiError
from dogubako.contract.pack import Finding, Host, Pack, Unconfigured
from dogubako.outbound.address import plain_text_warnings
from dogubako.packs.n8n.client import N8nClient, connect
from dogubako.packs.n8n.resources import PROMPTS, RESOURCE_TEMPLATES
from dogubako.packs.n8n.settings import N8nSettings
from dogubako.packs.n8n.tools import TOOLS

log = structlog.get_logger("dogubako.n8n")

# What our tools cannot do without; a key with less still reads or writes what it may.
_SCOPES: Final = (
    "workflow:list",
    "workflow:read",
    "workflow:update",
    "workflow:activate",
    "execution:list",
    "execution:read",
    "execution:retry",
    "tag:list",
    "credential:list",
)


class N8nPack(Pack[N8nSettings, N8nClient]):
    """Executions and workflows of one n8n."""

    name = "n8n"
    tools = TOOLS
    settings = N8nSettings
    resource_templates = RESOURCE_TEMPLATES
    prompts = PROMPTS
    max_running = 8

    def unconfigured(self, settings: N8nSettings) -> Unconfigured | None:
        if settings.url is None:
            return Unconfigured(reason="n8n is not configured.", setting="N8N_URL")
        if settings.api_key is None:
            return Unconfigured(reason="n8n needs an API key.", setting="N8N_API_KEY")
        return None

    @asynccontextmanager
    async def connect(self, settings: N8nSettings, host: Host) -> AsyncIterator[N8nClient]:
        for finding in plain_text_warnings("n8n", settings.address):
            log.warning(finding.message, advice=finding.advice)
        async with connect(settings, host) as client:
            yield client

    async def check(self, settings: N8nSettings, client: N8nClient) -> Sequence[Finding]:
        """Is it there, is the key good, which version is it, and what may we do?"""
        findings = [*plain_text_warnings("n8n", settings.address)]
        try:
            await client.workflows.page(limit=1)
            scopes, version = await client.lookups.scopes(), await client.lookups.version()
        except ApiError as error:
            return [*findings, Finding(ok=False, subject="n8n", message=error.message, advice=error.hint)]
        told = f"n8n {version}" if version else "n8n of an unknown version"
        findings.append(
            Finding(ok=True, subject="n8n", message=f"{told} answers at {settings.address}, the key is valid.")
        )
        missing = [scope for scope in _SCOPES if scopes is not None and scope not in scopes]
        if missing:
            advice = "Make a key with these scopes under Settings → n8n API, or live without the tools that need them."
            message = f"The API key lacks {', '.join(missing)}."
            findings.append(Finding(ok=False, subject="n8n", message=message, advice=advice, severity="warning"))
        return findings


N8N = N8nPack()
