"""A toolbox with one HTTP API, which answers inside this process."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from dogubako.app import Toolbox
from dogubako.gate.credential_vault import CredentialVault
from dogubako.gateway.definitions import DefinitionStore
from dogubako.gateway.servers import Servers, ServerSources
from dogubako.gateway.sign_in_stores import FileSignIns
from dogubako.gateway.sign_ins import SignIns
from dogubako.openapi.settings import ApiSettings
from dogubako.openapi.upstream import ApiUpstream
from dogubako.pack_state import Instance, PackState
from dogubako.packs.core.pack import CORE
from dogubako.settings import Sources
from tests.doors.waiting import until

from .api_server import PetApi

ADDRESS = "http://pets.test/openapi.json"
KEY = "pets-key-1234567890"

Open = Callable[..., AbstractAsyncContextManager[Toolbox]]


def sign_ins_in(folder: Path) -> SignIns:
    return SignIns(FileSignIns(DefinitionStore(folder), lambda: CredentialVault(lambda: b"k" * 32)))


@pytest.fixture
def api() -> PetApi:
    return PetApi()


@pytest.fixture
def opened(api: PetApi, tmp_path: Path) -> Open:
    """Open a toolbox whose service `pets` has these settings, and wait until its description was read."""

    @asynccontextmanager
    async def open_box(**table: Any) -> AsyncIterator[Toolbox]:
        settings = Sources.only({"data_dir": tmp_path, "files": (tmp_path,), **table.pop("box", {})}).load()
        transport = httpx2.ASGITransport(app=api.app())

        def connect(name: str, settings: ApiSettings, **callbacks: Any) -> ApiUpstream:
            shared: dict[str, Any] = {"sign_ins": sign_ins_in(tmp_path), "transport": transport, "resolve": api.resolve}
            stored = DefinitionStore(tmp_path).load(name)
            return ApiUpstream(name, settings, files=(tmp_path,), stored=stored, **(shared | callbacks))

        sources = ServerSources(
            tables={"pets": {"openapi": ADDRESS, "pinning": "off", "api_key": KEY, **table}},
            environ={},
            data_dir=tmp_path,
            config_file=tmp_path / "dogubako.toml",
            connect=connect,
            model=ApiSettings,
        )
        about_tools = PackState(
            pack=CORE, instances={"": Instance(name="", settings=CORE.settings())}, unconfigured=None
        )
        box = Toolbox(settings, [about_tools], apis=Servers(sources, [one.name for one in about_tools.tools()]))
        async with box.running():
            assert box.apis is not None
            pack = box.apis.named("pets")
            await until(lambda: pack.state.name not in ("starting", "stopped"), "the description was read")
            yield box

    return open_box
