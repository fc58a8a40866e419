"""Filters that keep nothing, fields that are set to nothing, months that are none, and dates that cannot be read."""

from typing import Any

import pytest

from dogubako.packs.n8n.diagnosis.replay.luxon import does_not_fit
from dogubako.packs.n8n.diagnosis.report import Diagnosis

from .made import JsonObject, as_read, failed_run, item, items, made, node, run, wires

EMPTY = "Reduce of empty array with no initial value"
ROWS = [{"状態": "open", "h": 4}, {"状態": "closed", "h": 2}]
SEEKS = 'looks for "Open" (string), and "open" (string) differs from that only in case or spaces'


def told(runs: dict[str, Any], *nodes: JsonObject, status: str = "success") -> JsonObject:
    return Diagnosis(as_read(made(runs, *nodes, status=status))).report()


def test_a_list_that_the_same_code_filtered_is_told_with_what_it_looked_for() -> None:
    code = "const open = $input.all().filter(i => i.json.状態 === 'Open');\nreturn open.reduce((a, b) => a);"
    runs = {"Rows": [run(items(*ROWS))], "Sum": [failed_run(EMPTY, after="Rows")]}

    explanation = told(runs, node("Sum", code), status="error")["explanation"]

    assert "line 1 of 'Sum' filters 2 elements and keeps none" in explanation
    assert '状態 is "open" (string) or "closed" (string), from \'Rows\'' in explanation
    assert SEEKS in explanation


def test_a_list_that_a_node_before_filtered_leads_to_that_node() -> None:
    chosen = (
        "const is = r => r.状態 === 'Open';\nreturn [{ json: { rows: $input.all().map(i => i.json).filter(is) } }];"
    )
    code = "const { rows } = $input.first().json;\nreturn rows.map(r => r.h).reduce((a, b) => a + b);"
    runs = {
        "Rows": [run(items(*ROWS))],
        "Open": [run([item({"rows": []})], after="Rows")],
        "Sum": [failed_run(EMPTY, after="Open")],
    }
    report = told(runs, node("Open", chosen), node("Sum", code), status="error")

    assert (report.get("origin") or report["noticed"])["nodeName"] == "Open"
    assert "line 2 of 'Open' filters 2 elements and keeps none" in report["explanation"]
    assert SEEKS in report["explanation"]


@pytest.mark.parametrize(("wanted", "noticed"), [("Open", True), ("lost", False), ("open", False)])
def test_a_filter_that_keeps_nothing_is_noticed_if_only_the_form_differs(wanted: str, noticed: bool) -> None:
    kept = [row for row in ROWS if row["状態"] == wanted]
    code = f"return [{{ json: {{ rows: $input.all().map(i => i.json).filter(r => r.状態 === '{wanted}') }} }}];"
    runs = {"Rows": [run(items(*ROWS))], "Open": [run([item({"rows": kept})], after="Rows")]}

    assert ("keeps none" in told(runs, node("Open", code))["explanation"]) is noticed


def test_a_field_that_an_object_in_an_expression_sets_to_nothing_is_told() -> None:
    rows = [{"name": "kit", "type": "object", "value": "={{ {size: $json.skisize, helmet: true} }}"}]
    fill = node("Fill", type="n8n-nodes-base.set", parameters={"assignments": {"assignments": rows}})
    failed = failed_run("Cannot read properties of undefined (reading 'trim') [line 1]", after="Fill", lineNumber=1)
    runs = {
        "Rows": [run(items({"skiSize": "120"}))],
        "Fill": [run([item({"kit": {"helmet": True}})], after="Rows")],
        "Use": [failed],
    }
    report = told(runs, fill, node("Use", "return $json.kit.size.trim();"), status="error")

    assert (report.get("origin") or report["noticed"])["nodeName"] == "Fill"
    assert "it sets kit.size to undefined" in report["explanation"]
    assert "'Rows' gave no skisize, but skiSize" in report["explanation"]


@pytest.mark.parametrize(("texts", "noticed"), [(["{'a':1}", "{'b':2}"], True), (["{'a':1}", '{"b":2}'], False)])
def test_json_that_no_item_has_right_is_noticed_where_the_error_is_caught(texts: list[str], noticed: bool) -> None:
    code = "try { return { json: { a: JSON.parse($json.spec).a } }; } catch (e) { return { json: { a: 0 } }; }"
    use = node("Use", type="n8n-nodes-base.code", parameters={"mode": "runOnceForEachItem", "jsCode": code})
    made_of_it = [{"a": 0} if "'" in one else {} for one in texts]
    runs = {
        "Rows": [run(items(*({"spec": one} for one in texts)))],
        "Use": [run(items(*made_of_it), after="Rows")],
    }
    explanation = told(runs, use)["explanation"]

    assert ("catches an error for each of its items (line 1): spec is" in explanation) is noticed


