"""Credentials of callers: each caller's calls use a connection with the caller's own key, and no other."""

from pathlib import Path

import pytest

from dogubako.contract.call import Caller, ToolCall
from dogubako.contract.credentials import Credential

from .boxes import Fleet, eventually, offering, tool

pytestmark = pytest.mark.anyio

TABLE = {"url": "https://x.example/mcp", "credentials": "own", "pinning": "off"}


def caller(name: str, key: str = "") -> Caller:
    own = (("one", Credential(key=key)),) if key else ()
    return Caller(name=name, id=name, scopes=frozenset({"admin"}), credentials=own)


async def test_every_caller_has_a_connection_with_its_own_key(tmp_path: Path) -> None:
    fleet = Fleet(lists={"one": offering(tool("echo"))})
    box = fleet.box(tmp_path, {"one": TABLE})
    async with box.running():
        await eventually(lambda: "echo" in box.servers.packs["one"].served)
        for name, key in (("ann", "key-of-ann"), ("ben", "key-of-ben"), ("ann", "key-of-ann")):
            await box.pipeline.handle(ToolCall(name="echo", caller=caller(name, key), door="rest"))
        without = await box.pipeline.handle(ToolCall(name="echo", caller=caller("eve"), door="rest"))

    keys = [{name: value.get_secret_value() for name, value in one.settings.headers.items()} for one in fleet.upstreams]
    assert keys == [{}, {"Authorization": "Bearer key-of-ann"}, {"Authorization": "Bearer key-of-ben"}]
    assert (without.is_error, len(fleet.calls)) == (True, 3)


async def test_what_one_caller_sees_changes_nothing_for_the_others(tmp_path: Path) -> None:
    fleet = Fleet(lists={"one": offering(tool("echo"))})
    box = fleet.box(tmp_path, {"one": TABLE})
    async with box.running():
        await eventually(lambda: "echo" in box.servers.packs["one"].served)
        await box.pipeline.handle(ToolCall(name="echo", caller=caller("ann", "key-of-ann"), door="rest"))
        fleet.upstreams[1].announce(offering(tool("for_ann_alone")))

        assert list(box.servers.packs["one"].served) == ["echo"]
