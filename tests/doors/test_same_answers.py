"""One path, many doors: the same call gets the same answer through each of them."""

import re
from typing import Any

import pytest

from dogubako.contract import errors
from dogubako.contract.errors import DogubakoError
from dogubako.loading import load_file
from dogubako.testing import parse_call

from .answers import Answer
from .processes import WORKBENCH
from .speakers import KINDS, InMemory, Speaker, prescribed_frame

CONTROL_CHARACTERS = "".join(map(chr, range(32))) + "\x7f\x85\u2028\u2029\ufeff"

TEXTS = [
    pytest.param("hello", id="plain"),
    pytest.param("", id="empty"),
    pytest.param("道具箱 – “quotes” ñ ß Ω \u0627\u0644", id="many scripts"),
    pytest.param("👩‍👩‍👧‍👦 🇯🇵 🧰 \U0010ffff", id="emoji"),
    pytest.param(CONTROL_CHARACTERS, id="control characters"),
    pytest.param("line\nbreak\r\nand\ttab", id="line breaks"),
    pytest.param("<b>&amp;</b> \\ \\n \\u0041 %s {x} $HOME", id="markup and escapes"),
    pytest.param('{"success":false,"isError":true}', id="text that looks like an answer"),
    pytest.param("word " * 60_000, id="far too long"),
]


def ask_both(
    door: Speaker, memory: InMemory, name: str, arguments: dict[str, Any], options: dict[str, Any] | None = None
) -> Answer:
    """The door's answer, once it has been found equal to Python's."""
    answer = door.call(name, arguments, options)

    assert answer.comparable() == memory.call(name, arguments, options).comparable()
    assert answer.frame == prescribed_frame(door.kind, answer.code)
    return answer


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_comes_back_unchanged_or_visibly_cut(door: Speaker, memory: InMemory, text: str) -> None:
    answer = ask_both(door, memory, "echo", {"text": text})

    assert not answer.is_error
    if len(text) < 1000 and not text.startswith("{"):
        assert answer.text == text
    elif len(text) > 1000:
        assert "more characters]" in answer.text and "Left out to fit" in answer.text


def test_a_question_without_a_tool_is_doubted_at_every_door(door: Speaker, memory: InMemory) -> None:
    answer = ask_both(door, memory, "search_tools", {"query": "transcribe this audio recording"})

    assert answer.text.startswith("Nothing here does that")
    assert len(re.findall(r"^\w+\(", answer.text, re.MULTILINE)) == 2


def test_a_slow_call_is_answered_in_full(door: Speaker, memory: InMemory) -> None:
    assert ask_both(door, memory, "slow", {"seconds": 0.1}).text == "Took 0.1 s."


def test_a_picture_arrives_as_a_picture(door: Speaker, memory: InMemory) -> None:
    answer = ask_both(door, memory, "picture", {})

    assert [(one["type"], one["mimeType"]) for one in answer.content] == [("image", "image/png")]


def test_a_small_list_arrives_whole(door: Speaker, memory: InMemory) -> None:
    answer = ask_both(door, memory, "big", {"items": 3})

    assert [item["id"] for item in answer.envelope["data"]["items"]] == [0, 1, 2]
    assert "_truncated" not in answer.envelope


def test_a_long_list_is_cut_and_its_next_call_goes_on_exactly_there(door: Speaker, memory: InMemory) -> None:
    first = ask_both(door, memory, "big", {"items": 5_000}).envelope
    shown = first["data"]["items"]
    name, arguments = parse_call(first["_truncated"]["next"])
    second = ask_both(door, memory, name, arguments).envelope

    assert [item["id"] for item in shown] == list(range(len(shown)))
    assert 100 < len(shown) < 5_000
    assert first["_truncated"]["leftOut"] == [
        {"path": "data.items", "shown": len(shown), "total": 5_000, "unit": "items"}
    ]
    assert second["data"]["items"][0]["id"] == len(shown)


def test_whoever_cannot_be_asked_hears_what_is_needed(door: Speaker, memory: InMemory) -> None:
    answer = ask_both(door, memory, "ask", {"question": "Which colour?"})

    assert answer.code == "CAPABILITY_REQUIRED"
    assert answer.text == "This tool needs a client that supports elicitation."


def _codes() -> dict[str, type[DogubakoError]]:
    classes = [value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, DogubakoError)]
    return {one.code: one for one in classes if one.is_error}


def test_the_workbench_can_fail_in_every_way_there_is() -> None:
    assert set(failure_kinds()) == _codes().keys() | {"unexpected"}


def failure_kinds() -> list[str]:
    fail = next(one for one in load_file(WORKBENCH).tools if one.name == "fail")
    assert not isinstance(fail, type)
    return list(fail.metadata.input_schema["properties"]["kind"]["enum"])


@pytest.mark.parametrize("kind", failure_kinds())
def test_a_failure_reads_the_same(door: Speaker, memory: InMemory, kind: str) -> None:
    answer = ask_both(door, memory, "fail", {"kind": kind})

    assert answer.is_error
    if kind == "unexpected":
        assert (answer.code, answer.text) == ("TOOL_EXECUTION_ERROR", "Tool execution failed: fail")
        assert answer.error_id
    else:
        assert answer.code == kind


