"""Resources, templates, prompts and completions of servers; changes are announced once."""

from pathlib import Path

import anyio
import msgspec
import pytest
from mcp.server.subscriptions import InMemorySubscriptionBus
from mcp.shared.subscriptions import PromptsListChanged, ServerEvent, ToolsListChanged

from dogubako.contract.call import TRUSTED
from dogubako.contract.errors import NotFoundError
from dogubako.engine.catalog import CatalogChange
from dogubako.transports.mcp.sdk_internals import Listeners

from .boxes import Fleet, eventually, offering, tool

pytestmark = pytest.mark.anyio

OFF = {"pinning": "off"}
ONE = offering(
    tool("echo"),
    capabilities={"completions": {}, "resources": {"subscribe": True}},
    resources=[{"uri": "notes://first", "name": "first", "mimeType": "text/markdown"}],
    templates=[{"uriTemplate": "notes://by-day/{+day}", "name": "by day"}, {"uriTemplate": "{+anything}", "name": "x"}],
    prompts=[{"name": "greet", "description": "Greet.", "arguments": [{"name": "who", "required": True}]}],
)


async def test_resources_templates_prompts_and_completions_are_passed_on(tmp_path: Path) -> None:
    fleet = Fleet(lists={"one": ONE})
    box = fleet.box(tmp_path, {"one": OFF})
    async with box.running():
        await eventually(lambda: "echo" in box.servers.packs["one"].served)
        first = await box.read("notes://first")
        day = await box.read("notes://by-day/2026/11")
        _, greeting = await box.render("greet", {"who": "Ann"})
        values = await box.catalog.complete("greet", "who", "An", {}, caller=TRUSTED, door="python")
        with pytest.raises(NotFoundError):
            await box.read("other://first")

    assert (first["text"], first["mimeType"]) == ("one: notes://first", "text/markdown")
    assert day["text"] == "one: notes://by-day/2026/11"
    assert greeting == [{"role": "user", "content": {"type": "text", "text": "one: greet"}}]
    assert values == ["An…"]


async def test_what_two_servers_have_is_served_once_and_prompts_get_a_prefix(tmp_path: Path) -> None:
    fleet = Fleet(lists={"one": ONE, "two": ONE})
    box = fleet.box(tmp_path, {"one": OFF, "two": OFF})
    async with box.running():
        await eventually(lambda: bool(box.servers.packs["two"].served))
        read = await box.read("notes://first")
        prompts = [prompt.name for prompt in box.catalog.prompts(TRUSTED)]
        faults = box.servers.packs["two"].faults

    assert read["text"] == "one: notes://first"
    assert prompts == ["greet", "two_greet"]
    assert "The address notes://first is served already." in faults


async def test_the_instructions_of_all_servers_share_one_budget(tmp_path: Path) -> None:
    names = [f"server_{number}" for number in range(30)]
    fleet = Fleet(lists={name: offering(tool(name), instructions="Read me first. " * 500) for name in names})
    box = fleet.box(tmp_path, dict.fromkeys(names, OFF))
    async with box.running():
        await eventually(lambda: all(pack.served for pack in box.servers.packs.values()))
        told = box.pack_instructions.splitlines()

    assert [line.split(":")[0] for line in told] == names
    assert sum(map(len, told)) < 7_000
    assert all(line.endswith("…") for line in told)


async def test_the_user_interface_of_a_tool_is_shown_and_read(tmp_path: Path) -> None:
    page = {"ui": {"resourceUri": "ui://chart", "visibility": ["model", "app"]}}
    hidden = {"ui": {"resourceUri": "ui://chart", "visibility": ["app"]}}
    fleet = Fleet(lists={"one": offering(tool("draw", _meta=page), tool("redraw", _meta=hidden))})
    box = fleet.box(tmp_path, {"one": OFF})
    async with box.running():
        await eventually(lambda: bool(box.servers.packs["one"].served))
        definition = box.registry.get("draw").definition
        read = await box.read("ui://chart")

        assert list(box.servers.packs["one"].served) == ["draw"]
    assert definition["_meta"] == page
    assert read["mimeType"] == "text/html;profile=mcp-app"


