"""n8n's own description, imported from the real server: every operation is there, and plain calls work through it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx2
import pytest
import yaml

from dogubako.app import Toolbox, build
from dogubako.contract.output import parse_call
from dogubako.openapi.operations import METHODS
from dogubako.settings import Sources
from tests.doors.waiting import until
from tests.n8n_contract.conftest import GIVEN
from tests.n8n_contract.real_side import Server
from tests.n8n_contract.test_reading import ROW, STATUSES

pytestmark = pytest.mark.real_n8n

SERVICE = "flows"
# n8n serves this file at /api/v1/openapi.yml. Installed below a folder whose name begins with a dot, as ours is, it
# answers with status 500 instead.
DESCRIPTION = "node_modules/n8n/dist/public-api/v1/openapi.yml"


def described_at(server: Server) -> str:
    """The file or the address of n8n's description."""
    own = Path(server.installation) / DESCRIPTION
    return str(own) if server.installation else f"{_origin(server)}/api/v1/openapi.yml"


def _origin(server: Server) -> str:
    return server.url.rstrip("/").removesuffix("/api/v1")


@dataclass(frozen=True, kw_only=True)
class Imported:
    """The imported tools, found by the request that they make."""

    box: Toolbox
    url: str

    @property
    def pack(self) -> Any:
        assert self.box.apis is not None
        return self.box.apis.named(SERVICE)

    def name(self, method: str, path: str) -> str:
        request = f"\n{method} {self.url}/api/v1{path}"
        names: list[str] = [name for name, one in self.pack.served.items() if one.description.endswith(request)]
        return names[0]

    async def ask(self, method: str, path: str, **arguments: Any) -> Any:
        """The whole result of a call."""
        return await self.box.call(self.name(method, path), arguments)

    async def told(self, method: str, path: str, **arguments: Any) -> Any:
        """The data of a call that has to work."""
        result = await self.ask(method, path, **arguments)
        assert result.error is None, f"{result.error} {result.error.hint}"
        return result.data


@pytest.fixture(scope="module")
async def imported(server: Server, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Imported]:
    async with _imported(server, tmp_path_factory.mktemp("imported"), server.api_key) as found:
        yield found


@asynccontextmanager
async def _imported(server: Server, folder: Path, api_key: str) -> AsyncIterator[Imported]:
    url = _origin(server)
    sources = Sources(environ={"DOGUBAKO_DATA_DIR": str(folder)}, env_file=None)
    table = {"openapi": described_at(server), "url": f"{url}/api/v1", "api_key": api_key, "pinning": "off"}
    sources.file = {"services": {SERVICE: {**table, "request": True, "read_only": GIVEN}}}
    box = build(sources)
    async with box.running():
        found = Imported(box=box, url=url)
        await until(lambda: found.pack.state.name not in ("starting", "stopped"), "the description was read")
        assert found.pack.state.name == "ready", found.pack.state.reason
        yield found


def described(server: Server) -> list[str]:
    """The operations that n8n describes, as n8n itself writes them."""
    where = described_at(server)
    is_url = where.startswith("http")
    text = httpx2.get(where, trust_env=False, timeout=60).text if is_url else Path(where).read_text(encoding="utf-8")
    paths = yaml.load(text, Loader=yaml.CSafeLoader)["paths"]
    return [f"{method.upper()} {path}" for path, item in paths.items() for method in METHODS if method in item]


@pytest.mark.reading
async def test_every_operation_is_imported_or_named_with_the_reason(imported: Imported, server: Server) -> None:
    operations = described(server)
    requests = {one["description"].rpartition("\n")[2] for one in imported.pack.definitions.tools}
    missing = [one for one in operations if one.replace(" ", f" {imported.url}/api/v1", 1) not in requests]
    unexplained = [one for one in missing if not any(fault.startswith(f"{one}: ") for fault in imported.pack.faults)]

    assert len(operations) > 100 and unexplained == []
    assert len(requests) == len(operations) - len(missing) + 1, "and the generic one"


@pytest.mark.reading
async def test_a_list_of_executions_has_the_same_keys_in_every_row(imported: Imported) -> None:
    page = await imported.told("GET", "/executions", limit=20)

    assert page["data"] and all(row.keys() == ROW for row in page["data"])


@pytest.mark.reading
@pytest.mark.parametrize("status", [one for one in STATUSES if one not in ("new", "unknown")])
async def test_executions_can_be_asked_for_by_status(imported: Imported, status: str) -> None:
    page = await imported.told("GET", "/executions", status=status, limit=5)

    assert {row["status"] for row in page["data"]} <= {status}


