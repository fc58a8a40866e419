"""Numbers of items that the data contradict: one page of several, a loop that ends early, keys and items twice."""

from typing import Any

import pytest

from dogubako.packs.n8n.diagnosis.report import Diagnosis

from .branches import from_output, links
from .branches import told as told_of_branches
from .made import JsonObject, as_read, items, made, node, run


def told(runs: dict[str, Any], *nodes: JsonObject) -> JsonObject:
    return Diagnosis(as_read(made(runs, *nodes, status="success"))).report()


def two_lists(left: list[JsonObject], right: list[JsonObject], joined: list[JsonObject], **settings: Any) -> JsonObject:
    """The diagnosis of two lists that a merge joins."""
    merge = node("Join", type="n8n-nodes-base.merge", parameters=settings)
    runs = {
        "Left": [run(items(*left))],
        "Right": [run(items(*right))],
        "Join": [run(items(*joined), after=("Left", "Right"))],
    }
    return told(runs, node("Left"), node("Right"), merge)


@pytest.mark.parametrize(
    ("answer", "noticed"),
    [
        ({"strona": 1, "stron": 3, "razem": 23, "zwroty": [{"nr": one} for one in range(10)]}, True),
        ({"件数": 7, "頁数": 3, "一覧": [1, 2, 3]}, True),
        ({"strona": 1, "stron": 1, "razem": 10, "zwroty": [{"nr": one} for one in range(10)]}, False),
        ({"rok": 2026, "numer": 3, "zwroty": [{"nr": one} for one in range(10)]}, False),
        ({"stron": 3, "razem": 23, "zwroty": [1] * 10, "klienci": [1] * 10}, False),
    ],
)
def test_numbers_that_only_pages_explain_tell_that_there_is_more(answer: JsonObject, noticed: bool) -> None:
    runs = {"Start": [run(items({}))], "Ask": [run(items(answer), after="Start")]}
    report = told(runs, node("Ask", type="n8n-nodes-base.httpRequest"))

    assert ("and it does not ask for more" in report["explanation"]) is noticed


EARLY = "const out = [];\nfor (const one of $input.all()) {\n  out.push({ json: one.json });\n  return out;\n}"


@pytest.mark.parametrize(
    ("code", "noticed"),
    [
        (EARLY, True),
        (EARLY.replace("  return out;\n}", "}\nreturn out.slice(0, 1);"), False),
        (EARLY.replace("  out.push", "  if (one.json.n < 1) continue;\n  out.push"), False),
        (EARLY.replace("  return out;", "  if (one.json.n < 1) return out;"), False),
    ],
)
def test_a_loop_that_returns_in_its_first_round_is_told_with_its_line(code: str, noticed: bool) -> None:
    runs = {
        "Rows": [run(items(*({"n": number} for number in range(4))))],
        "Grade": [run(items({"n": 0}), after="Rows")],
    }
    report = told(runs, node("Grade", code))

    problem = (
        "it was given 4 items and gives out 1: its code returns inside of its loop (line 4), so that ends in its first"
    )
    assert (problem in report["explanation"]) is noticed


@pytest.mark.parametrize("twice", [True, False])
def test_a_key_that_is_there_twice_in_a_list_of_keys_is_told(twice: bool) -> None:
    lines = [{"sku": "T1", "n": 2}, {"sku": "T2", "n": 1}]
    master = [{"sku": "T1", "name": "Cup"}, {"sku": "T2", "name": "Bowl"}]
    joined = [{**one, **other} for one, other in zip(lines, master, strict=True)]
    if twice:
        master.append({"sku": "T1", "name": "Cup (old)"})
        joined.append({"sku": "T1", "n": 2, "name": "Cup (old)"})
    report = two_lists(lines, master, joined, mode="combine", fieldsToMatchString="sku")

    problem = "it makes 3 items of the 2 of 'Left': sku \"T1\" (string) is there 2 times in those of 'Right'"
    assert (problem in report["explanation"]) is twice


def test_many_lines_of_each_key_are_how_such_lists_are() -> None:
    orders: list[JsonObject] = [{"id": 1, "who": "A"}, {"id": 2, "who": "B"}]
    lines: list[JsonObject] = [{"id": key, "sku": f"S{number}"} for number, key in enumerate((1, 1, 2, 2))]
    joined = [{**orders[one["id"] - 1], **one} for one in lines]

    assert "noticed" not in two_lists(orders, lines, joined, mode="combine", fieldsToMatchString="id")


