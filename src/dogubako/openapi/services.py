"""All configured HTTP APIs, made from the tables `[services.NAME]`. They are stored and pinned like MCP servers."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from dogubako.gateway.pack import ServerPack
from dogubako.gateway.servers import Servers, ServerSources
from dogubako.gateway.sign_ins import ShowAddress, StoredTokens
from dogubako.gateway.upstream_calls import UpstreamClient
from dogubako.openapi.connections import Connections
from dogubako.openapi.oauth import sign_in
from dogubako.openapi.settings import ApiSettings
from dogubako.openapi.upstream import ApiUpstream
from dogubako.settings import Settings, SettingsError, Sources


def configured_services(sources: Sources, settings: Settings, servers: Servers) -> Servers:
    """The services of the settings, beside the MCP servers, whose names no service can have."""
    found = ServerSources(
        tables=sources.services,
        environ=sources.environ,
        data_dir=settings.data_dir,
        config_file=sources.path,
        connect=partial(_connect, servers, settings.files),
        model=ApiSettings,
        sign_ins=servers.sources.sign_ins,
        lazy=servers.sources.lazy,
    )
    for name in found.tables:
        if name in servers.sources.tables:
            raise SettingsError(f"[services.{name}] has the name of a server. Rename it.")
    return Servers(found, beside=servers)


def _connect(
    servers: Servers, files: tuple[Path, ...], name: str, settings: ApiSettings, **callbacks: Any
) -> UpstreamClient:
    shared: dict[str, Any] = {"sign_ins": servers.sources.sign_ins}
    return ApiUpstream(
        name,
        settings,
        stored=servers.store.load(name),
        public_name=lambda tool: servers.parts.names.of(name, [tool], keep=False)[tool],
        files=files,
        **(shared | callbacks),
    )


async def sign_in_at(
    services: Servers, pack: ServerPack, scheme_name: str, scheme: Mapping[str, Any], show: ShowAddress, port: int = 0
) -> None:
    """Have a person sign in at a service with a browser. Raises SignInFailed with a sentence for the person."""
    assert isinstance(pack.server, ApiSettings) and services.sources.sign_ins is not None
    connections = Connections(pack.name, pack.server)
    try:
        stored = StoredTokens(services.sources.sign_ins, pack.name)
        await sign_in(scheme_name, scheme, pack.server, connections, stored, show, port)
    finally:
        await connections.aclose()
