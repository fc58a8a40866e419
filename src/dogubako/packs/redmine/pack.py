"""The Redmine pack: tools, resources, prompts and health checks."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import structlog

from dogubako._lazy import load
from dogubako.contract.credentials import Credential
from dogubako.contract.errors import DogubakoError
from dogubako.contract.pack import HealthCheck, Host, MissingSetting, Pack
from dogubako.contract.resources import Prompt, ResourceTemplate
from dogubako.contract.stored_tool import stored_tools
from dogubako.outbound.service_settings import plain_text_warnings
from dogubako.packs.redmine.settings import RedmineSettings

if TYPE_CHECKING:
    from dogubako.packs.redmine.client import RedmineClient

log = structlog.get_logger("dogubako.redmine")


class RedminePack(Pack[RedmineSettings, "RedmineClient"]):
    """Projects, issues, time, people and knowledge of one Redmine."""

    name = "redmine"
    about = "tickets, projects, hours, milestones, wiki, files, people"
    everyday_words = Path(__file__).with_name("everyday_words.tsv")
    tools = stored_tools(Path(__file__).parent, lambda: load("dogubako.packs.redmine.tools").TOOLS)
    settings = RedmineSettings
    max_running = 8
    multiple = True

    @cached_property
    def resource_templates(self) -> Sequence[ResourceTemplate]:  # type: ignore[override]
        templates: Sequence[ResourceTemplate] = load("dogubako.packs.redmine.resources").RESOURCE_TEMPLATES
        return templates

    @cached_property
    def prompts(self) -> Sequence[Prompt]:  # type: ignore[override]
        prompts: Sequence[Prompt] = load("dogubako.packs.redmine.resources").PROMPTS
        return prompts

    def instructions(self, settings: RedmineSettings) -> str | None:
        return f"House rules of Redmine: {settings.rules}" if settings.rules else None

    def unconfigured(self, settings: RedmineSettings) -> MissingSetting | None:
        if settings.url is None:
            return MissingSetting(reason="Redmine is not configured.", setting="REDMINE_URL")
        if settings.api_key is None and settings.needs_key:
            return MissingSetting(reason="Redmine needs an API key.", setting="REDMINE_API_KEY")
        return None

    @asynccontextmanager
    async def connect(self, settings: RedmineSettings, host: Host) -> AsyncIterator["RedmineClient"]:
        for finding in plain_text_warnings("redmine", settings.address):
            log.warning(finding.message, advice=finding.advice)
        async with load("dogubako.packs.redmine.client").connect(settings, host) as client:
            if settings.api_key is None:
                yield client
                return
            # Checked at the start, in the background.
            knocking = asyncio.create_task(_knock(client))
            try:
                yield client
            finally:
                knocking.cancel()
                with suppress(asyncio.CancelledError):
                    await knocking

    def client_as(self, client: "RedmineClient", credential: Credential) -> "RedmineClient":
        return client.signed_in(credential)

    async def check(self, settings: RedmineSettings, client: "RedmineClient") -> Sequence[HealthCheck]:
        """Check reachability and the key, and report its user."""
        findings = [*plain_text_warnings("redmine", settings.address)]
        if settings.api_key is None:
            message = f"Callers use Redmine at {settings.address} with their own keys; the settings have none to check."
            return [*findings, HealthCheck(ok=True, subject="redmine", message=message)]
        client.service.forget_me()
        try:
            me = await client.service.me()
        except DogubakoError as error:
            return [*findings, HealthCheck(ok=False, subject="redmine", message=error.message, advice=error.hint)]
        role = "an administrator" if me.get("admin") else "no administrator"
        message = f"Redmine answers at {settings.address}, the key is that of user '{me.get('login')}', {role}."
        return [*findings, HealthCheck(ok=True, subject="redmine", message=message)]


async def _knock(client: "RedmineClient") -> None:
    try:
        await client.service.me()
    except DogubakoError as error:
        log.error("Redmine cannot be used", reason=error.message, advice=error.hint, code=error.code)


REDMINE = RedminePack()