@pytest.mark.parametrize("mail", ["anna@example.com", "other@example.com"])
def test_an_item_that_both_appended_lists_have_comes_twice(mail: str) -> None:
    buyers = [{"email": "anna@example.com", "ok": True}, {"email": "bo@example.com", "ok": False}]
    workshop = [{"email": "cy@example.com", "ok": True}, {"email": mail, "ok": True}]
    report = two_lists(buyers, workshop, [*buyers, *workshop], mode="append")

    told_of = "both of its inputs have an item that is the same in all fields"
    assert (told_of in report["explanation"]) is (mail == "anna@example.com")


@pytest.mark.parametrize("code", [None, "return [{ json: { n: $input.all().length } }];"])
def test_a_node_that_works_on_each_item_may_run_once_for_each_branch(code: str | None) -> None:
    send = node("Send", code) if code else node("Send", type="n8n-nodes-base.httpRequest")
    runs = {
        "Rows": [run(items({"a": 1}, {"a": 2}))],
        "Which?": [run(items({"a": 1}), items({"a": 2}), after="Rows")],
        "One": [run(items({"a": 1, "b": 1}), after=from_output("Which?", 0))],
        "Two": [run(items({"a": 2, "b": 2}), after=from_output("Which?", 1))],
        "Send": [run(items({"ok": 1}), after="One"), run(items({"ok": 2}), after="Two")],
    }
    ways = {"Rows": [["Which?"]], "Which?": [["One"], ["Two"]], "One": [["Send"]], "Two": [["Send"]]}
    fork = node("Which?", type="n8n-nodes-base.if")
    report = told_of_branches(runs, fork, node("One"), node("Two"), send, connections=links(**ways), status="success")

    assert ("a Merge before it would join them" in report["explanation"]) is (code is not None)


@pytest.mark.parametrize(
    ("answer", "noticed"),
    [
        ({"seite": 1, "seitenGesamt": 3, "zeilen": [1, 2]}, True),
        ({"seite": 3, "seitenGesamt": 3, "zeilen": [1, 2]}, False),
        ({"raum": 1, "gebaeude": 3, "zeilen": [1, 2]}, False),
        ({"seite": 1, "seitenGesamt": 3, "zeilen": []}, False),
    ],
)
def test_numbers_of_pages_are_known_by_what_their_names_share(answer: JsonObject, noticed: bool) -> None:
    runs = {"Start": [run(items({}))], "Ask": [run(items(answer), after="Start")]}
    report = told(runs, node("Ask", type="n8n-nodes-base.httpRequest"))

    assert ("its answer has seite 1 beside seitenGesamt 3" in report["explanation"]) is noticed


@pytest.mark.parametrize("names", [["a", "b", "c"], ["a", "a", "a"]])
def test_items_that_are_one_shared_object_are_told_beside_a_list_that_differs(names: list[str]) -> None:
    runs = {
        "Lots": [run(items({"names": names}))],
        "Make": [run(items({"code": "L3"}, {"code": "L3"}, {"code": "L3"}), after="Lots")],
    }
    report = told(runs, node("Make", "return $input.first().json.names.map(() => ({ json: one }));"))

    told_of = "all its 3 items are the same, and the elements of the list that it received differ"
    assert (told_of in report["explanation"]) is (names[1] != "a")


def test_a_merge_by_position_is_told_where_the_keys_were_dropped_before_it() -> None:
    merge = {"mode": "combine", "combineBy": "combineByPosition", "options": {}}
    left = [{"ref": "BX-1", "name": "A"}, {"ref": "BX-2", "name": "B"}]
    right = [{"ref": "BX-2", "stock": 5}, {"ref": "BX-1", "stock": 7}]
    bare = [{"stock": 5}, {"stock": 7}]
    runs = {
        "Wines": [run(items(*left))],
        "Stock": [run(items(*right))],
        "Bare": [run(items(*bare), after="Stock")],
        "Join": [run(items(*({**a, **b} for a, b in zip(left, bare, strict=True))), after=("Wines", "Bare"))],
    }
    report = told(runs, node("Bare"), node("Join", type="n8n-nodes-base.merge", parameters=merge))

    assert "item 0 joins ref BX-1 from 'Wines' with ref BX-2 from 'Stock'" in report["explanation"]
