"""The n8n pack: tools, resources, prompts and health checks."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

import structlog

from dogubako._lazy import load
from dogubako.contract.credentials import Credential
from dogubako.contract.errors import ApiError
from dogubako.contract.pack import HealthCheck, Host, MissingSetting, Pack
from dogubako.contract.resources import Prompt, ResourceTemplate
from dogubako.contract.stored_tool import stored_tools
from dogubako.outbound.service_settings import plain_text_warnings
from dogubako.packs.n8n.settings import N8nSettings

if TYPE_CHECKING:
    from dogubako.packs.n8n.client import N8nClient

log = structlog.get_logger("dogubako.n8n")

# The scopes that our tools need; a key with fewer can still do what it may.
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


class N8nPack(Pack[N8nSettings, "N8nClient"]):
    """Executions and workflows of one n8n."""

    name = "n8n"
    about = "automations: build, change, run, switch on and off; why a run failed"
    everyday_words = Path(__file__).with_name("everyday_words.tsv")
    tools = stored_tools(Path(__file__).parent, lambda: load("dogubako.packs.n8n.tools").TOOLS)
    settings = N8nSettings
    max_running = 8
    multiple = True

    @cached_property
    def resource_templates(self) -> Sequence[ResourceTemplate]:  # type: ignore[override]
        templates: Sequence[ResourceTemplate] = load("dogubako.packs.n8n.resources").RESOURCE_TEMPLATES
        return templates

    @cached_property
    def prompts(self) -> Sequence[Prompt]:  # type: ignore[override]
        prompts: Sequence[Prompt] = load("dogubako.packs.n8n.resources").PROMPTS
        return prompts

    def unconfigured(self, settings: N8nSettings) -> MissingSetting | None:
        if settings.url is None:
            return MissingSetting(reason="n8n is not configured.", setting="N8N_URL")
        if settings.api_key is None and settings.needs_key:
            return MissingSetting(reason="n8n needs an API key.", setting="N8N_API_KEY")
        return None

    @asynccontextmanager
    async def connect(self, settings: N8nSettings, host: Host) -> AsyncIterator["N8nClient"]:
        for finding in plain_text_warnings("n8n", settings.address):
            log.warning(finding.message, advice=finding.advice)
        async with load("dogubako.packs.n8n.client").connect(settings, host) as client:
            yield client

    def client_as(self, client: "N8nClient", credential: Credential) -> "N8nClient":
        return client.signed_in(credential)

    async def check(self, settings: N8nSettings, client: "N8nClient") -> Sequence[HealthCheck]:
        """Check reachability, key, version and permissions."""
        findings = [*plain_text_warnings("n8n", settings.address)]
        if settings.api_key is None:
            message = f"Callers use n8n at {settings.address} with their own keys; the settings have none to check."
            return [*findings, HealthCheck(ok=True, subject="n8n", message=message)]
        try:
            await client.workflows.page(limit=1)
            scopes, version = await client.lookups.scopes(), await client.lookups.version()
        except ApiError as error:
            return [*findings, HealthCheck(ok=False, subject="n8n", message=error.message, advice=error.hint)]
        description = f"n8n {version}" if version else "n8n of an unknown version"
        findings.append(
            HealthCheck(
                ok=True, subject="n8n", message=f"{description} answers at {settings.address}, the key is valid."
            )
        )
        source = await client.nodes.source_name()
        findings.append(HealthCheck(ok=True, subject="n8n nodes", message=f"Known from: {source}."))
        missing = [scope for scope in _SCOPES if scopes is not None and scope not in scopes]
        if missing:
            advice = "Make a key with these scopes under Settings → n8n API, or live without the tools that need them."
            message = f"The API key lacks {', '.join(missing)}."
            findings.append(HealthCheck(ok=False, subject="n8n", message=message, advice=advice, severity="warning"))
        return findings


N8N = N8nPack()
