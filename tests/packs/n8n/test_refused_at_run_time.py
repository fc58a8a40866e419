"""Errors of values: what a function of the language refused, what a condition kept, and what was parsed."""

from typing import Any

import pytest

from dogubako.packs.n8n.diagnosis.report import Diagnosis

from .made import JsonObject, as_read, cause_told, failed_run, items, made, node, run, wires

INVALID_TIME = "Invalid time value [line 1]"


def told(
    message: str, code: str, *rows: JsonObject, description: str | None = "RangeError", line: int = 1, **more: Any
) -> JsonObject:
    """The diagnosis of code in 'Use' that failed with the rows of 'Make'."""
    error = {"description": description, "lineNumber": line}
    runs = {"Make": [run(items(*rows))], "Use": [failed_run(message, after="Make", **error)]}
    return Diagnosis(as_read(made(runs, node("Use", code, **more)))).report()


def success(code: str, rows: list[JsonObject], out: list[JsonObject], kind: str = "code", **more: Any) -> JsonObject:
    runs = {"Make": [run(items(*rows))], "Use": [run(items(*out), after="Make")]}
    use = node("Use", code, type=f"n8n-nodes-base.{kind}", **more)
    return Diagnosis(as_read(made(runs, use, status="success"))).report()


@pytest.mark.parametrize(
    "code",
    [
        "return $input.all().map(({json: r}) => ({json: {a: r.end && new Date(r.end).toISOString(), "
        "b: new Date(r.start).toISOString()}}));",
        "return $input.all().map(({json: r}) => ({json: {a: new Date(r.end || '2030-01-01').toISOString(), "
        "b: new Date(r.start).toISOString()}}));",
        # What the replay does not know: the texts alone tell.
        "with_it(); return $input.all().map((i) => ({json: {a: i.json.end ? new Date(i.json.end) : 0, "
        "b: new Date(i.json.start).toISOString()}}));",
    ],
)
def test_a_date_that_v8_refuses_is_blamed_and_no_null_beside_it(code: str) -> None:
    report = told(INVALID_TIME, code, {"start": "2027-04-01", "end": None}, {"start": "2027-04-01T9:00", "end": None})

    assert cause_told(report)["itemIndex"] == 1
    assert 'start is "2027-04-01T9:00" (string), which is not read as a date' in report["explanation"]
    assert any(one.startswith('start is "2027-04-01T9:00"') for one in report["values"])
    assert not any('"2027-04-01"' in one for one in report["values"])


def test_a_date_that_code_put_together_is_told_with_its_parts() -> None:
    code = "return $input.all().map(({json: r}) => ({json: {t: new Date(`${r.day}T${r.hour}`).toISOString()}}));"
    report = told(INVALID_TIME, code, {"day": "2027-04-01", "hour": "09:00"}, {"day": "2027-04-02", "hour": "9:00"})

    assert 'its line 1 makes "2027-04-02T9:00" (string), which is not read as a date' in report["explanation"]
    assert 'hour, which is "9:00" (string)' in report["explanation"]
    assert '"2027-04-01"' not in report["explanation"]


def test_undefined_makes_no_date_and_is_told() -> None:
    code = "return $input.all().map(({json: r}) => ({json: {t: new Date(r.due).toISOString()}}));"
    report = told(INVALID_TIME, code, {"due": "2027-04-01"}, {"other": 1})

    assert "item 1 of it has no due" in report["explanation"]