@pytest.mark.parametrize(
    ("written", "noticed"),
    [
        ("={{ DateTime.fromISO($json.d).toFormat('yyyy/mm/dd') }}", "mm is minutes"),
        ("={{ $json.d.toDateTime().format('dd.mm.yyyy') }}", "mm is minutes"),
        ("={{ DateTime.fromISO($json.d).toFormat('yyyy/MM/dd HH:mm') }}", ""),
        ("={{ DateTime.fromISO($json.d).toFormat('HH:mm') }}", ""),
        ("={{ `${new Date($json.d).getMonth()}` }}", ""),
    ],
)
def test_minutes_in_the_place_of_months_are_noticed(written: str, noticed: str) -> None:
    rows = [{"name": "day", "type": "string", "value": written}]
    day = node("Day", type="n8n-nodes-base.set", parameters={"assignments": {"assignments": rows}})
    runs = {"Rows": [run(items({"d": "2026-11-18"}))], "Day": [run([item({"day": "x"})], after="Rows")]}

    assert ("mm is minutes" in told(runs, day)["explanation"]) is bool(noticed)


@pytest.mark.parametrize(
    ("code", "noticed"),
    [
        ("return [{ json: { t: `${d.getMonth()}月${d.getDate()}日` } }];", True),
        ("return [{ json: { t: String(d.getUTCMonth()).padStart(2, '0') } }];", True),
        ("return [{ json: { t: `${d.getMonth() + 1}月` } }];", False),
        ("return [{ json: { t: names[d.getMonth()] } }];", False),
    ],
)
def test_a_month_that_counts_from_0_is_noticed_in_a_text(code: str, noticed: bool) -> None:
    runs = {"Rows": [run(items({"d": "2026-11-18"}))], "Day": [run([item({"t": "x"})], after="Rows")]}
    explanation = told(runs, node("Day", f"const d = new Date($json.d);\n{code}"))["explanation"]

    assert ("getMonth() counts from 0" in explanation) is noticed


def test_branches_that_were_parted_are_not_to_be_combined() -> None:
    """A merge that appends both outputs of an IF is right; the branch with the other name is not."""
    failed = failed_run("Cannot read properties of undefined (reading 'toFixed') [line 1]", after="All", lineNumber=1)
    first, second = {"k": 1, "b": True, "unitPrice": 9}, {"k": 2, "b": True, "unit_price": 3}
    both = [item(first, [{"item": 0}]), item(second, [{"item": 0, "input": 1}])]
    large = [{"name": "unitPrice", "type": "number", "value": "={{ 9 }}"}]
    small = [{"name": "unit_price", "type": "number", "value": "={{ $json.k + 1 }}"}]
    kind = "n8n-nodes-base.set"
    keep = {"includeOtherFields": True}
    runs = {
        "Rows": [run(items({"k": 1, "b": True}, {"k": 2, "b": True}))],
        "If": [run([item({"k": 1, "b": True})], [item({"k": 2, "b": True}, 1)], after="Rows")],
        "Large": [run([item(first)], after="If")],
        "Small": [run([item(second)], after=[{"previousNode": "If", "previousNodeOutput": 1}])],
        "All": [run(both, after=["Large", "Small"])],
        "Use": [failed],
    }
    nodes = [
        node("If", type="n8n-nodes-base.if"),
        node("Large", type=kind, parameters={**keep, "assignments": {"assignments": large}}),
        node("Small", type=kind, parameters={**keep, "assignments": {"assignments": small}}),
        node("All", type="n8n-nodes-base.merge", parameters={"mode": "append"}),
        node("Use", "return $input.all().map(i => i.json.unitPrice.toFixed(2));"),
    ]
    execution = made(runs, *nodes)
    execution["workflowData"]["connections"] = (
        wires("Rows", "If") | wires("Large", "All", "Use") | wires("Small", "All")
    )
    to = [{"node": one, "type": "main", "index": 0} for one in ("Large", "Small")]
    execution["workflowData"]["connections"]["If"] = {"main": [to[:1], to[1:]]}
    report = Diagnosis(as_read(execution)).report()

    assert "could combine them" not in report["explanation"]
    assert (report.get("origin") or report["noticed"])["nodeName"] == "Small"


@pytest.mark.parametrize(
    ("text", "form", "unread"),
    [
        ("2025.01.10", "yyyy-MM-dd", True),
        ("2025-01-10", "yyyy-MM-dd", False),
        ("10/13/2025", "dd/MM/yyyy", True),
        ("3.5.2025 8:05", "d.M.yyyy H:mm", False),
        ("2025年1月10日", "yyyy年M月d日", False),
        ("20250110", "yyyyMMdd", False),
        # Names of months, and tokens of other formats, are not judged.
        ("10 May 2025", "dd LLL yyyy", False),
        ("x", "", False),
    ],
)
def test_a_text_is_compared_with_the_format_of_a_date(text: str, form: str, unread: bool) -> None:
    assert does_not_fit(text, form) is unread


