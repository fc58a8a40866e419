"""One server, several callers: each uses Redmine with a credential of its own, and nothing crosses."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from dogubako.app import Toolbox, build
from dogubako.gate.api_keys import KeyStore
from dogubako.settings import Sources
from dogubako.transports.http.app import HttpApp
from tests.doors.asgi import Client, Visit, opened
from tests.packs.through import Through
from tests.redmine_contract.place import Place
from tests.redmine_contract.seeded import ISSUES, KEYS, WRONG_KEY

pytestmark = pytest.mark.anyio

HEADER = "x-redmine-api-key"
PRIVATE = ISSUES["private"]


def callers_box(place: Place, folder: Path, tables: dict[str, Any] | None = None, **environ: str) -> Toolbox:
    """A server whose answers are cached, in front of this Redmine."""
    known = {"REDMINE_URL": place.service.url, "DOGUBAKO_PACKS": "redmine", "DOGUBAKO_CACHE": "memory"}
    sources = Sources(environ={**known, "DOGUBAKO_DATA_DIR": str(folder), **environ}, env_file=None)
    sources.file = dict(tables or {})
    box = build(sources)
    if place.side == "sandbox":
        box.packs["redmine"].sandbox = Through(settings={}, app=dict, wire=place.service.transport())
    return box


@asynccontextmanager
async def served(box: Toolbox) -> AsyncIterator[Client]:
    async with opened(HttpApp(box)) as client:
        yield client


async def call(client: Client, tool: str, headers: dict[str, str], **arguments: Any) -> Visit:
    body = {"name": tool, "parameters": arguments}
    return await client.post("/v1/tools/call", body, {"content-type": "application/json", **headers})


def own(login: str) -> dict[str, str]:
    return {HEADER: KEYS[login]}


@pytest.fixture
async def with_own_keys(place: Place, tmp_path: Path) -> AsyncIterator[Client]:
    box = callers_box(place, tmp_path, REDMINE_CREDENTIALS="own", REDMINE_CREDENTIAL_HEADER="X-Redmine-API-Key")
    async with served(box) as client:
        yield client


async def test_each_caller_sees_its_own_issues_whoever_came_before(with_own_keys: Client) -> None:
    for _ in range(2):
        seen = await call(with_own_keys, "show_issue", own("manager"), id=PRIVATE)
        hidden = await call(with_own_keys, "show_issue", own("outsider"), id=PRIVATE)
        assert seen.status == 200, seen.body
        assert (hidden.status, hidden.json["code"]) == (502, "API_ERROR"), hidden.body
        assert "'outsider' may not do this" in hidden.json["error"]


async def test_each_caller_is_told_its_own_name(with_own_keys: Client) -> None:
    for login in ("manager", "dev", "manager", "reporter"):
        me = await call(with_own_keys, "show_current_user", own(login))
        assert f"<login>{login}</login>" in me.json["result"]


async def test_lists_that_are_kept_for_a_minute_are_kept_for_each_caller(with_own_keys: Client) -> None:
    projects = [
        (await call(with_own_keys, "list_projects", own(login))).json["result"]
        for login in ("admin", "outsider", "admin")
    ]
    assert projects[0] == projects[2] != projects[1]


async def test_a_caller_without_a_key_of_its_own_is_told_how_to_bring_one(with_own_keys: Client) -> None:
    refused = await call(with_own_keys, "list_projects", {})
    assert (refused.status, refused.json["code"]) == (403, "CREDENTIAL_REQUIRED")
    assert HEADER in refused.json["hint"]


async def test_a_wrong_key_is_the_service_s_refusal_and_not_shown(with_own_keys: Client) -> None:
    refused = await call(with_own_keys, "list_projects", {HEADER: WRONG_KEY})
    assert (refused.status, refused.json["code"]) == (502, "API_ERROR")
    assert WRONG_KEY not in refused.body.decode()
    assert "REDMINE_API_KEY" not in refused.body.decode(), "it is not the operator's key that is wrong"


@pytest.mark.parametrize("value", ["two words", "a" * 2_000, "\x01abcdef"], ids=["blank", "long", "control"])
async def test_a_key_that_no_header_can_hold_is_refused_before_anything_is_asked(
    with_own_keys: Client, value: str
) -> None:
    refused = await call(with_own_keys, "list_projects", {HEADER: value})
    assert (refused.status, refused.json["code"]) == (400, "VALIDATION_ERROR")
    assert value not in refused.body.decode()


async def test_resources_are_read_as_the_caller(with_own_keys: Client) -> None:
    async def read(login: str) -> Visit:
        message = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "resources/read",
            "params": {"uri": f"redmine://issues/{PRIVATE}", "_meta": _META},
        }
        headers = {**own(login), "mcp-method": "resources/read", "mcp-name": f"redmine://issues/{PRIVATE}"}
        return await with_own_keys.post("/mcp", message, {**_MODERN, **headers})

    assert "contents" in (await read("manager")).response["result"]
    assert "error" in (await read("outsider")).response


_VERSION = "2026-07-28"
_PREFIX = "io.modelcontextprotocol/"
_META = {
    f"{_PREFIX}protocolVersion": _VERSION,
    f"{_PREFIX}clientInfo": {"name": "test", "version": "1"},
    f"{_PREFIX}clientCapabilities": {},
}
_MODERN = {
    "content-type": "application/json",
    "accept": "application/json, text/event-stream",
    "mcp-protocol-version": _VERSION,
}


async def test_without_the_setting_a_header_changes_nothing(place: Place, tmp_path: Path) -> None:
    box = callers_box(place, tmp_path, REDMINE_API_KEY=KEYS["manager"])
    async with served(box) as client:
        me = await call(client, "show_current_user", own("outsider"))
        assert "<login>manager</login>" in me.json["result"]


async def test_own_or_shared_uses_the_settings_key_for_callers_without_one(place: Place, tmp_path: Path) -> None:
    environ = {"REDMINE_CREDENTIALS": "own-or-shared", "REDMINE_CREDENTIAL_HEADER": HEADER}
    box = callers_box(place, tmp_path, None, REDMINE_API_KEY=KEYS["reporter"], **environ)
    async with served(box) as client:
        assert "<login>reporter</login>" in (await call(client, "show_current_user", {})).json["result"]
        assert "<login>dev</login>" in (await call(client, "show_current_user", own("dev"))).json["result"]


async def test_an_administrator_s_key_acts_as_the_login_of_each_api_key(place: Place, tmp_path: Path) -> None:
    store = KeyStore(tmp_path)
    secrets = {name: store.create(name, ["read"])[0] for name in ("dev", "Maria", "stranger")}
    box = callers_box(
        place,
        tmp_path,
        {"redmine": {"logins": {"dev": "dev", "Maria": "manager"}}},
        REDMINE_API_KEY=KEYS["admin"],
        REDMINE_CREDENTIALS="switch-user",
        DOGUBAKO_AUTH="keys",
        DOGUBAKO_AUDIT="false",
    )
    async with served(box) as client:
        for name, login in (("dev", "dev"), ("Maria", "manager"), ("dev", "dev")):
            me = await call(client, "show_current_user", {"x-api-key": secrets[name]})
            assert f"<login>{login}</login>" in me.json["result"], me.body
        refused = await call(client, "show_current_user", {"x-api-key": secrets["stranger"]})
        assert (refused.status, refused.json["code"]) == (403, "CREDENTIAL_REQUIRED")
