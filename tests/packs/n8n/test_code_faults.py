"""Code that n8n saves and that fails at every run, and code that only looks like it."""

import pytest

from dogubako.packs.n8n.nodes.expressions import check_expressions

from .checked import node

EACH = "runOnceForEachItem"


def told(code: str | None, mode: str = "", kind: str = "code") -> list[tuple[str, str]]:
    parameters = ({"jsCode": code} if code is not None else {}) | ({"mode": mode} if mode else {})
    found = list(check_expressions(node("It", kind, 2, parameters=parameters), ("It",), ()))
    assert not any(one.certain for one in found)
    return [(one.kind, one.message) for one in found]


@pytest.mark.parametrize(
    ("code", "mode", "says"),
    [
        pytest.param('return "x";', "", "returns a text", id="text"),
        pytest.param("return `${$json.a}`", "", "returns a text", id="template"),
        pytest.param("const a = 1;\nreturn -5;", "", "returns a number", id="number"),
        pytest.param("return true;", "", "returns true", id="boolean"),
        pytest.param("return 0;", "", "returns a number", id="zero"),
        pytest.param("return [1, 'a', -3];", "", "a list without objects", id="list of plain values"),
        pytest.param("return [['a', 1]];", "", "a list without objects", id="list of lists"),
        pytest.param("return 'x';", EACH, "one item, { json: { … } }", id="text for each item"),
        pytest.param("return [{ json: { a: 1 } }];", EACH, "returns a list", id="list for each item"),
        pytest.param("return [];", EACH, "returns a list", id="empty list for each item"),
        pytest.param("return $input.all();", EACH, "uses $input.all()", id="all for each item"),
        pytest.param("const a = $input.first().json;\nreturn { a };", EACH, "$input.first()", id="first for each item"),
        pytest.param("$input.all().map(i => { return i; });", "", "a function inside", id="return of a function"),
        pytest.param("function f() { return []; }\nf();", "", "a function inside", id="return of a named function"),
        pytest.param("const r = await fetch('https://a.test');\nreturn [];", "", "uses fetch", id="fetch"),
        pytest.param("const fs = require('fs');\nreturn [];", "", "requires 'fs'", id="module"),
        pytest.param("return [{ json: [1, 2] }];", "", "'json' is no object", id="list as json"),
        pytest.param("return { json: 'a' };", EACH, "'json' is no object", id="text as json"),
        pytest.param(None, "", "has no 'jsCode'", id="none at all"),
    ],
)
def test_code_that_fails_at_every_run_is_told(code: str | None, mode: str, says: str) -> None:
    ((kind, message),) = told(code, mode)

    assert kind == "brokenCode"
    assert says in message


@pytest.mark.parametrize(
    ("code", "mode"),
    [
        pytest.param("return $input.all();", "", id="all items"),
        pytest.param("return [];", "", id="no items"),
        pytest.param("return { a: 1 };", "", id="one object"),
        pytest.param("return [{ a: 1 }];", "", id="objects without json"),
        pytest.param("return [$json.a, 1].filter(Boolean);", "", id="call on a list"),
        pytest.param("return [...$json.rows];", "", id="spread"),
        pytest.param("return [1, 2].map(n => ({ json: { n } }));", "", id="list that is mapped"),
        pytest.param("if (!$json.a) return 'none';\nreturn [];", "", id="a condition decides"),
        pytest.param("if ($json.a) { return []; }", "", id="return in a condition"),
        pytest.param("try { return []; } catch (e) { return []; }", "", id="return in a try"),
        pytest.param("for (const a of $input.all()) { return [a]; }", "", id="return in a loop"),
        pytest.param("throw new Error('Stop');", "", id="throws"),
        pytest.param("const f = () => { throw 1; };\nf();", "", id="throws inside"),
        pytest.param("// $input.all()\nreturn { json: $json };", EACH, id="comment"),
        pytest.param("return { json: { a: $input.item.json.a } };", EACH, id="one item"),
        pytest.param("return $('It').first();", EACH, id="first of another node"),
        pytest.param("const a = 1;", EACH, id="nothing for each item"),
        pytest.param("return 0;", EACH, id="zero for each item"),
        pytest.param("return null;", "", id="null"),
        pytest.param("return [{ json: { json: [1] }, pairedItem: 0 }];", "", id="object as json"),
        pytest.param("const require = (name) => name;\nreturn [{ a: require('fs') }];", "", id="own require"),
        pytest.param("const fetch = $json.x;\nreturn await fetch('a');", "", id="own fetch"),
        pytest.param("const client = $json.client;\nreturn [await client.fetch(1)];", "", id="method fetch"),
        pytest.param("return 'fetch(1)'.length > 1 ? [] : [];", "", id="fetch in a text"),
        pytest.param("label: for (const a of b) { x(); }\nreturn 1 + 1;", "", id="code that is not followed"),
    ],
)
def test_code_that_may_run_is_left_alone(code: str, mode: str) -> None:
    assert told(code, mode) == []