@pytest.mark.parametrize(
    ("message", "code", "rows", "words", "description"),
    [
        (
            "Cannot convert 12,5 to a BigInt [line 1]",
            "return [{json: {n: String($input.all().reduce((a, {json: {w}}) => a + BigInt(w), 0n))}}];",
            [{"w": "12", "note": "12,5"}, {"w": "12,5"}],
            'w is "12,5" (string), of which no BigInt can be made',
            "SyntaxError",
        ),
        (
            "Invalid regular expression: /a(b/: Unterminated group [line 1]",
            "return $input.all().map(i => ({json: {ok: new RegExp(i.json.rule).test('ab')}}));",
            [{"rule": "^a"}, {"rule": "a(b"}],
            'rule is "a(b" (string), which is no regular expression',
            "SyntaxError",
        ),
        (
            "URI malformed [line 1]",
            "return $input.all().map(i => ({json: {q: decodeURIComponent(i.json.q)}}));",
            [{"q": "a%20b"}, {"q": "7 %"}],
            'q is "7 %" (string), in which a % begins no encoded sign',
            "URIError",
        ),
        (
            "toFixed() digits argument must be between 0 and 100 [line 1]",
            "const f = ({sum: s, digits: d}) => s.toFixed(d); return $input.all().map(i => ({json: {t: f(i.json)}}));",
            [{"sum": 1, "digits": 2}, {"sum": 2, "digits": 101}],
            "digits is 101 (number), which is no number of digits there",
            "RangeError",
        ),
        (
            "Invalid count value: -2 [line 1]",
            "const bar = ({len: n}) => '-'.repeat(5 - n); return $input.all().map(i => ({json: {t: bar(i.json)}}));",
            [{"len": 4}, {"len": 7}],
            "len is 7 (number), and line 1 makes -2 (number) of it, which is no number of times",
            "RangeError",
        ),
    ],
    ids=["BigInt", "RegExp", "decodeURIComponent", "toFixed", "repeat"],
)
def test_a_value_that_a_function_refuses_is_found(
    message: str, code: str, rows: list[JsonObject], words: str, description: str
) -> None:
    report = told(message, code, *rows, description=description)

    assert cause_told(report)["nodeName"] == "Make"
    assert cause_told(report)["itemIndex"] == 1
    assert words in report["explanation"]
    assert "cannot be read" not in report["explanation"]


def test_an_error_at_a_line_is_not_one_of_the_whole_code() -> None:
    report = told(
        "Invalid regular expression: /x(/: Unterminated group [line 1]",
        "const rules = await load(); return rules.map(r => new RegExp(r));",
        {"a": 1},
        description="SyntaxError",
    )

    assert "origin" not in report
    assert "its code cannot be read" not in report["explanation"]


@pytest.mark.parametrize(
    ("test", "reason"),
    [
        ("late.length > 0", ", because days is 40 (number), from 'Make'"),
        ("late.length", ", because days is 40 (number), from 'Make'"),
        ("late.length < 5", ""),
    ],
)
def test_only_what_a_filter_keeps_is_a_reason(test: str, reason: str) -> None:
    code = f"const late = $input.all().filter(i => i.json.days > 30);\nif ({test}) throw new Error('Late bills');"
    report = told("Late bills [line 2]", code, {"days": 3}, {"days": 40}, {"days": 8}, description=None, line=2)

    assert f"its code throws this itself in line 2{reason}" in report["explanation"]
    assert "days is 3" not in report["explanation"]
    assert "days is 8" not in report["explanation"]
    assert reason or "because" not in report["explanation"]


def test_of_many_values_the_largest_is_the_reason() -> None:
    code = (
        "const top = Math.max(...$input.all().map(i => i.json.score));\n"
        "if (top > 9) throw new Error('Too high: ' + top);"
    )
    rows = [{"score": score} for score in (3, 12, 5, 7)]
    report = told("Too high: 12 [line 2]", code, *rows, description=None, line=2)

    assert "score is 12 (number)" in report["explanation"]
    assert "score is 3" not in report["explanation"]


def test_what_a_set_is_asked_for_in_vain_is_told_with_the_nearest_it_has() -> None:
    code = (
        "const there = new Set($input.all().map(i => i.json.code));\n"
        "const gone = ['AB1'].filter(c => !there.has(c));\n"
        "if (gone.length) throw new Error('Gone: ' + gone.join());"
    )
    runs = {"Codes": [run(items({"code": "AB1"}))], "Make": [run(items({"code": "ab1"}), after="Codes")]}
    code = code.replace("['AB1']", "$('Codes').all().map(i => i.json.code)")
    failed = failed_run("Gone: AB1 [line 3]", after="Make", lineNumber=3, description=None)
    report = Diagnosis(as_read(made({**runs, "Use": [failed]}, node("Use", code)))).report()

    assert 'it looks for "AB1" (string), among keys such as "ab1" (string)' in report["explanation"]


def test_a_name_that_no_item_has_is_not_a_value_that_its_maker_gave_out() -> None:
    rows = [{"name": "sum", "type": "number", "value": "={{ $json.price * $json.amount }}"}]
    use = node("Use", type="n8n-nodes-base.set", parameters={"assignments": {"assignments": rows}})
    failed = failed_run("'sum' expects a number but we got 'NaN' [item 0]", after="Make", context={"itemIndex": 0})
    report = Diagnosis(as_read(made({"Make": [run(items({"price": 2, "count": 3}))], "Use": [failed]}, use))).report()

    assert cause_told(report)["nodeName"] == "Use"
    assert "it reads amount, which" in report["explanation"]
    assert "sum is calculated with amount" in report["explanation"]
    assert "gave out: amount is undefined" not in report["explanation"]


