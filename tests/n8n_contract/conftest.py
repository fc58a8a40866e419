"""The two sides. The real one is started once; with N8N_URL and N8N_API_KEY set, that server is read instead."""

import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import pytest

from dogubako.app import Toolbox, build
from dogubako.packs.n8n import workflow_writer
from dogubako.settings import Sources
from dogubako_sandbox.n8n.app import SANDBOX_KEY, n8n_app
from dogubako_sandbox.n8n.replay import seed_id
from dogubako_sandbox.n8n.workflows import WORKFLOWS
from tests.contract_suite import ContractSuite
from tests.log_capture import no_log_on_the_terminal
from tests.n8n_contract.place import Place
from tests.n8n_contract.real_side import Server, server_with_everything
from tests.sandbox.n8n_client import N8n

__all__ = ["no_log_on_the_terminal"]

GIVEN = bool(os.environ.get("N8N_URL") and os.environ.get("N8N_API_KEY"))
SUITE = ContractSuite(folder=Path(__file__).parent, real="real_n8n", given=GIVEN)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    SUITE.leave_out(config, items)


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    if GIVEN:
        yield Server(url=os.environ["N8N_URL"], api_key=os.environ["N8N_API_KEY"], workflows={}, executions={})
        return
    with server_with_everything() as started:
        yield started


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module", params=SUITE.sides())
async def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Place]:
    folder = tmp_path_factory.mktemp("n8n")
    if request.param == "sandbox":
        async with _in_small(folder) as small:
            yield small
    else:
        async with _real(request.getfixturevalue("server"), folder) as real:
            yield real


@pytest.fixture(autouse=True)
def publishing_at_once(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The n8n in small has no moment in which the old version runs; nobody has to wait for its end."""
    if not SUITE.is_real(request.node):
        monkeypatch.setattr(workflow_writer, "REPUBLISH_SECONDS", 0.0)


@asynccontextmanager
async def _in_small(folder: Path) -> AsyncIterator[Place]:
    app = n8n_app()
    box = _box(folder, DOGUBAKO_SANDBOX="true")
    state = box.packs["n8n"]
    assert state.sandbox is not None
    # The tools and the direct questions have to reach the same copy.
    state.sandbox = replace(state.sandbox, app=lambda: app)
    store = app.state.store
    kinds = {made.key: str(number) for number, made in store.recordings.items() if _is_main(store, number, made)}
    transport = httpx2.ASGITransport(app=app)
    async with box.running(), _client("http://n8n.sandbox", SANDBOX_KEY, transport=transport) as client:
        yield Place(
            side="sandbox",
            box=box,
            n8n=N8n(client),
            workflows={key: seed_id(one.name) for key, one in WORKFLOWS.items()},
            executions=kinds,
            shows=frozenset({*kinds, "starting"}),
            files=folder,
        )


@asynccontextmanager
async def _real(server: Server, folder: Path) -> AsyncIterator[Place]:
    # The node types of n8n itself: those of the installation that we started.
    own = {"DOGUBAKO_READ_ONLY": "true"} if GIVEN else {"N8N_NODE_TYPES": server.installation}
    box = _box(folder, N8N_URL=server.url, N8N_API_KEY=server.api_key, **own)
    hooks = {"request": [_only_look] if GIVEN else []}
    async with box.running(), _client(server.url, server.api_key, event_hooks=hooks) as client:
        yield Place(
            side="given" if GIVEN else "real",
            box=box,
            n8n=N8n(client),
            workflows=server.workflows,
            executions=server.executions,
            shows=frozenset({*server.executions, "any-trigger", "all-node-types"}),
            files=folder,
        )


@pytest.fixture
async def mcp_place(place: Place, request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Place]:
    """The same n8n, with a token of its own MCP server and a login of a webhook."""
    server: Server = request.getfixturevalue("server")
    config = tmp_path / "dogubako.toml"
    config.write_text('[n8n.webhook_logins."Hook login"]\nuser = "ann"\npassword = "only-for-webhooks"\n')
    environ = {
        "N8N_URL": server.url,
        "N8N_API_KEY": server.api_key,
        "N8N_MCP_TOKEN": server.mcp_token,
        "DOGUBAKO_DATA_DIR": str(tmp_path / "data"),
    }
    box = build(Sources(environ=environ, env_file=None, config_file=config))
    async with box.running():
        yield replace(place, box=box)


@pytest.fixture
async def two_instances(place: Place, tmp_path: Path) -> AsyncIterator[Place]:
    """The same n8n under two names, `dev` and `prod`."""
    client, own = place.n8n.client, place.box.packs["n8n"]
    table = {"url": str(client.base_url), "api_key": client.headers["X-N8N-API-KEY"]}
    sources = Sources(environ={"DOGUBAKO_DATA_DIR": str(tmp_path / "data")}, env_file=None)
    sources.file = {"n8n": {"dev": table, "prod": table}}
    box = build(sources)
    box.packs["n8n"].sandbox = own.sandbox
    async with box.running():
        yield replace(place, box=box)


def _box(folder: Path, **environment: str) -> Toolbox:
    folders = {"DOGUBAKO_DATA_DIR": str(folder / "data"), "DOGUBAKO_FILES": str(folder)}
    return build(Sources(environ={**folders, **environment}, env_file=None))


def _client(url: str, key: str, **more: Any) -> httpx2.AsyncClient:
    base = url.rstrip("/").removesuffix("/api/v1")
    return httpx2.AsyncClient(base_url=base, headers={"X-N8N-API-KEY": key}, timeout=60, **more)


async def _only_look(request: httpx2.Request) -> None:
    assert request.method == "GET", "a server that somebody else gave us is only looked at"


def _is_main(store: Any, number: int, made: Any) -> bool:
    """Sub-workflows are told from the recording of their caller."""
    return bool(store.executions[number]["workflowData"]["name"] == made.execution["workflowData"]["name"])
