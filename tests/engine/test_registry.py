"""The registry: which tools there are, in which order, and which version answers."""

import itertools
from typing import Any

import pytest

from dogubako import Effect, tool
from dogubako.contract.errors import ToolNotFoundError
from dogubako.engine.registration import ListFilter, RegisterOptions, RegistrationError
from dogubako.engine.registry import RegistryChange, ToolRegistry
from dogubako.tools import FunctionTool, SchemaTool, ToolCall, ToolExample

from .boxes import box_of


def made(name: str = "echo", *, doc: str = "Say it back.", **options: Any) -> FunctionTool[..., Any]:
    async def function(text: str = "") -> str:
        return text

    function.__doc__ = doc
    return tool(name=name, **options)(function)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        pytest.param("", "Tool name is required", id="nothing"),
        pytest.param("  ", "Tool name is required", id="blanks"),
        pytest.param("Echo", "must start with a lowercase letter", id="capital letter"),
        pytest.param("1echo", "must start with a lowercase letter", id="digit first"),
        pytest.param("_echo", "must start with a lowercase letter", id="underscore first"),
        pytest.param("echo text", "must start with a lowercase letter", id="blank inside"),
        pytest.param("écho", "must start with a lowercase letter", id="not ASCII"),
        pytest.param("echo\n", "must start with a lowercase letter", id="line end"),
        pytest.param("e" * 65, "at most 64 characters", id="too long"),
    ],
)
def test_a_name_that_clients_could_not_call_is_refused(name: str, reason: str) -> None:
    one = made()
    one.name = name
    with pytest.raises(RegistrationError, match=reason):
        ToolRegistry().register(one)


@pytest.mark.parametrize("name", ["e", "e" * 64, "get-execution_by-node2"])
def test_a_name_by_the_rule_is_accepted(name: str) -> None:
    assert ToolRegistry().register(made(name)).name == name


@pytest.mark.parametrize("name", ["API-get-self", "convertTime", "_echo", "1echo"])
def test_a_tool_of_another_server_keeps_a_name_that_mcp_allows(name: str) -> None:
    one = made(name)
    one.foreign = True
    assert ToolRegistry().register(one).name == name


@pytest.mark.parametrize("name", ["echo text", "écho", "echo\n", "e" * 65])
def test_a_tool_of_another_server_needs_a_name_that_clients_can_call(name: str) -> None:
    one = made(name)
    one.foreign = True
    with pytest.raises(RegistrationError, match="at most 64 characters"):
        ToolRegistry().register(one)


@pytest.mark.parametrize("doc", [pytest.param("", id="none"), pytest.param(" \n ", id="blanks")])
def test_a_tool_without_a_description_is_refused(doc: str) -> None:
    with pytest.raises(RegistrationError, match='Tool description is required: "echo"'):
        ToolRegistry().register(made(doc=doc))


def test_a_version_that_cannot_be_compared_is_refused() -> None:
    with pytest.raises(RegistrationError, match='has version "newest", which is not like'):
        ToolRegistry().register(made(version="newest"))


def test_the_same_name_and_version_twice_is_refused_unless_it_is_meant() -> None:
    registry = ToolRegistry()
    registry.register(made())

    with pytest.raises(RegistrationError, match=r'Tool "echo" 1\.0\.0 is already registered'):
        registry.register(made())

    newer = made(doc="Another.")
    registry.register(newer, RegisterOptions(overwrite=True))
    assert registry.get("echo").implementation is newer


def test_an_entry_knows_all_about_its_tool() -> None:
    example = ToolExample(description="Hello", parameters={"text": "hello"})
    registry = ToolRegistry()

    entry = registry.register(
        made(author="Hanako", examples=(example,), tags=("talk",), dependencies=("other",)),
        RegisterOptions(pack="workbench"),
    )

    assert (entry.name, entry.version, entry.author, entry.examples) == ("echo", "1.0.0", "Hanako", (example,))
    assert (entry.tags, entry.dependencies, entry.category) == (("talk",), ("other",), "workbench")
    assert entry.registered_at.tzinfo is not None
    assert entry.definition["name"] == "echo"


def test_options_say_more_than_the_tool() -> None:
    options = RegisterOptions(version="3.0", tags=("a", "b"), category="special", pack="web", enabled=False)

    entry = ToolRegistry().register(made(category="own", tags=("c",)), options)

    assert (entry.version, entry.tags, entry.category, entry.pack) == ("3.0", ("a", "b"), "special", "web")
    assert not entry.enabled


@pytest.mark.parametrize(
    ("own", "pack", "category"),
    [
        pytest.param(None, None, "core", id="nobody says"),
        pytest.param(None, "web", "web", id="the pack's name"),
        pytest.param("mine", "web", "mine", id="unless it says otherwise"),
    ],
)
def test_a_category_is_the_packs_name_unless_the_tool_says_otherwise(
    own: str | None, pack: str | None, category: str
) -> None:
    assert ToolRegistry().register(made(category=own), RegisterOptions(pack=pack)).category == category


def test_the_newest_enabled_version_answers_and_any_can_be_asked_for() -> None:
    registry = ToolRegistry()
    for version in ("1.9.0", "1.10.0", "2.0.0rc1", "1.2.0"):
        registry.register(made(version=version))

    assert registry.get_version("echo") == "2.0.0rc1"
    assert registry.get("echo", "1.2.0").version == "1.2.0"
    assert [entry.version for entry in registry.versions("echo")] == ["2.0.0rc1", "1.10.0", "1.9.0", "1.2.0"]

    registry.disable("echo", "2.0.0rc1")
    assert registry.get_version("echo") == "1.10.0"
    registry.unregister("echo", "1.10.0")
    assert registry.get_version("echo") == "1.9.0"


