"""`RedmineClient`: everything that the tools of this pack use."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import anyio

from dogubako.contract.credentials import Credential
from dogubako.contract.pack import Host
from dogubako.outbound.allowed_folders import OpenFolders
from dogubako.outbound.documents.parser import DocumentParser, document_workers
from dogubako.outbound.http import connected
from dogubako.packs.redmine.answers import Answers
from dogubako.packs.redmine.api import RecordsApi, RedmineService
from dogubako.packs.redmine.charts.rendering import ChartArtist, chart_workers
from dogubako.packs.redmine.lookups import Lookups
from dogubako.packs.redmine.names.names import Names
from dogubako.packs.redmine.permissions import Access
from dogubako.packs.redmine.preflight import Preflight
from dogubako.packs.redmine.previews import Previews
from dogubako.packs.redmine.settings import RedmineSettings
from dogubako.packs.redmine.writes import Writing


@dataclass(frozen=True, kw_only=True, slots=True)
class RedmineClient:
    """The parts of Redmine's API that tools use."""

    service: RedmineService
    records: RecordsApi
    lookups: Lookups
    names: Names
    access: Access
    writing: Writing
    preflight: Preflight
    answers: Answers
    # House rules of this Redmine, from the settings.
    rules: str
    previews: Previews
    # One bulk change at a time, whoever asks for it: two of them would overwrite each other's issues.
    bulk: anyio.Lock
    folders: OpenFolders
    documents: DocumentParser
    artist: ChartArtist
    # The client of a caller that signs in with a credential of its own.
    signed_in: Callable[[Credential], "RedmineClient"]


@asynccontextmanager
async def connect(settings: RedmineSettings, host: Host) -> AsyncIterator[RedmineClient]:
    """Open a client while the server runs."""
    ca_bundle = settings.ca_bundle
    async with (
        connected("Redmine", settings.address, ca_bundle=ca_bundle, transport=host.transport) as http,
        document_workers() as workers,
        chart_workers() as drawing,
    ):
        documents, artist, bulk = DocumentParser(workers), ChartArtist(drawing), anyio.Lock()

        def signed_in(credential: Credential) -> RedmineClient:
            """Lists and the user are cached in the client, so each credential has a client of its own."""
            own = credential.key not in ("", settings.key)
            service = RedmineService(http, credential.key or settings.key, login=credential.login, own=own)
            lookups = Lookups(service)
            access = Access(service, lookups)
            records, names = RecordsApi(service), Names(service, lookups)
            return RedmineClient(
                service=service,
                records=records,
                lookups=lookups,
                names=names,
                access=access,
                writing=Writing(service, lookups, access),
                preflight=Preflight(records, lookups, names, access),
                answers=Answers(settings.format),
                rules=settings.rules or "",
                previews=Previews(host.data_dir, f"{settings.address} {credential.fingerprint}", host.shared),
                bulk=bulk,
                folders=OpenFolders(host.files),
                documents=documents,
                artist=artist,
                signed_in=signed_in,
            )

        yield signed_in(Credential(key=settings.key))
