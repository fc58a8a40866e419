"""What an agent sees: everything, or a few tools and a way to the others; and calls that are passed on."""

import json
import re
from typing import Any

import pytest
from structlog.testing import capture_logs

from dogubako import Effect, tool
from dogubako.app import Toolbox, build
from dogubako.contract.call import TRUSTED, Caller
from dogubako.engine.discovery import Discovery
from dogubako.packs.core.pack import CORE
from dogubako.settings import Sources
from dogubako.tools import BaseTool, ToolArgs, ToolPack, ToolResult
from dogubako.transports.mcp import lists as listing
from tests.real_tokenizers import claude_tokens, mistral_tokens

from .boxes import box_of

FINDERS = ["call_tool", "describe_tool", "search_tools"]


@tool(effect=Effect.READ)
async def add(first: int, second: int = 0) -> str:
    """Add two numbers. The second may be left out."""
    return str(first + second)


@tool(effect=Effect.WRITE)
async def note(text: str) -> str:
    """Write a note."""
    return f"noted {text}"


class DropArgs(ToolArgs):
    table: str


class Drop(BaseTool[DropArgs]):
    """Drop a table."""

    name = "drop_table"
    effect = Effect.DESTROY

    async def execute(self, args: DropArgs) -> Any:
        return f"dropped {args.table}"


def box(*more: Any, **settings: Any) -> Toolbox:
    return box_of(add, note, Drop, *more, packs=[CORE], **settings)


def many(count: int) -> list[Any]:
    """Tools as people write them: with a few arguments and sentences."""

    def made(number: int) -> Any:
        async def execute(customer: str, amount: float, remark: str = "") -> str:
            """Book an amount for a customer, with a remark that appears on the invoice. Amounts are in euros."""
            return customer

        execute.__name__ = f"book_invoice_{number}"
        return tool(effect=Effect.WRITE)(execute)

    return [made(number) for number in range(count)]


def listed(inside: Toolbox, caller: Caller = TRUSTED) -> list[str]:
    return [one["name"] for one in listing.tools(inside, caller)["tools"]]


def texts(result: ToolResult) -> list[str]:
    return [block["text"] for block in result.content]


def test_where_all_tools_are_shown_the_finders_are_not() -> None:
    assert listed(box(discovery="full")) == ["read_more", "add", "drop_table", "note"]


def test_where_agents_search_they_see_the_finders_and_what_is_pinned() -> None:
    pinned = ToolPack("mine", many(1), pinned=True)

    assert listed(box(discovery="search")) == ["call_tool", "describe_tool", "read_more", "search_tools"]
    assert listed(box(discovery="search", pinned_tools="note,nosuch"))[-1] == "note"
    assert listed(box_of(add, packs=[CORE, pinned], discovery="search"))[-1] == "book_invoice_0"


@pytest.mark.parametrize(
    ("count", "searching"),
    [pytest.param(5, False, id="a handful is shown"), pytest.param(200, True, id="too many are searched for")],
)
def test_by_default_the_cost_of_the_definitions_decides(count: int, searching: bool) -> None:
    inside = box(*many(count))

    assert (listed(inside)[:3] == [*FINDERS[:2], "read_more"]) is searching
    assert ("search_tools" in listing.instructions(inside, TRUSTED)) is searching


def test_light_lists_every_tool_by_name_and_one_line() -> None:
    inside = box(*many(200), discovery="light")
    shown = {one["name"]: one for one in listing.tools(inside, TRUSTED)["tools"]}

    assert {"describe_tool", "read_more", "add", "book_invoice_199"} <= shown.keys()
    assert not {"search_tools", "call_tool"} & shown.keys()
    assert shown["add"] == {"name": "add", "description": "Add two numbers", "inputSchema": {"type": "object"}}
    for one in shown.values():
        if one["inputSchema"] == {"type": "object"}:
            assert claude_tokens(f"{one['name']}: {one['description']}") <= 30
    assert "describe_tool shows the arguments" in listing.instructions(inside, TRUSTED)


