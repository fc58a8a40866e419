"""Code that throws or reads from nothing: the condition is evaluated, and the node that made the value is named."""

from typing import Any

import pytest

from dogubako.packs.n8n.diagnosis.report import Diagnosis

from .made import as_read, cause_told, failed_run, items, made, node, run

NOTHING = "Cannot read properties of undefined (reading '{}') [line {}]"


def diagnosed(code: str, *rows: Any, line: int = 1, message: str = "refused", each: bool = True) -> Any:
    """The diagnosis of a Code node that failed behind `Load` and `Map`; `Map` only passes the items on."""
    told = message.format(line) if "{" in message else f"{message} [line {line}]"
    runs = {
        "Load": [run(items({"start": 1}))],
        "Map": [run(items(*rows), after="Load", executionIndex=1)],
        "Use": [failed_run(told, after="Map", lineNumber=line)],
    }
    parameters = {"jsCode": code, "mode": "runOnceForEachItem" if each else "runOnceForAllItems"}
    return Diagnosis(as_read(made(runs, node("Use") | {"parameters": parameters}))).report()


@pytest.mark.parametrize(
    ("code", "rows", "field"),
    [
        pytest.param("if (!$json.a) throw new Error('refused');", [{"a": 1}, {"a": ""}], "a", id="an empty text"),
        pytest.param(
            "if ($json.a === undefined || !$json.b) throw x;", [{"a": 1, "b": None}], "b", id="the second of two"
        ),
        pytest.param("if ($json.k === 'x' && !$json.v) throw x;", [{"k": "x", "v": None}], "v", id="both are needed"),
        pytest.param("const v = $json?.u?.v;  if (!v) throw x;", [{"u": {"v": ""}}], "u.v", id="by an optional chain"),
        pytest.param("if (typeof $json.n !== 'number') throw x;", [{"n": "7"}], "n", id="a type"),
        pytest.param("if (isNaN(Number($json.n))) throw x;", [{"n": "1"}, {"n": "two"}], "n", id="no number"),
        pytest.param("if (!/^\\d+$/.test($json.n)) throw x;", [{"n": "12"}, {"n": "1b"}], "n", id="a pattern"),
        pytest.param("if (!Array.isArray($json.l) || !$json.l.length) throw x;", [{"l": []}], "l", id="an empty list"),
        pytest.param("if (!isGood($json.s)) throw x;", [{"s": "c", "other": None}], "s", id="a function of its own"),
        pytest.param("if ($json.ok) {} else throw x;", [{"ok": ""}], "ok", id="behind else"),
        pytest.param("if ($json.ok) return 1; throw x;", [{"ok": 1}, {"ok": ""}], "ok", id="behind a return"),
        pytest.param(
            "if ($json.k === 'a') { return 1; } else if (!$json.v) { throw x; }",
            [{"k": "a", "v": ""}, {"k": "b", "v": ""}],
            "v",
            id="behind an else that was left before",
        ),
        pytest.param("if (!Number.isFinite(Number($json.n))) throw x;", [{"n": "1"}, {"n": "１２"}], "n", id="digits"),
        pytest.param(
            "const f = (v) => { if (!v) throw x; }; f($json.a); f($json.b);", [{"a": 1, "b": ""}], "b", id="a call"
        ),
        pytest.param(
            "switch ($json.k) { case 'a': break; default: throw x; }", [{"k": "a"}, {"k": "z"}], "k", id="switch"
        ),
    ],
)
def test_the_field_that_a_guard_tested_is_named(code: str, rows: list[Any], field: str) -> None:
    report = diagnosed(code, *rows)

    assert cause_told(report)["nodeName"] == "Map"
    assert cause_told(report)["problem"].startswith(f"{field} is ")
    assert cause_told(report)["itemIndex"] == len(rows) - 1


@pytest.mark.parametrize(
    "code",
    [
        pytest.param("if (Date.now() > 5) throw x;", id="the clock"),
        pytest.param("if (left < 1) throw x; let left = 5; left -= 9;", id="a variable that changes"),
        pytest.param("if ($getWorkflowStaticData('global').last) throw x;", id="what the workflow remembers"),
        pytest.param("if ($json.total < 10) throw x;", id="a rule of the business"),
        pytest.param("if ($json.a !== $json.total) throw x;", id="two fields"),
        pytest.param("if (![1, 2].includes($json.total)) throw x;", id="a list of values"),
    ],
)
def test_what_the_data_does_not_explain_is_not_blamed_on_an_earlier_node(code: str) -> None:
    report = diagnosed(code, {"total": 5, "note": None, "a": 3})

    assert report.get("origin", {"nodeName": "Use"})["nodeName"] == "Use"
    assert "because of what" not in report["explanation"]


@pytest.mark.parametrize(
    ("code", "line", "read", "field"),
    [
        pytest.param(
            "const get = (r) => r.meta.src;\nreturn $input.all().map((i) => get(i.json));",
            1,
            "src",
            "meta",
            id="helper",
        ),
        pytest.param("return $input.all().map(({ json }, i) => json.list[i].x);", 1, "x", "list", id="an index"),
        pytest.param(
            "for (const one of $input.all()) {\n  const m = one.json.meta || one.json.more;\n  m.src;\n}",
            3,
            "src",
            "more",
            id="a choice",
        ),
    ],
)
def test_what_a_line_read_from_nothing_is_found_through_functions_and_loops(
    code: str, line: int, read: str, field: str
) -> None:
    rows = [{"meta": {"src": 1}, "list": [{"x": 1}]}, {"id": 2, "list": []}]
    report = diagnosed(code, *rows, line=line, message=NOTHING.format(read, line), each=False)

    assert field in cause_told(report)["problem"]


@pytest.mark.parametrize(
    "code",
    [
        pytest.param("if (a) throw x; const a = b; const b = a;", id="names in a circle"),
        pytest.param("if (" + "(" * 3_000 + "1" + ")" * 3_000 + ") throw x;", id="many brackets"),
        pytest.param("if ($json.l.map(x => $json.l.map(y => $json.l.map(z => z)))) throw x;", id="loops in loops"),
        pytest.param("if (!/^(a+)+$/.test($json.a)) throw x;", id="a pattern that would never end"),
        pytest.param("if ($json.a) throw '" + "\\'" * 5_000, id="a text that does not end"),
        pytest.param("/*" * 5_000 + "if ($json.a) throw x;", id="a remark that does not end"),
        pytest.param("{" * 5_000 + "if ($json.a) throw x;", id="blocks that do not end"),
        pytest.param("if (0) {}" + " else if ($json.a) {}" * 2_000 + " else throw x;", id="a long chain of else"),
        pytest.param("throw throw if if (", id="no code at all"),
    ],
)
def test_any_code_is_answered(code: str) -> None:
    report = diagnosed(code, {"a": "a" * 100 + "!", "l": list(range(500))})

    assert report["explanation"].startswith("'Use' failed")
