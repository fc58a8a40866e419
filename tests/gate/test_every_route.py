"""Every route of the app × everybody who may come: the exact status, code and body."""

from pathlib import Path

import pytest

from dogubako.transports.http.app import HttpApp
from tests.doors.asgi import Client, opened

from .callers import ADMINISTRATOR, KINDS, READER, REFUSED, Keyring, Kind
from .guarded import guarded_box
from .routes import GUARDED, NO_ROUTES, OPEN, ROUTES, Route, ask, case_of, routes_of, shown
from .seen import body_of, refusal

_CHECKED = [{"ok": True, "subject": name, "message": f"{name} answers"} for name in ("redmine", "n8n")]


@pytest.mark.usefixtures("web")
async def test_every_route_of_the_app_is_in_the_matrix(door: HttpApp) -> None:
    assert routes_of(door) == set(ROUTES)


@pytest.mark.parametrize("which", REFUSED)
@pytest.mark.parametrize("route", GUARDED, ids=" ".join)
async def test_who_does_not_belong_learns_nothing(web: Client, keyring: Keyring, route: Route, which: str) -> None:
    refused = keyring.refusal(which)

    visit = await ask(web, route, refused.headers)

    assert (visit.status, body_of(visit)) == (401, refusal(refused.error, "AUTHENTICATION_ERROR", refused.hint))
    assert visit.headers["www-authenticate"] == 'Bearer realm="dogubako"'


@pytest.mark.parametrize("which", REFUSED)
@pytest.mark.parametrize("route", OPEN, ids=" ".join)
async def test_probes_need_no_key_and_no_key_harms_them(
    web: Client, keyring: Keyring, route: Route, which: str
) -> None:
    visit = await ask(web, route, keyring.refusal(which).headers)

    assert (visit.status, body_of(visit)) == case_of(route).answers(READER)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.scope)
@pytest.mark.parametrize("route", ROUTES, ids=" ".join)
async def test_everybody_who_belongs_gets_what_the_scope_gives(
    web: Client, keyring: Keyring, route: Route, kind: Kind
) -> None:
    visit = await ask(web, route, keyring.header(kind))

    assert (visit.status, shown(route, visit)) == case_of(route).answers(kind)
    # Only a refusal that another scope would lift says so, for clients that can ask for one.
    said = visit.headers.get("www-authenticate", "")
    assert said.startswith('Bearer error="insufficient_scope", scope="') is (visit.status == 403)


@pytest.mark.parametrize("route", [route for route in ROUTES if route[0] == "GET" and route[1] != "/mcp"], ids=" ".join)
async def test_a_head_request_is_judged_as_its_get(web: Client, keyring: Keyring, route: Route) -> None:
    head, closed = ("HEAD", route[1]), 200 if case_of(route).open else 401

    statuses = [(await ask(web, head, headers)).status for headers in ({}, keyring.header(ADMINISTRATOR))]

    assert statuses == [closed, case_of(route).answers(ADMINISTRATOR)[0]]


@pytest.mark.parametrize(("route", "answer"), NO_ROUTES.items(), ids=str)
async def test_what_is_not_there_is_not_there_for_those_with_a_key_only(
    web: Client, keyring: Keyring, route: Route, answer: tuple[int, str]
) -> None:
    method, path = route

    stranger = await web.request(method, path)
    forger = await web.request(method, path, headers=keyring.refusal("unknown key").headers)
    known = await web.request(method, path, headers=keyring.header("none of ours"))

    assert (stranger.status, stranger.json["error"]) == (401, "An API key is required.")
    assert (forger.status, forger.json["error"]) == (401, "The API key is not valid.")
    assert (known.status, known.json["code"]) == answer


async def test_readiness_names_no_service_where_callers_have_keys(tmp_path: Path) -> None:
    found = {}
    for auth in ("off", "keys"):
        async with opened(HttpApp(guarded_box(tmp_path, DOGUBAKO_AUTH=auth))) as client:
            found[auth] = (await client.get("/readyz")).json

    assert found == {"off": {"ready": True, "checks": _CHECKED}, "keys": {"ready": True}}


async def test_readiness_tells_an_administrator_all_and_nobody_else(web: Client, keyring: Keyring) -> None:
    callers = (keyring.header(ADMINISTRATOR), keyring.header(READER), keyring.refusal("unknown key").headers)
    visits = [await web.request("GET", "/readyz", headers=headers) for headers in callers]

    assert [visit.status for visit in visits] == [200] * 3
    assert [sorted(visit.json) for visit in visits] == [["checks", "ready"], ["ready"], ["ready"]]
