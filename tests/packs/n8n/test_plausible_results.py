"""Wrong results that look plausible: another day, another order, one list per item, errors that code catches."""

from typing import Any

import pytest

from dogubako.packs.n8n.diagnosis.report import Diagnosis

from .made import JsonObject, as_read, failed_run, item, items, made, node, run

NIGHT = "2026-03-02T00:30:00+09:00"


def told(runs: dict[str, Any], *nodes: JsonObject, status: str = "success") -> JsonObject:
    return Diagnosis(as_read(made(runs, *nodes, status=status))).report()


@pytest.mark.parametrize(
    ("start", "day", "noticed"),
    [
        (NIGHT, "2026-03-01", True),
        (NIGHT, "2026-03-02", False),
        ("2026-03-02T12:00:00+09:00", "2026-03-02", False),
        # Another day that has nothing to do with the time.
        (NIGHT, "2026-02-01", False),
        ("2026-03-02T00:30:00Z", "2026-03-01", False),
        ("0001-01-01T00:00:00+09:00", "0001-01-01", False),
    ],
)
def test_a_day_in_utc_is_noticed(start: str, day: str, noticed: bool) -> None:
    runs = {"Rows": [run(items({"開始": start}))], "Day": [run([item({"日": day})], after="Rows")]}
    code = node("Day", "return { json: { 日: DateTime.fromISO($json.開始).toUTC().toISODate() } };")
    report = told(runs, code)

    assert ("that is the day in UTC, and not 2026-03-02" in report["explanation"]) is noticed


MERGE = node(
    "Join", type="n8n-nodes-base.merge", parameters={"mode": "combine", "combineBy": "combineByPosition", "options": {}}
)


def joined(first: list[JsonObject], second: list[JsonObject]) -> str:
    both = [{**one, **other} for one, other in zip(first, second, strict=False)]
    last = run(items(*both), after="Left")
    last["source"] = [{"previousNode": "Left"}, {"previousNode": "Right"}]
    runs = {"Left": [run(items(*first))], "Right": [run(items(*second))], "Join": [last]}
    return str(told(runs, MERGE)["explanation"])


@pytest.mark.parametrize(
    ("second", "noticed"),
    [
        ([{"bike_id": 2, "price": 9}, {"bike_id": 1, "price": 7}], True),
        ([{"bike_id": 1, "price": 9}, {"bike_id": 2, "price": 7}], False),
        # Other keys, and a field whose name says nothing of a key.
        ([{"bike_id": 7, "price": 9}, {"bike_id": 8, "price": 7}], False),
        ([{"rank": 2}, {"rank": 1}], False),
    ],
)
def test_a_merge_by_position_of_keys_in_another_order_is_noticed(second: list[JsonObject], noticed: bool) -> None:
    words = joined([{"id": 1, "name": "Kross"}, {"id": 2, "name": "Trek"}], second)

    assert ("item 0 joins id 1 from 'Left' with bike_id 2 from 'Right'" in words) is noticed


@pytest.mark.parametrize(
    ("answers", "parameters", "noticed"),
    [
        ([{"n": 1}, {"n": 2}, {"n": 1}, {"n": 2}], {}, True),
        ([{"n": 1}, {"n": 2}, {"n": 1}, {"n": 3}], {}, False),
        ([{"n": 1}, {"n": 1}], {}, False),
        ([{"n": 1}, {"n": 2}, {"n": 1}, {"n": 2}], {"url": "=http://a.test/{{ $json.day }}"}, False),
        ([{"n": 1}, {"n": 2}, {"n": 1}, {"n": 2}], {"method": "POST"}, False),
    ],
)
def test_the_same_list_for_each_item_is_noticed(
    answers: list[JsonObject], parameters: JsonObject, noticed: bool
) -> None:
    ask = node("Ask", type="n8n-nodes-base.httpRequest", parameters={"url": "http://a.test", **parameters})
    runs = {"Days": [run(items({"day": "mo"}, {"day": "tu"}))], "Ask": [run(items(*answers), after="Days")]}
    words = told(runs, ask)["explanation"]

    assert ("so it gives out the same 2 items 2 times" in words) is noticed


@pytest.mark.parametrize(
    ("code", "result", "noticed"),
    [
        ("try { return { json: { n: $json.dim.l } }; } catch (e) { return { json: { n: 0 } }; }", {"n": 0}, True),
        ("try { return { json: { n: $json.dims.l } }; } catch (e) { return { json: { n: 0 } }; }", {"n": 5}, False),
        # The replay does not make what n8n recorded.
        ("try { return { json: { n: $json.dim.l } }; } catch (e) { return { json: { n: 0 } }; }", {"n": 3}, False),
        # What is thrown on purpose is caught on purpose.
        ("try { throw new Error('x'); } catch (e) { return { json: { n: 0 } }; }", {"n": 0}, False),
    ],
)
def test_an_error_that_code_catches_is_noticed(code: str, result: JsonObject, noticed: bool) -> None:
    runs = {"Rows": [run(items({"dims": {"l": 5}}))], "Use": [run([item(result)], after="Rows")]}
    use = node("Use", type="n8n-nodes-base.code", parameters={"mode": "runOnceForEachItem", "jsCode": code})

    assert ("its code catches an error (line 1): dim is not there" in told(runs, use)["explanation"]) is noticed