def test_two_failures_have_two_references(door: Speaker) -> None:
    first, second = (door.call("fail", {"kind": "unexpected"}) for _ in range(2))

    assert first.error_id and second.error_id and first.error_id != second.error_id


BAD_CALLS = [
    pytest.param("echo", {}, ["Required parameter missing: text"], id="missing"),
    pytest.param("echo", {"text": "a", "more": 1}, ["Unknown parameter: more"], id="extra"),
    pytest.param("echo", {"txt": "a"}, ["Required parameter missing: text", "Unknown parameter: txt"], id="misspelt"),
    pytest.param("echo", {"text": 1}, ["Invalid type for parameter text: expected string"], id="number for text"),
    pytest.param("echo", {"text": None}, ["Invalid type for parameter text: expected string"], id="null for text"),
    pytest.param("echo", {"text": ["a"]}, ["Invalid type for parameter text: expected string"], id="list for text"),
    pytest.param("big", {"items": "3"}, ["Invalid type for parameter items: expected integer"], id="text for number"),
    pytest.param("big", {"items": True}, ["Invalid type for parameter items: expected integer"], id="bool for number"),
    pytest.param("big", {"items": 1.5}, ["Invalid type for parameter items: expected integer"], id="half a number"),
    pytest.param("big", {"items": -1}, ["Invalid value for parameter items"], id="too small"),
    pytest.param("big", {"items": 10**30}, ["Invalid value for parameter items"], id="huge"),
    pytest.param("fail", {"kind": "NOTHING"}, ["Invalid value for parameter kind"], id="not in the list"),
    pytest.param("ask", {"question": ""}, ["Invalid value for parameter question"], id="too short"),
    pytest.param(
        "big",
        {"items": "x", "offset": -1, "more": 1},
        ["parameter items: expected integer", "parameter offset", "Unknown parameter: more"],
        id="three at once",
    ),
]


@pytest.mark.parametrize(("name", "arguments", "sentences"), BAD_CALLS)
def test_wrong_arguments_are_all_named_at_once(
    door: Speaker, memory: InMemory, name: str, arguments: dict[str, Any], sentences: list[str]
) -> None:
    answer = ask_both(door, memory, name, arguments)

    assert answer.is_error and answer.code == "VALIDATION_ERROR"
    assert all(sentence in answer.text for sentence in sentences)
    assert len(answer.facts["details"]) == len(sentences)


def test_an_unknown_tool_is_named_with_the_nearest_one(door: Speaker, memory: InMemory) -> None:
    answer = ask_both(door, memory, "ecco", {"text": "hello"})

    assert (answer.code, answer.text) == ("TOOL_NOT_FOUND", "Tool not found: ecco")
    assert "echo" in answer.facts["hint"]


def test_a_tool_of_an_unconfigured_pack_says_which_setting_opens_it(door: Speaker, memory: InMemory) -> None:
    answer = ask_both(door, memory, "locked", {})

    assert (answer.code, answer.text) == ("TOOL_DISABLED", "Tool is disabled: locked")
    assert "CLOSED_URL" in answer.facts["hint"]


def test_a_smaller_budget_is_kept(door: Speaker, memory: InMemory) -> None:
    answer = ask_both(door, memory, "big", {"items": 100}, {"maxTokens": 500})

    assert 0 < len(answer.envelope["data"]["items"]) < 100
    assert answer.envelope["_truncated"]["message"].startswith("Left out to fit ")
    assert answer.envelope["_truncated"]["next"].startswith("big(")


BAD_OPTIONS = [
    pytest.param({"timeout": 0}, "Invalid value for parameter options.timeout", id="no time"),
    pytest.param({"maxTokens": 1}, "Invalid value for parameter options.maxTokens", id="no budget"),
    pytest.param({"timeout": 120_001}, "parameter options.timeout: must be at most 120000", id="too much time"),
    pytest.param({"maxTokens": 25_001}, "parameter options.maxTokens: must be at most 25000", id="too large a budget"),
    pytest.param({"timeout": 0, "maxTokens": 1}, "parameter options.maxTokens", id="both"),
]


@pytest.mark.parametrize(("options", "sentence"), BAD_OPTIONS)
@pytest.mark.parametrize("door", [kind for kind in KINDS if kind != "memory"], indirect=True)
def test_wrong_options_are_named_like_wrong_arguments(door: Speaker, options: dict[str, Any], sentence: str) -> None:
    answer = door.call("echo", {"text": "a"}, options)

    assert (answer.is_error, answer.code) == (True, "VALIDATION_ERROR")
    assert sentence in answer.text
    assert [one["field"] for one in answer.facts["details"]] == [f"options.{name}" for name in options]


def test_a_shorter_timeout_ends_the_call(door: Speaker, memory: InMemory) -> None:
    answer = ask_both(door, memory, "slow", {"seconds": 50}, {"timeout": 60})

    assert (answer.code, answer.text) == ("TIMEOUT", "Execution timeout after 60ms")
    assert answer.facts["retryable"] is True
