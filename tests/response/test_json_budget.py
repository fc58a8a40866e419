"""Every JSON answer fits its budget, parses, and says truthfully what was left out."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dogubako.contract.call import Resume
from dogubako.output import Guidance, Json, NextPage, example_call
from dogubako.response.builder import ToolResponseBuilder
from dogubako.response.continuation import Continuation
from dogubako.response.json import fit_page
from dogubako.response.jsonable import to_plain
from dogubako.response.tokens import count_tokens
from dogubako.testing import parse_call
from dogubako.tools import ToolResult
from tests.hypothesis_profiles import examples

BUDGETS = st.integers(500, 4_000)
KEYS = st.text("abcdefghijkl_日本", min_size=1, max_size=12)
ODD_TEXTS = st.sampled_from(["\ud800", "half \udfff pair", "\x00\x01\x1f", '"quoted" \\ ', "👩‍👩‍👧", "\u2028\ufeff"])
TEXTS = st.one_of(st.text(max_size=30), ODD_TEXTS)
LONG_TEXTS = st.builds(lambda text, times: text * times, TEXTS, st.integers(1, 900))
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), TEXTS)


# Only flat things are repeated; repeated lists of repeated lists would be millions.
FLAT = st.lists(SCALARS, max_size=4) | st.dictionaries(KEYS, SCALARS, max_size=4)
REPEATED = st.builds(lambda item, times: [item] * times, FLAT, st.integers(1, 300))
JSON = st.recursive(
    SCALARS | LONG_TEXTS | REPEATED,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=12),
    max_leaves=12,
)
RECORDS = st.lists(st.fixed_dictionaries({"id": st.integers(0, 10**6), "name": TEXTS}), max_size=12)


def spent(result: ToolResult) -> int:
    return sum(count_tokens(block["text"]) for block in result.content)


def envelope(result: ToolResult) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(result.content[0]["text"])
    return body


def at(data: Any, path: str) -> Any:
    for key in path.split(".")[1:]:
        data = data[int(key)] if isinstance(data, list) else data.get(key)
    return data


@given(JSON, BUDGETS)
@settings(max_examples=examples(150), deadline=None)
def test_any_data_fits_any_budget_and_still_parses(data: Any, max_tokens: int) -> None:
    result = ToolResponseBuilder(max_tokens=max_tokens).success(Json(data=data))

    assert spent(result) <= result.tokens <= max_tokens
    body = envelope(result)
    assert body["success"] is True
    assert ("_truncated" in body) is result.trimmed
    assert result.trimmed is (body["data"] != to_plain(data))


def check_note(body: dict[str, Any], whole: Any) -> None:
    """Each place is named once, with the numbers that one can count in the answer and in what there was."""
    notes = body.get("_truncated", {}).get("leftOut", [])
    assert len({note["path"] for note in notes}) == len(notes)
    for note in notes:
        shown, there_was = at(body["data"], note["path"]), at(whole, note["path"])
        if note["unit"] == "characters":
            assert (note["total"], shown[: note["shown"]]) == (len(there_was), there_was[: note["shown"]])
        elif shown is not None:
            assert (note["shown"], note["total"]) == (len(shown), len(there_was))
        assert note["shown"] < note["total"]
        assert f"{note['total'] - note['shown']:,} of {note['total']:,} {note['unit']}" in body["_truncated"]["message"]


@given(JSON, BUDGETS)
@settings(max_examples=examples(150), deadline=None)
def test_the_note_counts_exactly_what_is_shown_and_what_there_was(data: Any, max_tokens: int) -> None:
    check_note(envelope(ToolResponseBuilder(max_tokens=max_tokens).success(Json(data=data))), to_plain(data))


@given(st.lists(JSON, max_size=5), st.dictionaries(KEYS, JSON, max_size=4), BUDGETS)
@settings(max_examples=examples(150), deadline=None)
def test_the_note_of_a_page_counts_as_well(items: list[Any], others: dict[str, Any], max_tokens: int) -> None:
    data = {**others, "items": items}
    page = NextPage("items", lambda shown: example_call("list_things", offset=shown))

    body = envelope(ToolResponseBuilder(max_tokens=max_tokens).success(Json(data=data, page=page)))

    check_note(body, to_plain(data))
    if "next" in body.get("_truncated", {}):
        assert parse_call(body["_truncated"]["next"])[1]["offset"] == len(body["data"]["items"]) < len(items)


@given(RECORDS, st.integers(1, 60), BUDGETS)
@settings(max_examples=examples(100), deadline=None)
def test_items_are_shown_whole_or_not_at_all(records: list[dict[str, Any]], times: int, max_tokens: int) -> None:
    items = to_plain(records * times)
    page = NextPage("items", lambda shown: example_call("list_things", offset=shown))
    output = Json(data={"items": items, "total": len(items)}, page=page)

    body = envelope(ToolResponseBuilder(max_tokens=max_tokens).success(output))

    shown = body["data"]["items"]
    assert shown == items[: len(shown)]
    assert body["data"]["total"] == len(items)
    if len(shown) < len(items):
        assert parse_call(body["_truncated"]["next"]) == ("list_things", {"offset": len(shown)})


@given(st.lists(st.integers(0, 10**9), min_size=1, max_size=30), st.integers(1, 40), st.integers(500, 1_500))
@settings(max_examples=examples(40), deadline=None)
def test_following_next_to_the_end_gets_every_item_once(some: list[int], times: int, max_tokens: int) -> None:
    builder, numbers = ToolResponseBuilder(max_tokens=max_tokens), some * times
    collected: list[int] = []
    offset: int | None = 0
    while offset is not None:
        start = offset
        page = NextPage("items", lambda shown, start=start: example_call("list_numbers", offset=start + shown))  # type: ignore[misc]
        body = envelope(builder.success(Json(data={"items": numbers[start:]}, page=page)))
        collected += body["data"]["items"]
        call = body.get("_truncated", {}).get("next")
        offset = parse_call(call)[1]["offset"] if call else None

    assert collected == numbers


@given(JSON, TEXTS, LONG_TEXTS, LONG_TEXTS, BUDGETS)
@settings(max_examples=examples(100), deadline=None)
def test_guidance_and_next_are_calls_that_parse_or_are_not_there(
    data: Any, name: str, argument: str, message: str, max_tokens: int
) -> None:
    call = example_call("get_thing", id=argument)
    output = Json(
        data={"items": [data, data], "name": name},
        message=message,
        guidance=Guidance(message="One thing in full.", example=call),
        page=NextPage("items", lambda shown: example_call("list_things", query=argument, offset=shown)),
    )

    result = ToolResponseBuilder(max_tokens=max_tokens).success(output)

    assert spent(result) <= result.tokens <= max_tokens
    body = envelope(result)
    guidance = (body["data"] or {}).get("_guidance")
    assert guidance is None or parse_call(guidance["example"]) == parse_call(to_plain(call))
    if "next" in body.get("_truncated", {}):
        shown = len(body["data"]["items"])
        assert parse_call(body["_truncated"]["next"])[1]["offset"] == shown


def test_a_first_item_that_is_too_long_is_shortened_and_the_others_are_counted() -> None:
    items = [{"id": number, "log": "line of a log " * 500} for number in range(7)]
    page = NextPage("items", lambda shown: example_call("list_runs", offset=shown))

    body = envelope(ToolResponseBuilder(max_tokens=800).success(Json(data={"items": items}, page=page)))

    assert [item["id"] for item in body["data"]["items"]] == [0]
    paths = {note["path"]: (note["shown"], note["total"]) for note in body["_truncated"]["leftOut"]}
    assert paths["data.items"] == (1, 7)
    assert paths["data.items.0.log"][1] == len("line of a log " * 500)
    assert body["_truncated"]["next"] == "list_runs(offset: 1)"


def test_a_list_that_is_not_there_is_no_reason_to_fail() -> None:
    page = NextPage("missing.list", lambda shown: example_call("list_things", offset=shown))

    body = envelope(ToolResponseBuilder(max_tokens=500).success(Json(data={"text": "long " * 2_000}, page=page)))

    assert body["data"]["text"].startswith("long long")
    assert "next" not in body["_truncated"]


def test_many_cuts_are_summed_up_in_one_sentence() -> None:
    data = {f"text{number}": "many words " * 900 for number in range(12)}

    note = envelope(ToolResponseBuilder(max_tokens=4_000).success(Json(data=data)))["_truncated"]

    assert len(note["leftOut"]) == 5
    assert note["message"].endswith("; and 7 more places.")


def test_what_cannot_be_made_smaller_is_left_out_and_counted() -> None:
    body = envelope(ToolResponseBuilder(max_tokens=150).success(Json(data={"17" * 100: 1, "28" * 100: 2})))

    assert body["data"] in ({}, None)
    assert body["_truncated"]["leftOut"][0]["shown"] == 0


def test_a_long_message_is_shortened_before_the_data_is() -> None:
    body = envelope(ToolResponseBuilder(max_tokens=1_000).success(Json(data={"id": 7}, message="word " * 5_000)))

    assert body["data"] == {"id": 7}
    assert body["message"].startswith("word word")
    assert body["_truncated"]["leftOut"][0]["path"] == "message"


@pytest.mark.parametrize(
    "words", [pytest.param(number, id=f"{number} words beside it") for number in range(0, 200, 60)]
)
def test_however_little_room_is_left_for_a_list_it_is_counted_once(words: int) -> None:
    data = {"note": "word " * words, "items": ["a long item " * 400, "b", "c"]}

    for budget in range(60, 700, 20):
        kept, cuts = fit_page(data, budget, "items")
        listed = [(cut.shown, cut.total) for cut in cuts if cut.path == "data.items"]
        assert listed == [(len(kept.get("items", [])), 3)]


@pytest.mark.parametrize("size", [50_000, 9_000_000])
@pytest.mark.parametrize("letter", ["k", "鍵"])
def test_a_long_name_is_cut_and_everything_else_is_kept(letter: str, size: int) -> None:
    data = {"before": 1, letter * size: {"a": [1, 2]}, letter * (size + 1): 3, "after": "text"}
    result = ToolResponseBuilder().success({"outer": data})

    assert list(result.data["outer"].values()) == list(data.values())
    before, first, second, after = result.data["outer"]
    assert (before, after) == ("before", "after")
    assert first == f"{letter * 100}… [{size - 100:,} more characters, 1]"
    assert second != first
    assert json.loads(result.content[0]["text"])["_truncated"]["leftOut"] == [
        {"path": "data.outer", "shown": 2, "total": 4, "unit": "names"}
    ]


def test_what_a_cut_name_holds_can_be_read_on() -> None:
    data = {"k" * 50_000: {"words": ["some words of a text"] * 20_000}}
    asked = Continuation("t", {})
    result = ToolResponseBuilder(continuation=asked).success(data)
    [fields] = result.data.values()
    shown = len(fields["words"])

    assert f"offset: {shown})" in json.loads(result.content[0]["text"])["_truncated"]["next"]
    path = f"{next(iter(result.data))}.words"
    rest = Continuation("t", {}, Resume(path=path, offset=shown)).begin(data)
    assert len(rest.data) == 20_000 - shown


def test_a_long_name_that_fits_stays_whole() -> None:
    assert ToolResponseBuilder().success({"k" * 1_000: 1}).data == {"k" * 1_000: 1}
