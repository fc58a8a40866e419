"""Every route of the console × everybody who may come."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from dogubako.app import Toolbox
from dogubako.gate.api_keys import KeyStore
from dogubako.transports.console.routes import ROUTES, Console
from dogubako.transports.http.app import HttpApp
from tests.doors.asgi import opened
from tests.gate.guarded import guarded_box

from .browser import Browser, browsing, text_of

SCOPES = ("read", "write", "admin", "redmine:read", "tool:echo")
OPEN = {"/console/static/{file}", "/console/csp-report", "/console/sign-in", "/console/sign-out"}
OPEN |= {"/console/sign-in/start", "/console/callback", "/console/signed-in"}
OPEN |= {"/console/preferences", "/console/events", "/console/{rest:path}"}
FILLED = {"{name}": "echo", "{id}": "00000000"}


def _path(path: str) -> str:
    for hole, value in FILLED.items():
        path = path.replace(hole, value)
    return f"/console{path}"


@pytest.fixture
def box(tmp_path: Path) -> Toolbox:
    return guarded_box(tmp_path)


@pytest.fixture
async def browser(box: Toolbox) -> AsyncIterator[Browser]:
    async with browsing(box) as one:
        yield one


async def test_every_route_is_known_to_this_matrix(box: Toolbox) -> None:
    door = HttpApp(box)
    async with opened(door) as client:
        await client.get("/console", accept="text/html")
        console = door._console
    assert isinstance(console, Console)
    paths = {getattr(route, "path", "") for route in console._router.routes}

    assert paths == OPEN | {f"/console{route.path}" for route in ROUTES}


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.path or "/")
async def test_without_a_session_every_page_asks_for_a_key(browser: Browser, route: object) -> None:
    path = _path(route.path)  # type: ignore[attr-defined]

    shown = await browser.get(path)
    acted = await browser.post(path, {"json": "{}", "name": "x", "scope": "admin"})

    statuses = {one.status for one in (shown, acted)} - {404, 405}
    assert statuses == {401}


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.path or "/")
async def test_pages_of_administrators_are_for_administrators(
    browser: Browser, box: Toolbox, route: object, scope: str
) -> None:
    admin, path = route.admin, _path(route.path)  # type: ignore[attr-defined]
    await browser.sign_in(KeyStore(box.settings.data_dir).create("ann", [scope])[0])
    await browser.get("/console")

    statuses = {(await browser.get(path)).status, (await browser.post(path)).status} - {405}

    allowed = not admin or scope == "admin"
    assert (403 in statuses) is (not allowed or (scope == "redmine:read" and "/tools/echo" in path))
    assert 401 not in statuses
    assert 500 not in statuses


async def test_lists_and_pages_of_tools_show_what_the_scope_shows(browser: Browser, box: Toolbox) -> None:
    await browser.sign_in(KeyStore(box.settings.data_dir).create("ann", ["redmine:read"])[0])

    listed = text_of(await browser.get("/console"))
    searched = text_of(await browser.get("/console?q=write+redmine"))

    assert "read_redmine" in listed
    assert not any(name in listed + searched for name in ("write_redmine", "read_n8n", "echo"))
    assert (await browser.get("/console/tools/read_n8n")).status == 403


async def test_everybody_sees_only_their_own_calls_and_administrators_see_all(browser: Browser, box: Toolbox) -> None:
    store = KeyStore(box.settings.data_dir)
    keys = {
        name: store.create(name, [scope])[0] for name, scope in (("ann", "read"), ("bob", "read"), ("eve", "admin"))
    }
    await browser.sign_in(keys["ann"])
    await browser.get("/console/tools/echo")
    await browser.post("/console/tools/echo", {"arg.text": "hello"})
    box._batches.flush()  # type: ignore[union-attr]
    seen = {}
    for name in ("bob", "eve", "ann"):
        browser.cookies = {}
        await browser.sign_in(keys[name])
        seen[name] = text_of(await browser.get("/console/calls"))

    assert {name: "echo" in text for name, text in seen.items()} == {"bob": False, "eve": True, "ann": True}


async def test_a_key_is_created_shown_once_recorded_and_revoked(browser: Browser, box: Toolbox) -> None:
    await browser.sign_in(KeyStore(box.settings.data_dir).create("eve", ["admin"])[0])
    await browser.get("/console/keys")

    made = text_of(
        await browser.post("/console/keys", {"name": "ann", "scope": "read", "more": "tool:list_*", "days": "7"})
    )

    secret = next(word for word in made.split() if word.startswith("dgb_"))
    key = next(one for one in KeyStore(box.settings.data_dir).all() if one.name == "ann")
    assert key.scopes == ("read", "tool:list_*")
    assert key.expires is not None
    assert secret not in text_of(await browser.get("/console/keys"))
    await browser.get(f"/console/keys/{key.id}/revoke")
    await browser.post(f"/console/keys/{key.id}/revoke")
    assert next(one for one in KeyStore(box.settings.data_dir).all() if one.name == "ann").revoked is not None
    recorded = text_of(await browser.get("/console/audit"))
    assert "keys/create" in recorded
    assert f"keys/revoke/{key.id}" in recorded
    assert secret not in (box.settings.data_dir / "audit.jsonl").read_text()


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"name": "", "scope": "read"}, "The name must have 1 to 100 printable characters."),
        ({"name": "x"}, "A key needs at least one scope."),
        ({"name": "x", "more": "everything"}, "One of the scopes is unknown."),
        ({"name": "eve", "scope": "read"}, "There is an active key called 'eve' already."),
    ],
)
async def test_a_wrong_key_form_says_what_is_wrong(
    browser: Browser, box: Toolbox, fields: dict[str, str], message: str
) -> None:
    await browser.sign_in(KeyStore(box.settings.data_dir).create("eve", ["admin"])[0])
    await browser.get("/console/keys")

    visit = await browser.post("/console/keys", fields)

    assert (visit.status, message in text_of(visit)) == (400, True)


async def test_the_audit_log_can_be_filtered_and_exported(browser: Browser, box: Toolbox) -> None:
    await browser.sign_in(KeyStore(box.settings.data_dir).create("=eve()", ["admin"])[0])
    await browser.get("/console/tools/echo")
    await browser.post("/console/tools/echo", {"arg.text": "hello"})
    await browser.post("/console/tools/echo", {})

    failed = text_of(await browser.get("/console/audit?code=VALIDATION_ERROR"))
    table = await browser.get("/console/audit.csv?tool=ech*")
    lines = (await browser.get("/console/audit.json?code=OK&tool=echo")).json

    assert "VALIDATION_ERROR" in failed
    assert " OK " not in failed
    assert table.headers["content-disposition"] == 'attachment; filename="audit.csv"'
    # A name must not become a formula of a spreadsheet.
    assert ",'=eve()," in table.body.decode()
    assert [(line["tool"], line["code"], line["door"]) for line in lines] == [("echo", "OK", "console")]