def test_a_text_that_is_added_to_a_number_is_noticed() -> None:
    rows = [{"name": "stock", "type": "number", "value": "={{ $json.stock + $json.came }}"}]
    add = node("Add", type="n8n-nodes-base.set", parameters={"assignments": {"assignments": rows}})
    runs = {"Rows": [run(items({"stock": "12", "came": 5}))], "Add": [run([item({"stock": 125})], after="Rows")]}

    assert "stock is 125, because stock '12' is a text: + joins and does not add" in told(runs, add)["explanation"]


@pytest.mark.parametrize(
    ("written", "noticed"),
    [
        ("={{ $json.scrap ?? '' }}", False),
        ("={{ $json.prize ?? 0 }}", True),
        ("={{ $json.price ?? $json.prize }}", False),
    ],
)
def test_a_fallback_is_noticed_only_for_a_name_that_is_misspelt(written: str, noticed: bool) -> None:
    rows = [{"name": "out", "type": "string", "value": written}]
    take = node("Take", type="n8n-nodes-base.set", parameters={"assignments": {"assignments": rows}})
    runs = {"Rows": [run(items({"price": 4}))], "Take": [run([item({"out": ""})], after="Rows")]}

    assert ("out is made without prize" in told(runs, take)["explanation"]) is noticed


def appended(second: JsonObject) -> str:
    merge = node("All", type="n8n-nodes-base.merge", parameters={"mode": "append"})
    both = run(items(second, {"id": 1}), after="Some")
    both["source"] = [{"previousNode": "Some"}, {"previousNode": "Rows"}]
    runs = {"Rows": [run(items({"id": 1}))], "Some": [run([item(second)], after="Rows")], "All": [both]}
    return str(told(runs, merge)["explanation"])


def test_items_that_are_appended_twice_are_noticed() -> None:
    assert "1 items of 'Some' were made from items of 'Rows', which it appends as well" in appended({"id": 1, "x": 2})
    assert "appends" not in appended({"sum": 1})


@pytest.mark.parametrize(
    ("code", "order", "noticed"),
    [
        ("return items.sort();", [1200, 450, 90], True),
        ("return items.sort((a, b) => a - b);", [1200, 450, 90], False),
        ("return items.sort();", [90, 450, 1200], False),
    ],
)
def test_numbers_that_were_sorted_as_texts_are_noticed(code: str, order: list[int], noticed: bool) -> None:
    rows = [{"cena": one} for one in order]
    runs = {"Rows": [run(items(*rows[::-1]))], "Sort": [run(items(*rows), after="Rows")]}

    assert ("sort() without a function" in told(runs, node("Sort", code))["explanation"]) is noticed


def test_what_was_never_seen_in_a_good_execution_opens_otherwise_than_what_may_be_intended() -> None:
    rows = [{"name": "day", "type": "string", "value": "={{ DateTime.fromISO($json.d).toFormat('yyyy/mm/dd') }}"}]
    day = node("Day", type="n8n-nodes-base.set", parameters={"assignments": {"assignments": rows}})
    limit = node("Limit", type="n8n-nodes-base.limit", parameters={"maxItems": 1})
    first = run(items({"d": "2026-11-18"}, {"d": "2026-11-19"}))
    formatted = told({"Rows": [first], "Day": [run(items({"day": "x"}, {"day": "y"}), after="Rows")]}, day)
    limited = told({"Rows": [first], "Limit": [run(items({"d": "2026-11-18"}), after="Rows")]}, limit)

    assert "but look at 'Day'" in formatted["explanation"]
    assert "nothing is known to be wrong" in limited["explanation"]


def both_branches(second: JsonObject) -> str:
    merge = node("All", type="n8n-nodes-base.merge", parameters={"mode": "append"})
    last = run(items({"jméno": "Eva"}, second), after=["A", "B"])
    runs = {
        "Rows": [run(items({"jméno": "Eva"}))],
        "A": [run([item({"jméno": "Eva"})], after="Rows")],
        "B": [run([item(second)], after="Rows")],
        "All": [last],
    }
    return str(told(runs, merge)["explanation"])


def test_items_that_come_by_both_branches_are_noticed() -> None:
    assert "both have the same 1 items, which come from 'Rows': each comes twice" in both_branches({"jméno": "Eva"})
    assert "each comes twice" not in both_branches({"jméno": "Jan"})


@pytest.mark.parametrize(
    ("zone", "start", "noticed"),
    [
        ("Europe/Madrid", "2026-07-14T22:30:00Z", True),
        ("Europe/Madrid", "2026-07-14T12:30:00Z", False),
        ("Etc/UTC", "2026-07-14T22:30:00Z", False),
        ("and/or", "2026-07-14T22:30:00Z", False),
    ],
)
def test_a_day_that_was_cut_out_of_a_time_in_utc_is_told_in_the_zone_of_the_data(
    zone: str, start: str, noticed: bool
) -> None:
    runs = {
        "Agenda": [run(items({"zona": zone, "start": start}))],
        "Day": [run(items({"start": start, "day": start[:10]}), after="Agenda")],
    }
    report = told(runs, node("Agenda", type="n8n-nodes-base.httpRequest"), node("Day", "return $input.all();"))

    told_of = "in Europe/Madrid, which 'Agenda' gives as zona, it is 2026-07-15"
    assert (told_of in report["explanation"]) is noticed


