"""Texts into which a node wrote null, NaN or Infinity, and those that are as they are meant."""

from typing import Any

import pytest

from dogubako.packs.n8n.diagnosis.replay.luxon import luxon_call
from dogubako.packs.n8n.diagnosis.replay.values import Val
from dogubako.packs.n8n.diagnosis.report import Diagnosis

from .made import JsonObject, as_read, items, made, node, run, wires

SET = "n8n-nodes-base.set"


def told(expression: str, read: list[JsonObject], written: list[str]) -> str:
    """What is said of a Set node that made a text of each of its items."""
    rows = {"assignments": [{"name": "text", "type": "string", "value": f"={expression}"}]}
    letter = node("Letter", type=SET, parameters={"assignments": rows})
    given = [{**one, "text": text} for one, text in zip(read, written, strict=True)]
    runs = {"Rows": [run(items(*read))], "Letter": [run(items(*given), after="Rows")]}
    return str(Diagnosis(as_read(made(runs, letter, status="success"))).report()["explanation"])


@pytest.mark.parametrize(
    ("expression", "read", "written", "said"),
    [
        ("{{ 'Dear ' + $json.name }}", {"name": None}, "Dear null", "text is 'Dear null': name is null"),
        ("{{ `Dear ${$json.name}` }}", {"name": None}, "Dear null", "text is 'Dear null': name is null"),
        ("{{ 'Dear ' + $json.name }}", {"name": "null"}, "Dear null", "No rule found"),
        ("{{ 'Dear ' + ($json.name ?? '') }}", {"name": None}, "Dear ", "No rule found"),
        ("{{ '{\"name\":' + $json.name + '}' }}", {"name": None}, '{"name":null}', "No rule found"),
        ("{{ 60 / $json.n }} km {{ $json.by }}", {"n": 0, "by": "sea"}, "Infinity km sea", "n is 0 (number), so 60"),
        ("{{ 60 / $json.n }} km {{ $json.by }}", {"n": "0", "by": "sea"}, "Infinity km sea", "which counts as 0"),
        ("{{ 6 / ($json.n - 2) }} km", {"n": 2}, "Infinity km", "it divides by 0, made from n, which is 2 (number)"),
        (
            "{{ $json.n * 2 }} km {{ $json.by }}",
            {"n": "two", "by": "sea"},
            " km sea",
            'n is "two" (string), with which',
        ),
        ("{{ $json.n.toString() }} km", {"n": None}, " km", "n is null (null), from 'Rows'"),
        ("{{ $json.a + $json.b }}", {"a": "030", "b": "1234"}, "0301234", "No rule found"),
        ("{{ $json.a + 2 }}", {"a": "12"}, "122", 'text is "122" (string): + joins texts and does not add them'),
    ],
)
def test_what_made_a_text_odd_is_told(expression: str, read: JsonObject, written: str, said: str) -> None:
    assert said in told(expression, [read], [written])


def test_a_field_that_came_without_a_value_may_be_optional() -> None:
    rows: list[JsonObject] = [{"name": "Li", "title": "Dr"}, {"name": "Wu", "title": None}]

    assert "No rule found" in told("{{ $json.title }} {{ $json.name }}", rows, ["Dr Li", " Wu"])


@pytest.mark.parametrize(
    ("text", "unread"),
    [
        ("2026-11-03", False),
        ("20261103", False),
        ("2026-W45-2", False),
        ("2026-307", False),
        ("2026-11-03T10:00:00.123+09:00[Asia/Tokyo]", False),
        ("2026-11-03T10:00Z", False),
        ("T10:00", False),
        ("2026-11", False),
        ("2026-11-03 10:00", True),
        ("2026年11月3日", True),
        ("2026-13-03", True),
        ("3.11.2026", True),
        ("soon", True),
    ],
)
def test_what_luxon_reads_as_iso_is_known(text: str, unread: bool) -> None:
    made_of_it: Any = luxon_call("fromISO", [Val(text)])

    assert made_of_it.is_known is unread


FILTERED = "return $input.all().filter(i => i.json.open).map((i, k) => ({json: {id: i.json.id}, pairedItem: PAIRED}));"


@pytest.mark.parametrize(("paired", "noticed"), [(0, True), (1, False)])
def test_items_that_are_paired_by_their_new_position_are_told(paired: int, noticed: bool) -> None:
    rows: list[JsonObject] = [{"id": "a", "open": False, "who": "Li"}, {"id": "b", "open": True, "who": "Wu"}]
    kept = items({"id": "b"})
    kept[0]["pairedItem"] = {"item": paired}
    reader = node("Who", "return {json: {who: $('Rows').item.json.who}};")
    runs = {
        "Rows": [run(items(*rows))],
        "Open": [run(kept, after="Rows")],
        "Who": [run(items({"who": rows[paired]["who"]}), after="Open")],
    }
    execution = made(runs, node("Open", FILTERED), reader, status="success")
    execution["workflowData"]["connections"] = wires("Rows", "Open", "Who")
    report = Diagnosis(as_read(execution)).report()

    assert ("it pairs its item 0 with item 0 of 'Rows'" in report["explanation"]) is noticed
