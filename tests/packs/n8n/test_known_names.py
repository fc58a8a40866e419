"""Names and members that expressions and code of n8n have, and those that only look like it."""

import pytest

from dogubako.packs.n8n.nodes.expressions import check_expressions
from dogubako.packs.n8n.nodes.problems import Problem

from .checked import node


def told(body: str) -> list[Problem]:
    found = check_expressions({"parameters": {"value": f"={{{{ {body} }}}}"}}, ("Webhook", "A"), ())
    return [one for one in found if one.kind == "unknownVariable"]


def told_of_code(code: str, mode: str = "runOnceForAllItems") -> list[str]:
    made = node("It", "code", 2, parameters={"jsCode": code, "mode": mode})
    found = list(check_expressions(made, ("It", "Webhook"), ()))
    assert not any(one.certain for one in found)
    return [one.message for one in found]


@pytest.mark.parametrize(
    ("body", "certain", "says"),
    [
        pytest.param("$('Webhook').json.body", True, "Write $('…').item.json.", id="json of a node"),
        pytest.param("$('Webhook').body", True, "Write $('…').item.json.body.", id="field of a node"),
        pytest.param("$('Webhook').item.body.x", False, "write .json.body.", id="field of an item"),
        pytest.param("$('Webhook').first().body", False, "write .json.body.", id="field of the first item"),
        pytest.param("$('Webhook').all().json", True, "a list of items", id="json of all items"),
        pytest.param("$input.json.x", True, "Write $input.item.json.", id="json of $input"),
        pytest.param("$input.first.json.x", True, "write first().json.", id="function that is not called"),
        pytest.param("$node('Webhook').json", True, "no function", id="$node is called"),
        pytest.param("$node['Webhook'].item.json", True, "json, binary", id="item of $node"),
        pytest.param("items[0].json.x", True, "$input.all()", id="items"),
        pytest.param("body.x", True, "$json.body", id="body"),
        pytest.param("'a' + `b${body.x}`", True, "$json.body", id="in a template"),
        pytest.param("[body.x, { a: 1 }]", True, "$json.body", id="in a list"),
        pytest.param("$json.a ? body.x : 1", False, "$json.body", id="perhaps never read"),
        pytest.param("[1].map(x => x + rate)", False, "$json.rate", id="in a function"),
        pytest.param("name", False, "$json.name", id="alone"),
        pytest.param("True", False, "Write true.", id="True of Python"),
        pytest.param("len($json.body)", True, "value.length", id="len"),
        pytest.param("moment().format()", True, "$now", id="moment"),
        pytest.param("new URL('http://a').host", False, "extractDomain", id="URL"),
        pytest.param("Buffer.from('x')", False, "base64Encode", id="Buffer"),
        pytest.param("process.env.HOME", False, "$env", id="environment"),
        pytest.param("'a'.toUppercase()", False, "of a text", id="method of a text"),
        pytest.param("`a`.trim().upper()", False, "of a text", id="method behind a method"),
        pytest.param("[1, 2].count()", False, "of a list", id="method of a list"),
        pytest.param("(5).toFixd(2)", False, "of a number", id="method of a number"),
        pytest.param("$now.addDays(1)", False, "of a date", id="method of a date"),
        pytest.param("$today.plus({ days: 1 }).toFromat('yyyy')", False, "of a date", id="behind plus"),
        pytest.param("DateTime.fromISo('2026-01-01')", False, "of DateTime", id="method of DateTime"),
        pytest.param("DateTime.fromISO($json.a).year()", None, "", id="a getter that is called is left alone"),
    ],
)
def test_what_gives_nothing_is_told(body: str, certain: bool | None, says: str) -> None:
    found = told(body)

    assert [one.certain for one in found] == ([] if certain is None else [certain])
    assert all(says in one.message for one in found)