@pytest.mark.parametrize(
    ("price", "read", "noticed"), [("19.99", 19, True), ("19.00", 19, False), ("19.99", 20, False), ("19", 19, False)]
)
def test_a_number_that_lost_its_fraction_is_noticed(price: str, read: int, noticed: bool) -> None:
    code = "return $input.all().map((one) => ({ json: { price: parseInt(one.json.price) } }));"
    runs = {"Bills": [run(items({"price": price}))], "Whole": [run(items({"price": read}), after="Bills")]}
    report = told(runs, node("Whole", code))

    problem = f'price is {read}, made from price, which is "{price}" (string): it reads only the beginning'
    assert (problem in report["explanation"]) is noticed


def test_a_date_that_was_made_of_null_is_told_with_the_name_that_made_the_null() -> None:
    date = {"operation": "addToDate", "magnitude": "={{ $json.day }}", "duration": 2}
    row = {"name": "day", "value": "={{ $json.orderedDay }}", "type": "string"}
    shaped = node("Shape", type="n8n-nodes-base.set", parameters={"assignments": {"assignments": [row]}})
    runs = {
        "Order": [run(items({"receivedDay": "2026-11-18"}))],
        "Shape": [run(items({"day": None}), after="Order")],
        "Later": [run(items({"day": None, "to": "1970-01-03"}), after="Shape")],
    }
    report = told(runs, shaped, node("Later", type="n8n-nodes-base.dateTime", parameters=date))

    assert report["noticed"]["nodeName"] == "Shape"
    assert "'Later' makes a date of it" in report["explanation"]


def test_an_item_that_was_made_of_several_stands_for_none_of_them() -> None:
    read = node("Sum", type="n8n-nodes-base.set", parameters={"title": "={{ $('Split').item.json.course }}"})
    split = items({"course": "A1"}, {"course": "B1"}, {"course": "C1"})
    gathered = item({"all": [one["json"] for one in split]}, [{"item": number} for number in range(3)])
    failed = failed_run(
        "Multiple matches found",
        after="Gather",
        context={"nodeCause": "Split", "descriptionKey": "pairedItemMultipleMatches", "type": "paired_item_multiple"},
    )
    runs = {
        "Split": [run(split)],
        "Gather": [run([gathered], after="Split")],
        "Sum": [failed],
    }
    report = told(runs, node("Gather", type="n8n-nodes-base.aggregate"), read, status="error")

    (course,) = [one for one in report["values"] if one.startswith("course of 'Split'")]
    assert '"A1" (string) or "B1" (string) or "C1" (string) in its 3 items' in course


def test_a_day_that_was_cut_out_of_a_time_in_utc_is_told_in_the_zone_of_the_workflow() -> None:
    start = "2026-10-31T23:30:00Z"
    runs = {
        "Meter": [run(items({"ts": start}))],
        "Day": [run(items({"ts": start, "day": start[:10]}), after="Meter")],
    }
    execution = made(runs, node("Day", "return $input.all();"), status="success")
    execution["workflowData"]["settings"] = {"timezone": "Europe/Berlin"}
    report = Diagnosis(as_read(execution)).report()

    assert "in Europe/Berlin, the time zone of the workflow, it is 2026-11-01" in report["explanation"]


@pytest.mark.parametrize(("last", "noticed"), [(None, True), ("2025-01-01", False)])
def test_a_date_that_code_makes_of_null_is_noticed(last: str | None, noticed: bool) -> None:
    code = "return $input.all().map((i) => ({ json: { due: new Date(i.json.last).getFullYear() + 5 } }));"
    runs = {"Rows": [run(items({"last": last}))], "Due": [run(items({"due": 1975}), after="Rows")]}
    report = told(runs, node("Due", code))

    assert ("'Due' makes a date of it: new Date(null) is 1970-01-01" in report["explanation"]) is noticed


def test_an_error_that_a_node_takes_in_a_success_may_be_intended() -> None:
    failed = item({"error": {"message": "404 - not found", "status": 404}}, 0)
    ask = node("Ask", type="n8n-nodes-base.httpRequest", onError="continueErrorOutput")
    runs = {
        "Rows": [run(items({"id": 1}))],
        "Ask": [run([], [failed], after="Rows")],
        "Make": [run(items({"made": 1}), after=[{"previousNode": "Ask", "previousNodeOutput": 1}])],
    }
    execution = made(runs, ask, node("Make"), status="success")
    execution["workflowData"]["connections"] = {
        "Ask": {"main": [[], [{"node": "Make", "type": "main", "index": 0}]]},
    }
    report = Diagnosis(as_read(execution)).report()

    assert report["explanation"].endswith("It may be intended.")
