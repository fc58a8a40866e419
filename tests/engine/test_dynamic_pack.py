"""A pack whose tools become known only after it has connected, and come and go while the server runs."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest
import structlog.testing

from dogubako import Context, Effect, Pack
from dogubako.contract.errors import ApiError, ToolNotFoundError
from dogubako.contract.pack import NoSettings
from dogubako.engine.catalog import CatalogChange
from dogubako.engine.registration import RegistrationError
from dogubako.engine.registry import RegistryChange
from dogubako.tools import HealthCheck, Host, SchemaTool

from .boxes import box_of

TEXT_SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}


class Remote:
    """Somebody else's server: it tells which tools it has, and later that they changed."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self.called: list[tuple[str, Mapping[str, Any]]] = []

    def offer(self, name: str, schema: Mapping[str, Any] = TEXT_SCHEMA, **more: Any) -> None:
        async def act(arguments: Mapping[str, Any], context: Context["Remote"]) -> Any:
            context.client.called.append((name, arguments))
            return {"from": name, **arguments}

        self._host.add(SchemaTool(name, f"{name} of another server.", schema, act, **more))

    def withdraw(self, name: str, version: str | None = None) -> None:
        self._host.remove(name, version)


class Gateway(Pack[NoSettings, Remote]):
    name = "gateway"
    remote: Remote

    @asynccontextmanager
    async def connect(self, settings: NoSettings, host: Host) -> AsyncIterator[Remote]:
        self.remote = Remote(host)
        self.remote.offer("translate", effect=Effect.READ)
        self.host = host
        try:
            yield self.remote
        finally:
            self.remote.withdraw("translate")

    async def check(self, settings: NoSettings, client: Remote) -> list[HealthCheck]:
        return [HealthCheck(ok=True, subject="gateway", message=f"{len(client.called)} calls")]


async def test_tools_appear_when_the_pack_connects_and_leave_with_it() -> None:
    box = box_of(packs=[Gateway()])
    assert box.registry.list() == []

    async with box.running():
        entry = box.registry.get("translate")
        assert (entry.category, entry.pack, entry.enabled) == ("gateway", "gateway", True)
        assert (await box.call("translate", {"text": "道具"})).value["data"] == {"from": "translate", "text": "道具"}

    assert box.registry.list() == []
    assert (await box.call("translate", {"text": "x"})).code == "TOOL_NOT_FOUND"


async def test_tools_come_and_go_while_the_server_runs_and_everybody_hears_of_it() -> None:
    gateway = Gateway()
    box = box_of(packs=[gateway])
    heard: list[RegistryChange] = []
    async with box.running():
        box.registry.subscribe(heard.append)
        gateway.remote.offer("summarise")
        gateway.remote.offer("summarise", version="2.0.0")
        assert (await box.call("summarise", {"text": "x"})).code == "OK"
        gateway.remote.withdraw("summarise", "2.0.0")
        assert box.registry.get_version("summarise") == "1.0.0"
        gateway.remote.withdraw("summarise")
        assert (await box.call("summarise", {"text": "x"})).code == "TOOL_NOT_FOUND"

    assert [(change.kind, change.name, change.version) for change in heard] == [
        ("registered", "summarise", "1.0.0"),
        ("registered", "summarise", "2.0.0"),
        ("unregistered", "summarise", "2.0.0"),
        ("unregistered", "summarise", "1.0.0"),
        ("unregistered", "translate", "1.0.0"),
    ]


async def test_a_tool_that_goes_while_it_runs_still_answers() -> None:
    gateway = Gateway()
    box = box_of(packs=[gateway])
    started, release = asyncio.Event(), asyncio.Event()

    async def act(arguments: Mapping[str, Any], context: Context[Any]) -> str:
        started.set()
        await release.wait()
        return "late but here"

    async with box.running():
        gateway.host.add(SchemaTool("slow", "Slow.", {"type": "object"}, act))
        task = asyncio.create_task(box.call("slow"))
        await asyncio.wait_for(started.wait(), 5)
        gateway.host.remove("slow")
        release.set()

        assert (await asyncio.wait_for(task, 5)).value == "late but here"


async def test_arguments_of_a_foreign_tool_are_checked_here() -> None:
    gateway = Gateway()
    async with box_of(packs=[gateway]).running() as box:
        result = await box.call("translate", {"text": 5})

    assert result.content[0]["text"] == "Invalid type for parameter text: expected string"
    assert gateway.remote.called == []


@pytest.mark.parametrize(
    ("name", "schema"),
    [
        pytest.param("translate", TEXT_SCHEMA, id="a name that is taken"),
        pytest.param("Translate!", TEXT_SCHEMA, id="a name that is none"),
        pytest.param("other", {"type": "string"}, id="a schema that is none"),
    ],
)
async def test_a_tool_that_cannot_join_is_refused_and_the_others_stay(name: str, schema: dict[str, Any]) -> None:
    gateway = Gateway()
    async with box_of(packs=[gateway]).running() as box:
        with pytest.raises(RegistrationError):
            gateway.remote.offer(name, schema)

        assert [entry.name for entry in box.registry.list()] == ["translate"]
        with pytest.raises(ToolNotFoundError):
            gateway.remote.withdraw("never_there")


async def test_a_foreign_tool_of_a_read_only_server_may_only_read() -> None:
    gateway = Gateway()
    async with box_of(packs=[gateway], read_only=True).running() as box:
        gateway.remote.offer("publish")

        assert (await box.call("translate", {"text": "x"})).code == "OK"
        assert (await box.call("publish", {"text": "x"})).code == "READ_ONLY"


async def test_a_pack_tells_of_changes_of_its_resources_and_prompts() -> None:
    gateway = Gateway()
    heard: list[CatalogChange] = []
    async with box_of(packs=[gateway]).running() as box:
        box.catalog.subscribe(heard.append)
        gateway.host.resources_changed()
        gateway.host.prompts_changed()
        gateway.host.resource_updated("x://1")
        assert gateway.host.cache is box.cache

    assert heard == [
        CatalogChange(kind="resources"),
        CatalogChange(kind="prompts"),
        CatalogChange(kind="updated", uri="x://1"),
    ]


async def test_a_pack_is_asked_how_it_is_with_its_own_client() -> None:
    async with box_of(packs=[Gateway()]).running() as box:
        await box.call("translate", {"text": "x"})

        assert [finding.message for finding in await box.check()] == ["1 calls"]


async def test_a_service_that_is_down_does_not_keep_the_others_from_being_served() -> None:
    class Down(Pack[NoSettings, None]):
        name = "down"

        @asynccontextmanager
        async def connect(self, settings: NoSettings, host: Host) -> AsyncIterator[None]:
            raise ApiError("Could not reach it", unreachable=True)
            yield

    with structlog.testing.capture_logs() as events:
        async with box_of(packs=[Down(), Gateway()]).running() as box:
            assert (await box.call("translate", {"text": "x"})).code == "OK"

    assert ("Pack could not connect", "down") in [(event["event"], event.get("pack")) for event in events]
