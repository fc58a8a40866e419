"""`/v1/servers`: administrators add, approve, restart and remove servers while the toolbox runs."""

import tomllib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from dogubako.app import Toolbox
from dogubako.gate.api_keys import KeyStore
from dogubako.transports.http.app import HttpApp
from tests.doors.asgi import Client, opened

from .boxes import Fleet, offering, tool

pytestmark = pytest.mark.anyio

JSON = {"content-type": "application/json"}
ADD = {"name": "one", "settings": {"command": "x", "env": {"TOKEN": "secret-of-one"}}}


def key(folder: Path, *scopes: str) -> dict[str, str]:
    secret, _ = KeyStore(folder).create(f"with {scopes}", scopes)
    return {**JSON, "authorization": f"Bearer {secret}"}


@asynccontextmanager
async def served(fleet: Fleet, folder: Path, **settings: Any) -> AsyncIterator[tuple[Client, Toolbox]]:
    box = fleet.box(folder, {}, **{"auth": "keys", **settings})
    async with opened(HttpApp(box)) as client:
        yield client, box


async def test_a_server_is_added_approved_restarted_and_removed(tmp_path: Path) -> None:
    fleet = Fleet(lists={"one": offering(tool("echo"))})
    admin = key(tmp_path, "admin")
    async with served(fleet, tmp_path) as (client, box):
        added = await client.post("/v1/servers", ADD, admin)
        held = await box.call("echo", text="x")
        shown = await client.request("GET", "/v1/servers/one", headers=admin)
        approved = await client.post("/v1/servers/one/approve", {}, admin)
        called = await client.post("/v1/tools/call", {"name": "echo", "parameters": {"text": "x"}}, admin)
        restarted = await client.post("/v1/servers/one/restart", {}, admin)
        listed = await client.request("GET", "/v1/servers", headers=admin)
        entered = tomllib.loads((tmp_path / "dogubako.toml").read_text())
        removed = await client.request("DELETE", "/v1/servers/one", headers=admin)
        gone = await box.call("echo", text="x")

    assert (added.status, added.json["served"], held.is_error) == (201, [], True)
    assert [(one["name"], one["reason"]) for one in shown.json["heldBack"]] == [("echo", "new")]
    assert [one["name"] for one in approved.json["served"]] == ["echo"]
    assert called.json["result"] == [{"type": "text", "text": "one: echo"}]
    assert (restarted.status, fleet.upstreams[-1].restarts) == (200, 1)
    assert [one["name"] for one in listed.json["servers"]] == ["one"]
    assert entered["servers"]["one"]["command"] == "x"
    assert (removed.status, gone.is_error) == (200, True)
    assert "one" not in tomllib.loads((tmp_path / "dogubako.toml").read_text()).get("servers", {})
    assert all("secret-of-one" not in visit.body.decode() for visit in (added, shown, approved, listed))


async def test_a_server_that_is_approved_at_once_serves_at_once(tmp_path: Path) -> None:
    fleet = Fleet(lists={"one": offering(tool("echo"))})
    async with served(fleet, tmp_path) as (client, box):
        await client.post("/v1/servers", {**ADD, "approve": True}, key(tmp_path, "admin"))

        assert not (await box.call("echo", text="x")).is_error


@pytest.mark.parametrize(
    ("body", "status", "word"),
    [
        pytest.param({"name": "two", "settings": {"command": "x"}}, 502, "does not work", id="it is down"),
        pytest.param({"name": "core", "settings": {"command": "x"}}, 400, "already", id="a pack's name"),
        pytest.param({"name": "One!", "settings": {"command": "x"}}, 400, "name", id="no name"),
        pytest.param({"name": "one", "settings": {"command": "x", "args": ["${NO}"]}}, 400, "NO", id="a variable"),
        pytest.param({"name": "one", "settings": {"comand": "x"}}, 400, "comand", id="a typing error"),
        pytest.param({"name": "one"}, 400, "settings", id="no settings"),
    ],
)
async def test_what_cannot_be_added_changes_nothing(tmp_path: Path, body: Any, status: int, word: str) -> None:
    fleet = Fleet(lists={"one": offering(tool("echo"))})
    async with served(fleet, tmp_path) as (client, box):
        visit = await client.post("/v1/servers", body, key(tmp_path, "admin"))

        assert (visit.status, word in visit.json["error"]) == (status, True)
        assert not (tmp_path / "dogubako.toml").exists()
        assert box.servers.packs == {}


async def test_only_administrators_who_proved_who_they_are_change_servers(tmp_path: Path) -> None:
    fleet = Fleet(lists={"one": offering(tool("echo"))})
    async with served(fleet, tmp_path) as (client, _):
        nobody = await client.post("/v1/servers", ADD)
        writer = await client.post("/v1/servers", ADD, key(tmp_path, "destroy"))
    async with served(fleet, tmp_path, auth="off") as (client, _):
        anyone = await client.post("/v1/servers", ADD)
        reading = await client.get("/v1/servers")

    assert (nobody.status, writer.status, anyone.status, reading.status) == (401, 403, 403, 200)
    assert fleet.upstreams == []


async def test_scopes_name_a_server_like_a_pack(tmp_path: Path) -> None:
    reads = {"readOnlyHint": True}
    fleet = Fleet(lists={"one": offering(tool("look", annotations=reads), tool("change"))})
    fleet.lists["two"] = offering(tool("other", annotations=reads))
    async with served(fleet, tmp_path) as (client, _):
        admin, reader = key(tmp_path, "admin"), key(tmp_path, "one:read")
        for name in ("one", "two"):
            await client.post("/v1/servers", {"name": name, "settings": {"command": "x"}, "approve": True}, admin)
        names = [one["name"] for one in (await client.request("GET", "/v1/tools", headers=reader)).json["tools"]]
        statuses = [
            (await client.post("/v1/tools/call", {"name": name, "parameters": {}}, reader)).status
            for name in ("look", "change", "other")
        ]

    assert {"look", "change", "other"} & set(names) == {"look"}
    assert statuses == [200, 403, 403]


async def test_every_change_is_recorded(tmp_path: Path) -> None:
    fleet = Fleet(lists={"one": offering(tool("echo"))})
    admin, reader = key(tmp_path, "admin"), key(tmp_path, "read")
    async with served(fleet, tmp_path) as (client, _):
        await client.post("/v1/servers", ADD, admin)
        await client.post("/v1/servers/one/approve", {}, reader)
    log = (tmp_path / "audit.jsonl").read_text()

    assert "servers/add/one" in log
    assert "servers/approve/one" in log
    assert "secret-of-one" not in log