def test_where_every_version_is_disabled_the_newest_says_so() -> None:
    registry = ToolRegistry()
    for version in ("1.0", "2.0"):
        registry.register(made(version=version))

    registry.disable("echo")

    assert (registry.get_version("echo"), registry.get("echo").enabled) == ("2.0", False)


def test_a_tool_that_is_switched_off_is_not_answered_by_its_older_version() -> None:
    registry = ToolRegistry()
    for version in ("1.0", "2.0"):
        registry.register(made(version=version))

    assert not registry.disable("echo").enabled
    assert not any(entry.enabled for entry in registry.versions("echo"))
    assert registry.enable("echo").version == "2.0"


def test_an_unknown_name_gets_the_nearest_ones() -> None:
    registry = ToolRegistry()
    for name in ("show_issue", "show_issues", "delete_project"):
        registry.register(made(name))

    with pytest.raises(ToolNotFoundError, match="Tool not found: show_isue") as caught:
        registry.get("show_isue")
    assert caught.value.hint == "Did you mean show_issue or show_issues?"

    with pytest.raises(ToolNotFoundError) as caught:
        registry.get("x" * 500)
    assert len(caught.value.message) < 250
    assert caught.value.hint == "tools/list or `dogubako tools list` has the names."


def test_an_unknown_version_gets_the_known_ones() -> None:
    registry = ToolRegistry()
    for version in ("1.10", "1.9"):
        registry.register(made(version=version))

    with pytest.raises(ToolNotFoundError, match=r"Tool not found: echo 3\.0") as caught:
        registry.get("echo", "3.0")
    assert caught.value.hint == "Known versions: 1.9, 1.10."


def test_the_order_does_not_depend_on_who_came_first() -> None:
    tools = [("b_tool", "1.0"), ("a_tool", "1.0"), ("a_tool", "1.0.0"), ("c_tool", "1.0")]
    seen = set()
    for order in itertools.permutations(tools):
        registry = ToolRegistry()
        for name, version in order:
            registry.register(made(name, version=version), RegisterOptions(pack="z" if name == "a_tool" else "y"))
        listed = tuple((entry.category, entry.name, entry.version) for entry in registry.list())
        seen.add((listed, tuple(match.entry.name for match in registry.search("say it back"))))

    listed = (("y", "b_tool", "1.0"), ("y", "c_tool", "1.0"), ("z", "a_tool", "1.0.0"))
    ((only_listed, only_found),) = seen
    assert only_listed == listed
    assert set(only_found) == {"a_tool", "b_tool", "c_tool"}


def test_filters_select_and_several_tags_mean_all_of_them() -> None:
    registry = ToolRegistry()
    registry.register(made("one", tags=("red", "round")), RegisterOptions(pack="toys"))
    registry.register(made("two", tags=("red",)), RegisterOptions(pack="toys"))
    registry.register(made("three", tags=("red", "round")), RegisterOptions(pack="food"))
    registry.disable("three")

    def names(entries: Any) -> list[str]:
        return [entry.name for entry in entries]

    assert names(registry.filter_by_tag("red", "round")) == ["three", "one"]
    assert names(registry.filter_by_tag("blue")) == []
    assert names(registry.filter_by_category("toys")) == ["one", "two"]
    assert names(registry.list(ListFilter(enabled=True))) == ["one", "two"]
    assert names(registry.list(ListFilter(enabled=False))) == ["three"]
    assert names(registry.list(ListFilter(category="toys", tags=("round",), enabled=True))) == ["one"]


def test_every_change_is_heard_until_one_stops_listening() -> None:
    registry = ToolRegistry()
    heard: list[RegistryChange] = []
    stop = registry.subscribe(heard.append)

    registry.register(made())
    registry.disable("echo")
    registry.enable("echo")
    registry.unregister("echo")
    stop()
    registry.register(made())

    assert [(change.kind, change.name, change.version) for change in heard] == [
        ("registered", "echo", "1.0.0"),
        ("disabled", "echo", "1.0.0"),
        ("enabled", "echo", "1.0.0"),
        ("unregistered", "echo", "1.0.0"),
    ]
    assert registry.generation == 5


def test_unregistering_removes_one_version_or_all_and_forgets_switches() -> None:
    registry = ToolRegistry()
    for version in ("1.0", "2.0"):
        registry.register(made(version=version))
    registry.disable("echo", "1.0")

    registry.unregister("echo", "2.0")
    assert [entry.version for entry in registry.versions("echo")] == ["1.0"]
    registry.unregister("echo")
    with pytest.raises(ToolNotFoundError):
        registry.get("echo")
    with pytest.raises(ToolNotFoundError):
        registry.unregister("echo")

    assert registry.register(made(version="1.0")).enabled, "a tool that comes back is not off because its namesake was"


async def test_a_registered_tool_can_be_executed() -> None:
    assert (await box_of(made()).registry.execute("echo", {"text": "hi"})).value == "hi"
    with pytest.raises(RuntimeError, match="no pipeline"):
        await ToolRegistry().execute("echo", {})


async def test_a_call_may_ask_for_a_version() -> None:
    async def act(arguments: Any, context: Any) -> str:
        return "old"

    old = SchemaTool("echo", "Old.", {"type": "object"}, act, effect=Effect.READ, version="0.9")
    box = box_of(made(), old)

    assert (await box.call("echo", {"text": "new"})).value == "new"
    assert (await box.pipeline.handle(ToolCall(name="echo", version="0.9"))).value == "old"
    assert (await box.pipeline.handle(ToolCall(name="echo", version="0.1"))).code == "TOOL_NOT_FOUND"