def test_the_field_that_is_parsed_is_told_and_no_other_of_the_same_value() -> None:
    code = "return $input.all().map(i => ({json: {no: i.json.no, litres: parseInt(i.json.litres)}}));"
    report = success(code, [{"no": 3, "litres": "3,5 l"}], [{"no": 3, "litres": 3}])

    assert 'litres is 3, made from litres, which is "3,5 l" (string)' in report["explanation"]
    assert "no is 3" not in report["explanation"]


@pytest.mark.parametrize(
    "code",
    [
        "const num = t => parseFloat(t.replace('.', '').replace(',', '.'));\n"
        "return $input.all().map(i => ({json: {fee: num(i.json.fee)}}));",
        "return $input.all().map(i => ({json: {fee: parseFloat(unknown(i.json.fee))}}));",
    ],
)
def test_a_text_that_is_changed_before_it_is_parsed_is_not_cut(code: str) -> None:
    report = success(code, [{"fee": "70,00"}], [{"fee": 70}])

    assert "it reads only the beginning" not in report["explanation"]


def test_a_text_that_a_replacement_leaves_as_it_is_is_cut() -> None:
    code = "return $input.all().map(i => ({json: {fee: parseFloat(i.json.fee.replace(/ /g, ''))}}));"
    report = success(code, [{"fee": "70,25"}], [{"fee": 70}])

    assert 'fee is 70, made from fee, which is "70,25" (string)' in report["explanation"]


def test_items_that_a_filter_dropped_are_told_where_code_counts_them() -> None:
    condition = {
        "leftValue": "={{ $json.paid }}",
        "rightValue": 0,
        "operator": {"type": "number", "operation": "gt"},
    }
    sieve = node("Sieve", type="n8n-nodes-base.filter", parameters={"conditions": {"conditions": [condition]}})
    code = "const n = $input.all().length, m = $('Make').all().length; if (n < m) throw new Error('Some are missing');"
    runs = {
        "Make": [run(items({"paid": 4}, {"paid": 0}, {"paid": 9}))],
        "Sieve": [run([{"json": {"paid": 4}, "pairedItem": 0}, {"json": {"paid": 9}, "pairedItem": 2}], after="Make")],
        "Use": [failed_run("Some are missing [line 1]", after="Sieve", lineNumber=1, description=None)],
    }
    execution = made(runs, sieve, node("Use", code))
    execution["workflowData"]["connections"] = wires("Make", "Sieve", "Use")
    report = Diagnosis(as_read(execution)).report()

    assert "'Sieve' dropped 1 of 3 items: paid is 0 (number)" in report["explanation"]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (
            '{"errors": [{"index": 1, "field": "kg", "got": 0}]}',
            "it sends boxes.1.kg as 0 (number)",
        ),
        ('{"error": "KeyError: \'box_es\'"}', "it sends boxes, and no box_es"),
    ],
)
def test_what_a_service_names_in_what_was_sent_is_told(answer: str, words: str) -> None:
    row = {"boxes": [{"kg": 3}, {"kg": 0}]}
    use = node(
        "Use",
        type="n8n-nodes-base.httpRequest",
        parameters={"jsonBody": "={{ JSON.stringify({boxes: $json.boxes}) }}", "url": "http://a.test"},
    )
    context = {"itemIndex": 0, "request": {"body": row}}
    code = "400" if "index" in answer else "500"
    failed = failed_run("Refused", after="Make", httpCode=code, messages=[f"{code} - {answer}"], context=context)
    report = Diagnosis(as_read(made({"Make": [run(items(row))], "Use": [failed]}, use))).report()

    assert words in report["explanation"]


def test_a_method_is_no_field_of_what_is_sent() -> None:
    row = {"rows": [{"n": "a"}]}
    body = "={{ JSON.stringify({rows: $json.rows.map(r => ({n: r.n}))}) }}"
    use = node("Use", type="n8n-nodes-base.httpRequest", parameters={"jsonBody": body, "url": "http://a.test"})
    context = {"itemIndex": 0, "request": {"body": row}}
    failed = failed_run(
        "Refused", after="Make", httpCode="400", description="rows[0].qty is required", messages=[], context=context
    )
    report = Diagnosis(as_read(made({"Make": [run(items(row))], "Use": [failed]}, use))).report()

    assert "rows.map" not in report["explanation"]
    assert "undefined" not in report["explanation"]