@pytest.mark.parametrize(
    ("discovery", "helped"),
    [
        pytest.param("light", True, id="a line in the list has no arguments"),
        pytest.param("search", True, id="not listed at all"),
        pytest.param("full", False, id="the schema was listed"),
    ],
)
async def test_a_wrong_argument_is_answered_with_a_schema_that_was_not_listed(discovery: str, helped: bool) -> None:
    inside = box(discovery=discovery)
    wrong = await inside.call("add", {"one": 1})
    right = await inside.call("add", {"first": 1})

    assert ("The arguments of add: " in " ".join(texts(wrong))) is helped
    assert not right.is_error


@pytest.mark.parametrize(
    ("count", "shown"),
    [
        pytest.param(5, "full", id="all fit"),
        pytest.param(60, "light", id="names fit"),
        pytest.param(300, "search", id="not even names fit"),
    ],
)
def test_by_default_the_cheapest_way_that_shows_enough_is_taken(count: int, shown: str) -> None:
    inside = box(*many(count))

    assert Discovery("auto", most_tokens=4_000).shown(inside.registry.list()) == shown


def test_the_instructions_have_a_map_of_what_this_caller_may_use() -> None:
    inside = box(*many(200), discovery="search")
    reader = Caller(name="reader", scopes=frozenset({"read"}))

    assert "- test (203): book, invoice" in listing.instructions(inside, TRUSTED)
    assert "invoice" not in listing.instructions(inside, reader)


def test_a_line_of_the_map_is_short() -> None:
    inside = build(Sources(overrides={"discovery": "search", "sandbox": True}, environ={}, env_file=None))
    text = listing.instructions(inside, TRUSTED)
    lines = [line for line in text.splitlines() if line.startswith("- ")]

    assert {line.split()[1] for line in lines} == {"n8n", "redmine", "web"}
    assert all(claude_tokens(line) <= 30 for line in lines)


def test_only_tools_that_the_caller_may_use_count() -> None:
    inside = box(*many(200))

    assert "search_tools" in listed(inside, Caller(name="writer", scopes=frozenset({"write"})))
    assert listed(inside, Caller(name="reader", scopes=frozenset({"read"}))) == ["read_more", "add"]


async def test_no_call_changes_what_is_listed() -> None:
    inside = box(discovery="search")
    before = listing.tools(inside, TRUSTED)

    for name, arguments in (
        ("search_tools", {"query": "add numbers"}),
        ("describe_tool", {"name": "add"}),
        ("call_tool", {"name": "add", "arguments": {"first": 1}}),
    ):
        assert not (await inside.call(name, arguments)).is_error
        assert listing.tools(inside, TRUSTED) == before


async def test_a_search_names_tools_and_how_to_go_on() -> None:
    result = await box(discovery="search").call("search_tools", {"query": "add two numbers"})

    # The number is the probability, which every new fit changes.
    assert re.fullmatch(r"add\(first, …\): Add two numbers \(0\.\d\d\)", texts(result)[0].splitlines()[0])
    assert texts(result)[0].splitlines()[-1].endswith("call_tool(name, arguments) calls it.")
    assert result.count is not None and result.count >= 1


@pytest.mark.parametrize("query", ["xyzzy", "transcribe this audio recording", "sum up all the unpaid invoices"])
async def test_a_doubtful_search_names_the_two_nearest_as_such(query: str) -> None:
    found = await box(discovery="search").call("search_tools", {"query": query})

    lines = texts(found)[0].splitlines()
    assert lines[0].startswith("Nothing here does that")
    assert lines[1] == "Nearest, but probably not meant:"
    assert sum("(" in line for line in lines[2:4]) == 2 and lines[4] == ""
    assert found.count == 0 and not found.is_error


async def test_a_search_without_a_word_says_that_nothing_fits() -> None:
    found = await box(discovery="search").call("search_tools", {"query": "!?"})

    assert texts(found) == ["Nothing here does that: none of 11 tools fits. Try other words."]


async def test_a_search_does_not_find_itself() -> None:
    named = await box(discovery="search").call("search_tools", {"query": "search_tools"})

    assert "\nsearch_tools(" not in f"\n{texts(named)[0]}"


