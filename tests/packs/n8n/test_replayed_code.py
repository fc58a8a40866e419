"""Code that is run again: the diagnosis names the field that made it fail, however the code is written."""

from typing import Any

import pytest

from dogubako.packs.n8n.diagnosis.report import Diagnosis

from .made import JsonObject, as_read, cause_told, failed_run, items, made, node, run

OF_NULL = "Cannot read properties of null (reading '{}') [line {}]"
OF_UNDEFINED = "Cannot read properties of undefined (reading '{}') [line {}]"


def diagnosed(code: str, message: str, *data: Any, mode: str | None = None, **error: Any) -> JsonObject:
    """The diagnosis of a node 'Use' with this code, after a node 'Make' that gave out these items."""
    runs = {"Make": [run(items(*data))], "Use": [failed_run(message, after="Make", **error)]}
    use = node("Use", code)
    use["parameters"] |= {"mode": mode} if mode else {}
    return Diagnosis(as_read(made(runs, use))).report()


@pytest.mark.parametrize(
    ("code", "message"),
    [
        pytest.param(
            "function last(text) {\n  return text.split(' ')[0];\n}\n"
            "return items.map(({ json: row }) => ({ json: { n: last(row.name) } }));",
            OF_NULL.format("split", 2),
            id="a function",
        ),
        pytest.param(
            "class Row {\n  constructor(data) { this.data = data; }\n  key() {\n    return this.data.name.trim();\n"
            "  }\n}\n"
            "return items.map((i) => ({ json: { k: new Row(i.json).key() } }));",
            OF_NULL.format("trim", 4),
            id="a method of a class",
        ),
        pytest.param(
            "const load = async ({ name }) => {\n  const n = await name.trim();\n  return { json: { n } };\n};\n"
            "return await Promise.all($input.all().map((i) => load(i.json)));",
            OF_NULL.format("trim", 2),
            id="async functions",
        ),
        pytest.param(
            "const by = (key) => (row) => row[key].trim();\n"
            "return items.map((i) => ({ json: { n: by('name')(i.json) } }));",
            OF_NULL.format("trim", 1),
            id="a function that makes functions",
        ),
        pytest.param(
            "const out = [];\nlet i = 0;\nwhile (i < items.length) {\n  const { name = 'x' } = items[i].json;\n"
            "  out.push({ json: { n: `${name.trim()}` } });\n  i++;\n}\nreturn out;",
            OF_NULL.format("trim", 5),
            id="a loop, a default and a template",
        ),
    ],
)
def test_the_field_is_found_through_the_code(code: str, message: str) -> None:
    report = diagnosed(code, message, {"name": "Ada L"}, {"name": None})

    assert cause_told(report)["nodeName"] == "Make"
    assert cause_told(report)["itemIndex"] == 1
    assert "name is null" in report["explanation"]


def test_an_odd_item_is_blamed_where_the_code_took_others() -> None:
    code = "const [first, last] = $json.name.split(' ');\nreturn { json: { i: last[0] } };"
    report = diagnosed(
        code, OF_UNDEFINED.format("0", 2), {"name": "Ada L"}, {"name": "Plato"}, mode="runOnceForEachItem"
    )

    assert cause_told(report)["nodeName"] == "Make"
    assert "Plato" in report["explanation"]


def test_a_value_from_outside_is_not_blamed_on_an_item() -> None:
    code = "const r = await this.helpers.httpRequest({ url: 'x' });\nreturn r.rows.map((json) => ({ json }));"
    report = diagnosed(code, OF_UNDEFINED.format("map", 2), {"name": None})

    assert cause_told(report)["nodeName"] == "Use"
    assert "r.rows" in report["explanation"]


@pytest.mark.parametrize(
    "code",
    [
        pytest.param("while (true) {}", id="a loop without end"),
        pytest.param("const f = () => f();\nf();", id="a function that calls itself"),
        pytest.param("let s = 'ab';\nfor (;;) s += s;", id="a text that doubles"),
        pytest.param("let a = [1];\nfor (;;) a = [...a, ...a];", id="a list that doubles"),
        pytest.param("let a = [1];\nfor (;;) a = a.concat(a);", id="a list that is joined with itself"),
        pytest.param("let n = 3;\nfor (;;) n = n * n;", id="a number that grows"),
        pytest.param("(" * 5_000, id="many brackets"),
        pytest.param("return " + "!" * 5_000 + "1", id="many signs"),
        pytest.param("`${`" * 500, id="templates in templates"),
        pytest.param(f"if (/{'a{0,99}' * 6}b/.test('{'a' * 200}')) return 1;", id="a pattern of bounded repeats"),
        pytest.param(f"if (/{'a?' * 60}{'a' * 60}/.test('{'a' * 59}')) return 1;", id="a pattern of optional parts"),
        pytest.param(f"if (/{'(a|a)' * 60}b/.test('{'a' * 60}')) return 1;", id="a pattern of alternatives"),
    ],
)
def test_hostile_code_comes_to_an_end(code: str) -> None:
    assert "origin" not in diagnosed(code, OF_NULL.format("trim", 1), {"name": "x"})


def test_a_null_that_was_no_number_is_traced_to_the_text() -> None:
    code = "const num = (t) => Number(t);\nreturn [{ json: { s: items.reduce((a, i) => a + num(i.json.p), 0) } }];"
    runs = {"Make": [run(items({"p": "5"}, {"p": "7 EUR"}))], "Use": [run(items({"s": None}), after="Make")]}
    report = Diagnosis(as_read(made(runs, node("Use", code), status="success"))).report()

    assert cause_told(report)["nodeName"] == "Use"
    assert "it cannot calculate with p, which is \"7 EUR\" (string), from 'Make'" in report["explanation"]
