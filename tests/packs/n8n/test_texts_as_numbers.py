"""Numbers and dates that a workflow handles as texts, without an error: joined by `+`, or put in the order of texts."""

import pytest

from dogubako.packs.n8n.diagnosis.replay_quiet import ordered_otherwise
from dogubako.packs.n8n.diagnosis.report import Diagnosis

from .made import JsonObject, as_read, items, made, node, run


def explained(code: str, rows: list[JsonObject], *result: JsonObject) -> str:
    runs = {"Rows": [run(items(*rows))], "Use": [run(items(*result), after="Rows")]}
    return str(Diagnosis(as_read(made(runs, node("Use", code), status="success"))).report()["explanation"])


@pytest.mark.parametrize(
    ("rows", "total", "noticed"),
    [
        ([{"n": "3"}, {"n": "4"}], "034", True),
        ([{"n": 3}, {"n": 4}], 7, False),
        ([{"n": " EUR"}], "0 EUR", False),
    ],
)
def test_texts_that_were_to_be_added_are_noticed(rows: list[JsonObject], total: object, noticed: bool) -> None:
    code = "return [{ json: { total: items.reduce((sum, i) => sum + i.json.n, 0) } }];"

    assert ("+ joins texts and does not add them" in explained(code, rows, {"total": total})) is noticed


@pytest.mark.parametrize(
    ("one", "other", "kind"),
    [
        ("9", "18", "numbers"),
        ("09", "18", None),
        ("02.12.2026", "18.11.2026", "dates"),
        ("2026-12-02", "2026-11-18", None),
        ("b", "a", None),
    ],
)
def test_an_order_of_texts_is_noticed_where_it_is_another_one(one: str, other: str, kind: str | None) -> None:
    code = "return items.filter((i) => i.json.a < i.json.b);"
    words = explained(code, [{"a": one, "b": other}], {"a": one, "b": other})

    assert (f"as texts, not as {kind}" in words) is (kind is not None)


@pytest.mark.parametrize(
    ("one", "other", "differs"),
    [
        ("02.12.2026", "18.11.2026", True),
        # As a month of May or the fifth of some month, it is the earlier one as a text, too.
        ("05/01/2026", "06/02/2026", False),
        # Day first, it is later; month first, it is earlier.
        ("03/04/2026", "04/03/2026", False),
        ("31/12/2025", "01/01/2026", True),
        ("same", "other", False),
    ],
)
def test_dates_are_ordered_otherwise_only_if_both_readings_say_so(one: str, other: str, differs: bool) -> None:
    assert ordered_otherwise(one, other) is differs