@pytest.mark.reading
async def test_what_n8n_would_refuse_is_refused_before_it_is_sent(imported: Imported) -> None:
    wrong = await imported.ask("GET", "/executions", status="sleeping")
    missing = await imported.ask("GET", "/workflows/{workflowId}")

    assert (wrong.code, missing.code) == ("VALIDATION_ERROR", "VALIDATION_ERROR")


@pytest.mark.reading
async def test_what_is_not_there_is_not_found(imported: Imported) -> None:
    result = await imported.ask("GET", "/workflows/{workflowId}", workflowId="doesnotexist1234")

    assert result.code == "NOT_FOUND"


@pytest.mark.reading
async def test_the_next_page_is_a_call_that_works(imported: Imported) -> None:
    first = await imported.told("GET", "/executions", limit=1, fields=["data.id", "nextCursor"])
    name, arguments = parse_call(first["_guidance"]["example"])
    second = await imported.box.call(name, arguments)

    assert name == imported.name("GET", "/executions") and arguments["limit"] == 1
    assert second.data["data"][0]["id"] != first["data"][0]["id"] and first["data"][0].keys() == {"id"}


async def test_a_workflow_is_made_read_changed_and_deleted(imported: Imported) -> None:
    node = {
        "id": str(uuid4()),
        "name": "Start",
        "type": "n8n-nodes-base.manualTrigger",
        "typeVersion": 1,
        "position": [0, 0],
        "parameters": {},
    }
    content: dict[str, Any] = {"nodes": [node], "connections": {}, "settings": {}}
    made = await imported.told("POST", "/workflows", name="Imported", **content)
    read = await imported.told("GET", "/workflows/{workflowId}", workflowId=made["id"])
    changed = await imported.told("PUT", "/workflows/{workflowId}", workflowId=made["id"], name="Renamed", **content)
    asked = await imported.ask("DELETE", "/workflows/{workflowId}", workflowId=made["id"])
    still = await imported.told("GET", "/workflows/{workflowId}", workflowId=made["id"])
    await imported.told("DELETE", "/workflows/{workflowId}", workflowId=made["id"], confirm=True)
    gone = await imported.ask("GET", "/workflows/{workflowId}", workflowId=made["id"])

    assert (read["name"], read["nodes"][0]["name"], changed["name"]) == ("Imported", "Start", "Renamed")
    assert asked.code == "CONFIRMATION_REQUIRED" and still["name"] == "Renamed" and gone.code == "NOT_FOUND"


async def test_a_tag_is_made_renamed_and_deleted_and_a_second_one_is_refused_in_n8ns_words(imported: Imported) -> None:
    name = f"tag {uuid4().hex[:8]}"
    made = await imported.told("POST", "/tags", name=name)
    twice = await imported.ask("POST", "/tags", name=name)
    renamed = await imported.told("PUT", "/tags/{tagId}", tagId=made["id"], name=f"{name} 2")
    # Other tests of this server may have made more tags than a page holds.
    shown = await imported.told("GET", "/tags/{tagId}", tagId=made["id"])
    await imported.told("DELETE", "/tags/{tagId}", tagId=made["id"], confirm=True)
    gone = await imported.ask("GET", "/tags/{tagId}", tagId=made["id"])

    assert twice.code == "API_ERROR" and "409" in str(twice.error) and "already exist" in str(twice.error).lower()
    assert renamed["name"] == shown["name"] == f"{name} 2" and gone.code == "NOT_FOUND"


async def test_the_generic_tool_reaches_the_same_server(imported: Imported) -> None:
    found = await imported.box.call(
        f"{SERVICE}_request", {"method": "GET", "path": "/workflows", "query": {"limit": 2}}
    )
    asked = await imported.box.call(f"{SERVICE}_request", {"method": "DELETE", "path": "/tags/doesnotexist"})

    assert len(found.data["data"]) == 2 and asked.code == "CONFIRMATION_REQUIRED"


async def test_a_wrong_key_is_refused_with_a_hint(server: Server, tmp_path: Path) -> None:
    async with _imported(server, tmp_path, "not-a-key-1234567") as stranger:
        result = await stranger.ask("GET", "/workflows")

    assert result.code == "API_ERROR" and result.error.hint is not None and "credentials" in result.error.hint
