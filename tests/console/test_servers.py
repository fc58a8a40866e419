"""Pages of other MCP servers: state, tools that wait for approval with their diff, approving and restarting."""

from pathlib import Path

from dogubako.gate.api_keys import KeyStore
from tests.gateway.boxes import Fleet, offering, tool

from .browser import browsing, dangers, text_of

ADD = {"command": "x", "env": {"TOKEN": "secret-of-one"}}


async def test_an_administrator_sees_approves_and_restarts_a_server(tmp_path: Path) -> None:
    fleet = Fleet(lists={"one": offering(tool("echo", "Say <b>it</b> again."))})
    box = fleet.box(tmp_path, {"one": ADD}, auth="keys")
    async with browsing(box) as browser:
        await browser.sign_in(KeyStore(tmp_path).create("eve", ["admin"])[0])
        card = text_of(await browser.get("/console/services"))
        held = await browser.get("/console/services/one")
        approved = await browser.post("/console/services/one/approve", {"tool": "echo"})
        served = text_of(await browser.get("/console/services/one"))
        restarted = await browser.post("/console/services/one/restart")
        missing = await browser.get("/console/services/nothing")
        recorded = text_of(await browser.get("/console/audit"))

    assert "1 tools wait for approval" in card
    assert "Waiting for approval" in text_of(held)
    assert "echo" in text_of(held)
    assert dangers(held.body.decode()) == []
    assert "secret-of-one" not in held.body.decode()
    assert (approved.status, approved.headers["location"]) == (303, "/console/services/one")
    assert "Waiting for approval" not in served
    assert (restarted.status, fleet.upstreams[-1].restarts) == (303, 1)
    assert missing.status == 404
    assert "servers/approve" in recorded


async def test_a_server_is_nobody_elses_business(tmp_path: Path) -> None:
    box = Fleet(lists={"one": offering(tool("echo"))}).box(tmp_path, {"one": ADD}, auth="keys")
    async with browsing(box) as browser:
        await browser.sign_in(KeyStore(tmp_path).create("ann", ["destroy"])[0])
        await browser.get("/console")

        assert (await browser.get("/console/services/one")).status == 403
        assert (await browser.post("/console/services/one/approve")).status == 403
