"""Switching a tool changes the server for everybody: it is recorded, it needs the record, and one process does it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from dogubako.app import Toolbox
from dogubako.transports.http.app import HttpApp
from tests.doors.asgi import Client, Visit, opened
from tests.doors.processes import PATIENCE, serving

from .seen import who_gives
from .sheds import SHED, key_in, log_in, recorded_in, shed_in

BOTH = pytest.mark.parametrize(("act", "enabled"), [("disable", False), ("enable", True)])


class Operator:
    """Somebody who switches `look`."""

    def __init__(self, client: Client, box: Toolbox, key: str) -> None:
        self._client, self.box, self._key = client, box, key

    async def switch(self, enabled: Any, tool: str = "look") -> Visit:
        headers = {"content-type": "application/json", "x-api-key": self._key}
        return await self._client.request("PATCH", f"/v1/tools/{tool}", headers=headers, body={"enabled": enabled})

    @property
    def is_on(self) -> bool:
        return self.box.registry.get("look").enabled


@asynccontextmanager
async def operating(folder: Path, *scopes: str, **settings: Any) -> AsyncIterator[Operator]:
    box = shed_in(folder, auth="keys", **settings)
    async with opened(HttpApp(box)) as client:
        yield Operator(client, box, key_in(folder, "ann", *scopes))


def _recorded(folder: Path) -> list[tuple[str, str, str, str]]:
    return [(line["tool"], line["code"], line["caller"], line["door"]) for line in recorded_in(folder)]


@BOTH
async def test_a_switch_is_recorded_before_it_is_answered(tmp_path: Path, act: str, enabled: bool) -> None:
    async with operating(tmp_path, "admin") as ann:
        if enabled:
            ann.box.registry.disable("look")
        visit = await ann.switch(enabled)
        at_once = _recorded(tmp_path)

    assert (visit.status, visit.json["enabled"], ann.is_on) == (200, enabled, enabled)
    assert at_once == [(f"tools/{act}/look", "OK", "ann", "rest")]


@BOTH
@pytest.mark.parametrize("scope", ["read", "write", "destroy", "tool:look"])
async def test_who_may_not_switch_is_refused_and_recorded(tmp_path: Path, act: str, enabled: bool, scope: str) -> None:
    async with operating(tmp_path, scope) as ann:
        if enabled:
            ann.box.registry.disable("look")
        visit = await ann.switch(enabled)

    assert (visit.status, visit.json["error"]) == (403, "Switching tools needs the scope admin.")
    assert visit.json["hint"] == who_gives("ann", [scope], "admin")
    assert visit.headers["www-authenticate"] == 'Bearer error="insufficient_scope", scope="admin"'
    assert ann.is_on is not enabled
    assert _recorded(tmp_path) == [(f"tools/{act}/look", "AUTHORIZATION_ERROR", "ann", "rest")]


@BOTH
async def test_who_may_not_even_see_the_tool_is_recorded_too(tmp_path: Path, act: str, enabled: bool) -> None:
    async with operating(tmp_path, "tool:put") as ann:
        visit = await ann.switch(enabled)

    assert (visit.status, visit.json["code"], ann.is_on) == (403, "AUTHORIZATION_ERROR", True)
    assert _recorded(tmp_path) == [(f"tools/{act}/look", "AUTHORIZATION_ERROR", "ann", "rest")]


@BOTH
async def test_nothing_is_switched_that_cannot_be_recorded(tmp_path: Path, act: str, enabled: bool) -> None:
    async with operating(tmp_path, "admin") as ann:
        if enabled:
            ann.box.registry.disable("look")
        log_in(tmp_path).mkdir()
        visit = await ann.switch(enabled)
        refused = ann.is_on
        log_in(tmp_path).rmdir()
        again = await ann.switch(enabled)

    assert (visit.status, visit.json["code"]) == (403, "READ_ONLY")
    assert visit.json["error"] == "The audit log cannot be written, so nothing may be changed: nothing was switched."
    assert (refused, again.status, ann.is_on) == (not enabled, 200, enabled)
    # What was refused is not forgotten either.
    assert [line[:2] for line in _recorded(tmp_path)] == [
        (f"tools/{act}/look", "READ_ONLY"),
        (f"tools/{act}/look", "OK"),
    ]


async def test_a_switch_that_is_none_switches_nothing(tmp_path: Path) -> None:
    async with operating(tmp_path, "admin") as ann:
        visit = await ann.switch("off")

    assert (visit.status, visit.json["code"], ann.is_on) == (400, "VALIDATION_ERROR", True)


async def test_without_a_gate_a_switch_needs_no_scope_and_no_record(tmp_path: Path) -> None:
    box = shed_in(tmp_path, audit=False)
    async with opened(HttpApp(box)) as client:
        headers = {"content-type": "application/json"}
        visit = await client.request("PATCH", "/v1/tools/look", headers=headers, body={"enabled": False})

    assert (visit.status, box.registry.get("look").enabled, log_in(tmp_path).exists()) == (200, False, False)


async def test_a_switch_of_a_tool_that_is_not_there_is_recorded_too(tmp_path: Path) -> None:
    async with operating(tmp_path, "admin") as ann:
        visit = await ann.switch(False, "lok")

    assert (visit.status, visit.json["hint"]) == (404, "Did you mean look?")
    assert _recorded(tmp_path) == [("tools/disable/lok", "TOOL_NOT_FOUND", "ann", "rest")]


@pytest.mark.slow
def test_several_processes_do_not_switch(tmp_path: Path) -> None:
    key = {"x-api-key": key_in(tmp_path / "data", "ann", "admin")}
    settings = {"DOGUBAKO_AUTH": "keys", "DOGUBAKO_DATA_DIR": str(tmp_path / "data")}
    acts = {"disable": False, "enable": True}
    with serving(SHED, folder=tmp_path, words=["--workers", "2"], settings=settings) as server:
        server.stderr.first(lambda line: b"Application startup complete" in line)
        with httpx2.Client(base_url=server.url(), headers=key, timeout=PATIENCE) as client:
            refused = [client.patch("/v1/tools/look", json={"enabled": enabled}) for enabled in acts.values()]
            looked = [client.post("/v1/tools/call", json={"name": "look"}).status_code for _ in range(4)]

    assert [(one.status_code, one.json()["code"]) for one in refused] == [(403, "READ_ONLY")] * 2
    assert [one.json()["error"] for one in refused] == [
        f"Several processes serve this address, and only one would hear of it: {act} was not done." for act in acts
    ]
    assert "one worker" in refused[0].json()["hint"]
    assert looked == [200] * 4
    lines = [line for line in recorded_in(tmp_path / "data") if line["code"] == "READ_ONLY"]
    assert [line["tool"] for line in lines] == ["tools/disable/look", "tools/enable/look"]