async def test_who_watches_a_resource_hears_of_its_changes(tmp_path: Path) -> None:
    fleet = Fleet(lists={"one": ONE})
    box = fleet.box(tmp_path, {"one": OFF})
    told: list[CatalogChange] = []
    async with box.running():
        await eventually(lambda: bool(box.servers.packs["one"].served))
        for _ in range(2):
            box.catalog.watch("notes://first", TRUSTED)
        box.catalog.watch("notes://by-day/2026", TRUSTED)
        await eventually(lambda: len(fleet.watched) == 2)
        box.catalog.subscribe(told.append)
        fleet.upstreams[0].updated("notes://first")

    assert fleet.watched == [("one", "notes://first"), ("one", "notes://by-day/2026")]
    assert told == [CatalogChange(kind="updated", uri="notes://first")]


async def test_what_a_server_no_longer_has_is_gone(tmp_path: Path) -> None:
    fleet = Fleet(lists={"one": ONE})
    box = fleet.box(tmp_path, {"one": OFF})
    async with box.running():
        await eventually(lambda: bool(box.servers.packs["one"].served))
        fleet.upstreams[0].announce(offering(tool("other")))
        with pytest.raises(NotFoundError):
            await box.read("notes://first")

        assert list(box.servers.packs["one"].served) == ["other"]
        assert box.catalog.prompts(TRUSTED) == []


async def test_a_hundred_new_tools_are_announced_once(tmp_path: Path) -> None:
    fleet = Fleet(lists={"one": offering(tool("echo"))})
    box = fleet.box(tmp_path, {"one": OFF})
    bus = InMemorySubscriptionBus()
    told: list[ServerEvent] = []
    bus.subscribe(told.append)
    async with box.running(), anyio.create_task_group() as tasks:
        await eventually(lambda: bool(box.servers.packs["one"].served))
        await tasks.start(Listeners(box, bus).run)
        fleet.upstreams[0].announce(offering(*(tool(f"tool_{number}") for number in range(100))))
        await eventually(lambda: bool(told))
        box.catalog.changed(CatalogChange(kind="prompts"))
        await eventually(lambda: PromptsListChanged() in told)
        tasks.cancel_scope.cancel()

    assert told == [ToolsListChanged(), PromptsListChanged()]


async def test_what_repeats_a_secret_of_the_settings_is_left_out_with_a_reason(tmp_path: Path) -> None:
    secret = "hunter2-hunter2"
    fleet = Fleet()
    fleet.lists["one"] = offering(
        tool("good"),
        tool(secret),
        tool("telling", f"The key is {secret}."),
        tool("naming", inputSchema={"type": "object", "properties": {secret: {"type": "string"}}}),
        resources=[{"uri": f"x://{secret}", "name": "key"}, {"uri": "x://y", "name": "y"}],
        prompts=[{"name": "ask", "description": f"Ask with {secret}."}],
        instructions=f"Sign in with {secret} first.",
    )
    box = fleet.box(tmp_path, {"one": {"pinning": "off", "env": {"TOKEN": secret}}})
    async with box.running():
        await eventually(lambda: "good" in box.servers.packs["one"].served)
        pack = box.servers.packs["one"]
        shown = msgspec.json.encode([pack.definitions.tools, pack.definitions.resources, pack.definitions.prompts])

    assert secret not in shown.decode() and secret not in pack.definitions.instructions
    assert [one["name"] for one in pack.definitions.tools] == ["good"]
    assert [one["uri"] for one in pack.definitions.resources] == ["x://y"]
    assert [fault for fault in pack.faults if "secret" in fault] == [
        "3 of the tools repeat a secret of the settings.",
        "1 of the resources repeat a secret of the settings.",
        "1 of the prompts repeat a secret of the settings.",
    ]