async def test_a_description_has_the_schema_and_the_call() -> None:
    result = await box().call("describe_tool", {"name": "add"})

    data = result.value["data"]
    assert data["inputSchema"]["required"] == ["first"]
    assert data["annotations"]["readOnlyHint"] is True
    assert data["_guidance"]["example"] == "call_tool(name: 'add', arguments: {})"


async def test_what_cannot_be_called_cannot_be_described() -> None:
    inside = box(read_only=True)
    inside.registry.disable("add")

    for name, code in (("add", "TOOL_DISABLED"), ("nosuch", "TOOL_NOT_FOUND"), ("note", "READ_ONLY")):
        assert (await inside.call("describe_tool", {"name": name})).code == code


PASSED_ON = [
    pytest.param("add", {"first": 2, "second": 3}, {}, id="a success"),
    pytest.param("note", {"text": "x"}, {"read_only": True}, id="a refusal of a read-only server"),
    pytest.param("drop_table", {"table": "t"}, {}, id="a missing confirmation"),
    pytest.param("drop_table", {"table": "t", "confirm": True}, {}, id="a confirmed deletion"),
]


@pytest.mark.parametrize(("name", "arguments", "settings"), PASSED_ON)
async def test_a_call_that_is_passed_on_is_answered_as_the_tool_itself(
    name: str, arguments: dict[str, Any], settings: dict[str, Any]
) -> None:
    inside = box(**settings)
    direct = await inside.call(name, arguments)

    passed = await inside.call("call_tool", {"name": name, "arguments": arguments})

    assert passed.to_mcp() == direct.to_mcp()


async def test_a_wrong_argument_is_answered_with_the_schema_so_that_the_second_try_succeeds() -> None:
    inside = box()

    wrong = await inside.call("call_tool", {"name": "add", "arguments": {"frist": 1}})

    message, hint = texts(wrong)
    assert message == "Required parameter missing: first; Unknown parameter: frist (did you mean first?)"
    schema = json.loads(hint.split("The arguments of add: ", 1)[1])
    assert schema["properties"].keys() == {"first", "second"}
    assert "The arguments" not in str(texts(await inside.call("add", {"frist": 1})))


async def test_an_unknown_name_is_a_failed_call_with_the_nearest_names() -> None:
    result = await box().call("call_tool", {"name": "ad", "arguments": {}})

    assert (result.code, result.is_error) == ("TOOL_NOT_FOUND", True)
    assert result.error is not None and result.error.asked_directly is False  # type: ignore[attr-defined]
    assert texts(result)[1] == "Did you mean add?"


@pytest.mark.parametrize("name", ["call_tool", "search_tools"])
async def test_finders_may_be_passed_on_but_passing_on_may_not(name: str) -> None:
    result = await box().call("call_tool", {"name": name, "arguments": {"query": "add"}})

    assert result.code == ("VALIDATION_ERROR" if name == "call_tool" else "OK")


async def test_the_log_names_the_tool_that_ran() -> None:
    inside = box()
    with capture_logs() as lines:
        await inside.call("call_tool", {"name": "add", "arguments": {"first": 1}})

    completed = [line["tool"] for line in lines if line["event"] == "Tool completed"]
    assert completed == ["add"]


def test_passing_on_says_that_it_may_do_anything() -> None:
    annotations = box().registry.get("call_tool").metadata.annotations

    assert annotations == {
        "readOnlyHint": False,
        "destructiveHint": True,
        "idempotentHint": False,
        "openWorldHint": True,
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    "count_tokens", [pytest.param(claude_tokens, id="Claude"), pytest.param(mistral_tokens, id="Mistral")]
)
async def test_a_thousand_tools_cost_no_more_context_than_a_handful(count_tokens: Any) -> None:
    inside = box(*many(1_000))

    seen = json.dumps(listing.tools(inside, TRUSTED), separators=(",", ":"))
    found = texts(await inside.call("search_tools", {"query": "book an amount for a customer on an invoice"}))[0]

    assert len(inside.registry.list()) > 1_000
    assert count_tokens(seen) <= 1_500
    # On a busy machine a last line says how many tools are not indexed yet.
    assert found.count("\n") in (9, 10) and count_tokens(found) <= 600