@pytest.mark.parametrize(
    "body",
    [
        "$json.body.x",
        "$('Webhook').item.json.body",
        "$('Webhook').item.binary.data.fileName",
        "$('Webhook').first(0, 1).json['a']",
        "$('Webhook').isExecuted ? $('Webhook').params.path : $('Webhook').context",
        "$('Webhook').itemMatching(0).json.a + $('Webhook').pairedItem(0).json.a",
        "$('Webhook').all().length + $('Webhook').all().map(i => i.json.a)[0]",
        "$node['Webhook'].json.a + $node.Webhook.runIndex",
        "$items('Webhook')[0].json.body",
        "[1].map(({ a, ...rest }) => a + rest)",
        "[[1, 2]].map(([a, b = a]) => a + b)",
        "(() => { const { x: y = 1 } = $json; let [z] = [y]; var w; w = z; return w })()",
        "(() => { try { return 1 } catch (body) { return body.x } })()",
        "(() => { for (const item of $input.all()) { return item.json } })()",
        "(() => { function len(x) { return x } class URL {} return len(new URL()) })()",
        "(function fact(n) { return n < 2 ? 1 : n * fact(n - 1) })(5)",
        "typeof body === 'undefined' ? 1 : body.x",
        "{ body: 1, items: [] }",
        "({ body() { return 1 } }).body()",
        "$json.items.data.True",
        "$json?.items?.[0]?.now()",
        "max(1, 2) + average(1, 2) + not(true) + numberList(1, 2) + zip([1], [2]) + toPathSegment('a')",
        "Object.keys($json).map(key => encodeURIComponent(key) + parseInt(key)).join()",
        "new Date().getFullYear() + new Intl.NumberFormat('de').format(1)",
        "$now.toFormat('yyyy') + $now.format('yyyy') + $today.weekday + DateTime.now().toISO().slice(0, 4)",
        "Duration.fromMillis(5).toISO() + Interval.fromDateTimes($now, $today)",
        "'a'.toDateTime().addDays",
        "'a@b.c'.extractEmail().isEmail() + 'a'.hash() + (5).isEven() + [1].sum()",
        "'abc'.length + [1].length + 'a'.constructor.name",
        "undefined ?? null ?? NaN ?? Infinity ?? this",
        "((body) => body.x)($json)",
        "(body => { outer: for (;;) break outer })($json)",
        "$newerThanThis.body",
        "/body/.test($json.a)",
        "`body ${$json.a} items`",
        "((DateTime, $now) => DateTime.foo() + $now.bar)(1, 2)",
    ],
)
def test_what_n8n_has_and_what_the_code_declares_is_not_told(body: str) -> None:
    assert told(body) == []


def test_a_node_that_is_switched_off_has_no_certain_fault() -> None:
    found = check_expressions({"parameters": {"value": "={{ body.x }}"}, "disabled": True}, (), ())

    assert [one.certain for one in found] == [False]


@pytest.mark.parametrize(
    ("code", "mode", "says"),
    [
        pytest.param("return [{ json: { a: body.x } }];", "", "$input.first().json.body", id="body"),
        pytest.param("return { json: { a: body.x } };", "runOnceForEachItem", "Write $json.body.", id="for each item"),
        pytest.param("return { json: { a: items.length } };", "runOnceForEachItem", "$input.item", id="items"),
        pytest.param("return [{ json: item.json }];", "", "$input.first()", id="item"),
        pytest.param("return [{ json: { a: crypto.randomUUID() } }];", "", "'crypto'", id="crypto"),
        pytest.param("return [{ json: $('Webhook').json }];", "", "reads 'json' of $('…')", id="member of a node"),
    ],
)
def test_code_with_names_that_are_not_there_is_told(code: str, mode: str, says: str) -> None:
    (message,) = told_of_code(code, mode or "runOnceForAllItems")

    assert says in message


@pytest.mark.parametrize(
    ("code", "mode"),
    [
        ("return items.map(item => ({ json: { a: item.json.a } }));", ""),
        ("return { json: { a: item.json.a, b: $json.b } };", "runOnceForEachItem"),
        ("const a = Buffer.from(btoa('x')); console.log(a); await new Promise(r => setTimeout(r, 1)); return [];", ""),
        ("return later();\nfunction later() { return [{ json: {} }]; }", ""),
        ("let total = 0;\nfor (const { json } of $input.all()) total += json.a;\nreturn [{ json: { total } }];", ""),
        ("const data = await this.helpers.httpRequest({ url: 'http://a.test' });\nreturn [{ json: data }];", ""),
    ],
)
def test_code_with_names_that_are_there_is_not_told(code: str, mode: str) -> None:
    assert told_of_code(code, mode or "runOnceForAllItems") == []