def test_code_is_missed_only_where_it_runs() -> None:
    off = node("It", "code", 2, disabled=True)
    python = node("It", "code", 2, parameters={"language": "pythonNative", "pythonCode": "return []"})

    assert [list(check_expressions(one, ("It",), ())) for one in (off, python, node("It", "set"))] == [[], [], []]


def test_a_misspelt_variable_in_code_is_told() -> None:
    assert [kind for kind, _ in told("return $inptu.all();")] == ["unknownVariable"]
    assert [kind for kind, _ in told("return [{ a: $jsno.b }];")] == ["unknownVariable"]


@pytest.mark.parametrize(
    "code",
    [
        "const $itms = $input.all();\nreturn $itms.map(a => a);",
        "return $input.all().map(($itme) => $itme);",
        "return $input.all().map(([$jsn]) => ({ a: $jsn.a }));",
        "for (const $jsno of $input.all()) { $jsno.json.a = 1; }\nreturn [];",
        "return [{ $jsn: 1 }];",
        "return [{ a: '$inptu.all()' }]; // $inptu.all()",
    ],
)
def test_a_name_of_its_own_is_no_misspelt_variable(code: str) -> None:
    assert told(code) == []


@pytest.mark.parametrize(
    "code",
    [
        pytest.param("return items; // a (comment", id="comment"),
        pytest.param("/* ( */ return [];", id="long comment"),
        pytest.param("const { b, c } = $json;\nconst a = b / 2 + (c / 3);\nreturn a;", id="divisions"),
        pytest.param("return /[(']/.test($json.a);", id="regular expression"),
        pytest.param("if (a) /\\(/.exec(b);\nreturn a;", id="regular expression behind a bracket"),
        pytest.param("return [{ a: `(${$json.a}` }];", id="template"),
        pytest.param("return [{ json: { help: `$('Ghost') and {{` } }];", id="name in the text of a template"),
        pytest.param("const { a, ...rest } = $json;\nreturn { json: { a, rest } };", id="rest"),
        pytest.param('return [{ a: "it\'s (" }];', id="texts"),
        pytest.param("class A extends Array { static async b() { } get c() { return 1 } }\nreturn [];", id="class"),
        pytest.param("const a = $json.a /* one\n*/ const b = 2;\nreturn [{ a, b }];", id="line break in a comment"),
        pytest.param(
            "outer: for (const a of []) { if (a in {}) continue outer; else break outer }\nreturn [];", id="label"
        ),
    ],
)
def test_good_code_is_left_alone(code: str) -> None:
    found = check_expressions({"type": "n8n-nodes-base.code", "parameters": {"jsCode": code}}, ("Webhook",), ())

    assert list(found) == []


@pytest.mark.parametrize(
    "code",
    [
        "return [1, 2;",
        "if (a { return b; }",
        "return a; }",
        "return 'open;",
        "return $json.;",
        "return “a”;",
        "cons x = 1;\nreturn [];",
        "print 'a'",
        "return { a:  };",
        "try { } atch (e) { }\nreturn [];",
        "return [1, 2].map(x => x;);",
    ],
)
def test_code_that_cannot_be_read_is_found(code: str) -> None:
    found = check_expressions({"type": "n8n-nodes-base.code", "parameters": {"jsCode": code}}, ("Webhook",), ())

    assert [(one.kind, one.certain) for one in found] == [("brokenCode", False)]
