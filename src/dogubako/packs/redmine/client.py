"""Redmine as our tools see it: what they read, write, look up and answer with."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from dogubako.contract.pack import Host
from dogubako.outbound.folders import OpenFolders
from dogubako.outbound.http import connected
from dogubako.packs.redmine.access import Access
from dogubako.packs.redmine.api.records import RecordsApi
from dogubako.packs.redmine.api.service import RedmineService
from dogubako.packs.redmine.formatters.answers import Answers
from dogubako.packs.redmine.lookups import Lookups
from dogubako.packs.redmine.names.names import Names
from dogubako.packs.redmine.settings import RedmineSettings
from dogubako.packs.redmine.writing import Writing


@dataclass(frozen=True, kw_only=True, slots=True)
class RedmineClient:
    """Everything that a tool of this pack may use."""

    service: RedmineService
    records: RecordsApi
    lookups: Lookups
    names: Names
    access: Access
    writing: Writing
    answers: Answers
    folders: OpenFolders


@asynccontextmanager
async def connect(settings: RedmineSettings, host: Host) -> AsyncIterator[RedmineClient]:
    """A client for as long as the server runs."""
    ca_bundle = settings.ca_bundle
    async with connected("Redmine", settings.address, ca_bundle=ca_bundle, transport=host.transport) as http:
        service = RedmineService(http, settings.key)
        lookups = Lookups(service)
        access = Access(service, lookups)
        yield RedmineClient(
            service=service,
            records=RecordsApi(service),
            lookups=lookups,
            names=Names(service, lookups),
            access=access,
            writing=Writing(service, lookups, access),
            answers=Answers(settings.format),
            folders=OpenFolders(host.files),
        )