@pytest.mark.parametrize(
    ("read", "told_of"),
    [
        ("DateTime.fromFormat(s, 'yyyy-MM-dd').plus({ days: 1 }).toISODate()", "fromFormat with 'yyyy-MM-dd'"),
        ("DateTime.fromISO(s).toISODate()", "fromISO"),
    ],
)
def test_a_date_that_luxon_does_not_read_is_told(read: str, told_of: str) -> None:
    code = f"const next = (s) => {read};\nreturn $input.all().map(({{ json }}) => next(json.最終).slice(0, 7));"
    failed = failed_run("Cannot read properties of null (reading 'slice') [line 2]", after="Rows", lineNumber=2)
    runs = {"Rows": [run(items({"最終": "2025.01.10"}))], "Use": [failed]}

    explanation = told(runs, node("Use", code), status="error")["explanation"]

    assert f'最終 is "2025.01.10" (string), which {told_of} does not read, so that it gives null' in explanation
    assert "Whether that node, another on the way or 'Use' has to change is not known" in explanation


def test_a_pattern_that_finds_nothing_is_told() -> None:
    code = (
        r"const RX = /^EP(\d+)$/;"
        + "\nconst no = (t) => { const [, n] = t.match(RX); return n; };\nreturn no($json.code);"
    )
    failed = failed_run("object null is not iterable (cannot read property Symbol(Symbol.iterator))", after="Rows")
    runs = {"Rows": [run(items({"code": "EP 012"}))], "Use": [failed]}

    explanation = told(runs, node("Use", code), status="error")["explanation"]

    assert """code is "EP 012" (string), from 'Rows', in which /^EP(\\d+)$/ finds nothing""" in explanation


PRICES = """const PAPERS = { matte: { price: 5 } };
class Pricing {
  #count = 0;
  constructor({ paper = 'matte', copies = 1 } = {}) { this.paper = PAPERS[paper]; this.#count = copies; }
  get total() { return this.#count * this.paper.price; }
}
return [{ json: { total: new Pricing($input.first().json).total } }];"""


def test_a_null_that_a_default_does_not_replace_is_found_through_a_class() -> None:
    failed = failed_run("Cannot read properties of undefined (reading 'price') [line 5]", after="Form", lineNumber=5)
    runs = {
        "Rows": [run(items({"paper": ""}))],
        "Form": [run([item({"paper": None, "copies": 200})], after="Rows")],
        "Use": [failed],
    }
    report = told(runs, node("Form", "return [{ json: {} }];"), node("Use", PRICES), status="error")

    assert "paper is null" in report["explanation"]
    assert "'Form'" in report["explanation"]


def test_a_date_that_is_calculated_from_none_is_told() -> None:
    code = "const add = (d) => new Date(new Date(d).getTime() + 864e5).toISOString();\nreturn add($json.日付);"
    failed = failed_run("Invalid time value [line 1]", after="Rows", lineNumber=1, description="RangeError")
    runs = {"Rows": [run(items({"日付": "令和8年5月1日"}))], "Use": [failed]}

    assert (
        '日付 is "令和8年5月1日" (string), which is not read as a date'
        in told(runs, node("Use", code), status="error")["explanation"]
    )


@pytest.mark.parametrize(
    ("made", "message"),
    [
        ("({ start }) => ({ van: new Date(start).toISOString() })", "Invalid time value [line 1]"),
        ("({ start }) => ({ van: JSON.parse(start) })", "Unexpected token 'X', \"XY-9\" is not valid JSON [line 1]"),
    ],
)
def test_a_field_that_is_only_copied_is_not_taken_for_the_one_that_cannot_be_read(made: str, message: str) -> None:
    returned = "$input.all().map(({ json }) => ({ json: { p: json.plate, ...make(json) } }))"
    code = f"const make = {made};\nreturn {returned};"
    failed = failed_run(message, after="Rows", lineNumber=2, description="RangeError")
    runs = {"Rows": [run(items({"plate": "XY-9", "start": "2026-05-0109:30"}))], "Use": [failed]}

    explanation = told(runs, node("Use", code), status="error")["explanation"]

    assert "plate is" not in explanation


@pytest.mark.parametrize(("month", "noticed"), [("m", True), ("m - 1", False)])
def test_a_month_that_is_given_to_a_date_as_it_is_written_is_noticed(month: str, noticed: bool) -> None:
    made = f"new Date(Date.UTC(y, {month}, d))"
    code = f"const [d, m, y] = $json.d.split('/').map(Number);\nreturn {{ json: {{ t: {made} }} }};"
    runs = {"Rows": [run(items({"d": "31/01/2031"}))], "Day": [run([item({"t": "2031-03-03"})], after="Rows")]}

    assert ("months count from 0 there" in told(runs, node("Day", code))["explanation"]) is noticed


def test_a_node_before_that_has_the_value_deeper_in_its_item_is_told() -> None:
    rows = [{"name": "name", "type": "string", "value": "={{ $json.body.name }}"}]
    data = node("Data", type="n8n-nodes-base.set", parameters={"assignments": {"assignments": rows}})
    failed = failed_run("Cannot read properties of undefined (reading 'trim') [line 1]", after="Data", lineNumber=1)
    runs = {
        "Hook": [run(items({"body": {"name": "Luz", "vuelo": "IB7"}}))],
        "Data": [run([item({"name": "Luz"})], after="Hook")],
        "Use": [failed],
    }
    explanation = told(runs, data, node("Use", "return $json.vuelo.trim();"), status="error")["explanation"]

    assert "'Hook' before it has body.vuelo" in explanation
