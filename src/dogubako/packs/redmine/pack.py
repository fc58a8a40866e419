"""Front door of the Redmine pack."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress

import structlog

from dogubako.contract.errors import DogubakoError
from dogubako.contract.pack import Finding, Host, Pack, Unconfigured
from dogubako.outbound.address import plain_text_warnings
from dogubako.packs.redmine.client import RedmineClient, connect
from dogubako.packs.redmine.prompts import PROMPTS
from dogubako.packs.redmine.resources import RESOURCE_TEMPLATES
from dogubako.packs.redmine.settings import RedmineSettings
from dogubako.packs.redmine.tools import TOOLS

log = structlog.get_logger("dogubako.redmine")


class RedminePack(Pack[RedmineSettings, RedmineClient]):
    """Projects, issues, time, people and knowledge of one Redmine."""

    name = "redmine"
    tools = TOOLS
    settings = RedmineSettings
    resource_templates = RESOURCE_TEMPLATES
    prompts = PROMPTS
    max_running = 8

    def unconfigured(self, settings: RedmineSettings) -> Unconfigured | None:
        if settings.url is None:
            return Unconfigured(reason="Redmine is not configured.", setting="REDMINE_URL")
        if settings.api_key is None:
            return Unconfigured(reason="Redmine needs an API key.", setting="REDMINE_API_KEY")
        return None

    @asynccontextmanager
    async def connect(self, settings: RedmineSettings, host: Host) -> AsyncIterator[RedmineClient]:
        for finding in plain_text_warnings("redmine", settings.address):
            log.warning(finding.message, advice=finding.advice)
        async with connect(settings, host) as client:
            # Found out at the start, but nobody has to wait for it.
            knocking = asyncio.create_task(_knock(client))
            try:
                yield client
            finally:
                knocking.cancel()
                with suppress(asyncio.CancelledError):
                    await knocking

    async def check(self, settings: RedmineSettings, client: RedmineClient) -> Sequence[Finding]:
        """Is it there, is the key somebody's, and whose?"""
        findings = [*plain_text_warnings("redmine", settings.address)]
        client.service.forget_me()
        try:
            me = await client.service.me()
        except DogubakoError as error:
            return [*findings, Finding(ok=False, subject="redmine", message=error.message, advice=error.hint)]
        role = "an administrator" if me.get("admin") else "no administrator"
        message = f"Redmine answers at {settings.address}, the key is that of user '{me.get('login')}', {role}."
        return [*findings, Finding(ok=True, subject="redmine", message=message)]


async def _knock(client: RedmineClient) -> None:
    try:
        await client.service.me()
    except DogubakoError as error:
        log.error("Redmine cannot be used", reason=error.message, advice=error.hint, code=error.code)


REDMINE = RedminePack()
