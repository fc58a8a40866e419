"""Faults in which bad data makes a later node fail."""

import json
from typing import Any

from dogubako_sandbox.n8n.workflow_parts import JsonObject, code, condition, node

from .fault import SERVICE, Fault, Words, expression_set, request


def rows(w: Words, *values: Any, name: str | None = None) -> JsonObject:
    """A source with one item per value; every item has a null that has nothing to do with the fault."""
    items = [{"json": {"number": place, "keep": True, w.extra: None, **value}} for place, value in enumerate(values, 1)]
    return code(name or w.name("source"), f"return {json.dumps(items, ensure_ascii=False)};")


def each(w: Words, script: str, role: str = "victim") -> JsonObject:
    return code(w.nodes[role], script, mode="runOnceForEachItem")  # type: ignore[index]


def good(w: Words) -> JsonObject:
    return {w.field: {w.part: w.text}}


def carry(w: Words) -> JsonObject:
    """A culprit that does nothing wrong."""
    return expression_set(w.name("culprit"), {"step": "carried"})


def null_field(w: Words) -> Fault:
    found = f"'{w.field}': known[$json.number] ?? null"
    find = f"const known = {{ 1: '{w.text}' }};\nreturn {{ json: {{ ...$json, {found} }} }};"
    use = f"return {{ json: {{ ...$json, label: $json.{w.field}.trim() }} }};"
    return Fault(
        kind="null field",
        source=rows(w, {}, {}, {}),
        culprit=each(w, find, "culprit"),
        victim=each(w, use),
        cause="culprit",
        says=(w.field, "null"),
    )


def misspelt_field(w: Words) -> Fault:
    read = f"$json.{w.field}" if not w.checking else f"$json['{w.field}']"
    return Fault(
        kind="misspelt field",
        source=rows(w, {"buyer": {w.part: w.text}}),
        culprit=expression_set(w.name("culprit"), {w.near: "={{ $json.buyer }}"}, kind="object"),
        victim=each(w, f"return {{ json: {{ text: 'Dear ' + {read}.{w.part} }} }};"),
        cause="culprit",
        says=(w.field, w.near),
    )


def lost_field(w: Words) -> Fault:
    keep_some = expression_set(w.name("culprit"), {"number": "={{ $json.number }}", "keep": True}, keep=False)
    keep_code = each(w, "const { number, keep } = $json;\nreturn { json: { number, keep } };", "culprit")
    return Fault(
        kind="lost field",
        source=rows(w, good(w), good(w)),
        culprit=keep_code if w.checking else keep_some,
        victim=each(w, f"return {{ json: {{ text: $json.{w.field}.{w.part} }} }};"),
        cause="culprit",
        says=(w.field,),
    )


def other_node_item(w: Words) -> Fault:
    find = f"return {{ json: {{ ...$json, '{w.field}': $json.number === 2 ? null : {{ '{w.part}': 'x' }} }} }};"
    reach = "first()" if w.checking else "item"
    numbers: tuple[JsonObject, ...] = ({},) if w.checking else ({}, {}, {})
    if w.checking:
        find = f"return {{ json: {{ ...$json, '{w.field}': null }} }};"
    return Fault(
        kind="field of another node",
        source=rows(w, *numbers),
        culprit=each(w, find, "culprit"),
        victim=each(w, f"return {{ json: {{ text: $('{w.name('culprit')}').{reach}.json.{w.field}.{w.part} }} }};"),
        cause="culprit",
        says=(w.field, "null"),
    )


def node_bracket(w: Words) -> Fault:
    return Fault(
        kind="field by $node[…]",
        source=rows(w, {w.field: None}),
        culprit=expression_set(w.name("culprit"), {"step": "carried"}),
        victim=each(w, f'return {{ json: {{ text: $node["{w.name("source")}"].json["{w.field}"].{w.part} }} }};'),
        cause="source",
        says=(w.field, "null"),
    )


def alias(w: Words) -> Fault:
    script = f"const order = item.json;\nconst who = order.{w.field};\nreturn {{ json: {{ text: who.{w.part} }} }};"
    loop = (
        f"const out = [];\nfor (const entry of $input.all()) {{\n  const d = entry.json;\n"
        f"  out.push({{ json: {{ keep: true, text: d.{w.field}.{w.part}.trim() }} }});\n}}\nreturn out;"
    )
    script = script.replace("item.json", "$input.item.json")
    copied = f"const copy = {{ ...$json }};\nif ($json.number === 2) copy['{w.field}'] = null;"
    return Fault(
        kind="alias in code",
        source=rows(w, good(w), good(w)),
        culprit=each(w, f"{copied}\nreturn {{ json: copy }};", "culprit"),
        victim=code(w.name("victim"), loop) if w.checking else each(w, script),
        cause="culprit",
        says=(w.field, "null"),
    )


def destructuring(w: Words) -> Fault:
    plain = f"const {{ {w.field}, number }} = $json;\nreturn {{ json: {{ text: {w.field}.{w.part} }} }};"
    renamed = (
        f"const [first] = $input.all();\nconst {{ {w.field}: who }} = first.json;\n"
        f"return [{{ json: {{ text: who.{w.part} }} }}];"
    )
    return Fault(
        kind="destructuring in code",
        source=rows(w, good(w)),
        culprit=each(w, f"return {{ json: {{ ...$json, '{w.field}': null }} }};", "culprit"),
        victim=code(w.name("victim"), renamed) if w.checking else each(w, plain),
        cause="culprit",
        says=(w.field, "null"),
    )


def not_a_function(w: Words) -> Fault:
    value = "{ code: 12 }" if w.checking else "4711"
    return Fault(
        kind="is not a function",
        source=rows(w, {}),
        culprit=each(w, f"return {{ json: {{ ...$json, '{w.field}': {value} }} }};", "culprit"),
        victim=each(
            w, f"return {{ json: {{ text: $json.{w.field}.{'map((x) => x)' if w.checking else 'trim()'} }} }};"
        ),
        cause="culprit",
        says=(w.field, "object" if w.checking else "number"),
    )


def not_iterable(w: Words) -> Fault:
    script = f"let sum = 0;\nfor (const line of $json.{w.field}) sum += line.price;\nreturn {{ json: {{ sum }} }};"
    return Fault(
        kind="is not iterable",
        source=rows(w, {}),
        culprit=expression_set(w.name("culprit"), {w.field: '={{ { "price": 3 } }}'}, kind="object"),
        victim=each(w, script),
        cause="culprit",
        says=(w.field, "object"),
    )


def bad_json_text(w: Words) -> Fault:
    text = "<html>maintenance</html>" if w.checking else "{'price': 3}"
    return Fault(
        kind="text that is no JSON",
        source=rows(w, {}),
        culprit=expression_set(w.name("culprit"), {w.field: text}),
        victim=each(w, f"const data = JSON.parse($json.{w.field});\nreturn {{ json: {{ text: data.price }} }};"),
        cause="culprit",
        says=(w.field, "HTML" if w.checking else "JSON"),
    )


def bad_date(w: Words) -> Fault:
    text = "13/45/2026" if not w.checking else "令和八年"
    script = f"return {{ json: {{ when: new Date($json.{w.field}).toISOString() }} }};"
    return Fault(
        kind="date that does not parse",
        source=rows(w, {}),
        culprit=expression_set(w.name("culprit"), {w.field: text}),
        victim=each(w, script),
        cause="culprit",
        says=(w.field, text),
    )


def wrong_type(w: Words) -> Fault:
    value = '={{ "12" }}' if not w.checking else "十二"
    victim = node(w.name("victim"), "if", 2.2, condition(f"={{{{ $json.{w.field} }}}}", "gt", kind="number", right="5"))
    victim["parameters"]["conditions"]["conditions"][0]["rightValue"] = 5
    return Fault(
        kind="wrong type in a condition",
        source=rows(w, {}),
        culprit=expression_set(w.name("culprit"), {w.field: value}),
        victim=victim,
        cause="culprit",
        says=(w.field, "string"),
    )


def lost_pairing(w: Words) -> Fault:
    script = "return [{ json: { keep: true, sum: 1 } }, { json: { keep: true, sum: 2 } }];"
    if w.checking:
        script = "const all = $input.all();\nreturn all.slice(0, 2).map((one) => ({ json: { ...one.json } }));"
    return Fault(
        kind="lost pairing",
        source=rows(w, good(w), good(w), good(w)),
        culprit=code(w.name("culprit"), script),
        victim=expression_set(
            w.name("victim"), {"text": f"={{{{ $('{w.name('source')}').item.json.{w.field}.{w.part} }}}}"}
        ),
        cause="culprit",
        says=("pair",),
    )


def missing_binary(w: Words) -> Fault:
    make = """\
const data = Buffer.from('a,b\\n1,2\\n').toString('base64');
const binary = { data: { data, mimeType: 'text/csv', fileName: 'a.csv' } };
return [{ json: { keep: true, number: 1 }, binary }];"""
    drop = each(w, "return { json: { ...$json } };", "culprit")
    return Fault(
        kind="missing binary data",
        source=code(w.name("source"), make),
        culprit=drop,
        victim=node(
            w.name("victim"), "extractFromFile", 1, {"operation": "csv", "binaryPropertyName": "data", "options": {}}
        ),
        cause="culprit",
        says=("binary",),
    )


def url_from_nothing(w: Words) -> Fault:
    lookup = each(w, f"return {{ json: {{ ...$json, '{w.field}': undefined }} }};", "culprit")
    nulled = each(w, f"return {{ json: {{ ...$json, '{w.field}': null }} }};", "culprit")
    return Fault(
        kind="URL made from nothing",
        source=rows(w, {w.field: 7}),
        culprit=nulled if w.checking else lookup,
        victim=request(w.name("victim"), "/users/", {"url": f"={SERVICE}/users/{{{{ $json.{w.field} }}}}"}),
        cause="culprit",
        says=(w.field, "404"),
    )


def split_missing(w: Words) -> Fault:
    return Fault(
        kind="list that is not there",
        source=rows(w, {w.near: [1, 2]}),
        culprit=carry(w),
        victim=each(w, f"return {{ json: {{ text: $json.{w.field}.map((x) => x + 1) }} }};"),
        cause="victim",
        says=(w.field, w.near),
        also=("source",),
    )


def validated(w: Words) -> Fault:
    script = (
        f"if (!$json.{w.field}) throw new Error('{w.field} is missing for ' + $json.number);\nreturn {{ json: $json }};"
    )
    return Fault(
        kind="thrown because of a field",
        source=rows(w, good(w), good(w)),
        culprit=each(w, f"return {{ json: {{ ...$json, '{w.field}': $json.number > 1 ? null : 'x' }} }};", "culprit"),
        victim=each(w, script),
        cause="culprit",
        says=(w.field,),
    )


def nested_elsewhere(w: Words) -> Fault:
    inside = {"payload": {"data": good(w)}} if w.checking else {"body": good(w)}
    return Fault(
        kind="field that lies deeper",
        source=rows(w, inside),
        culprit=carry(w),
        victim=each(w, f"return {{ json: {{ text: $json.{w.field}.{w.part} }} }};"),
        cause="victim",
        says=(w.field, "data." if w.checking else "body."),
    )


def empty_item(w: Words) -> Fault:
    test = condition("={{ $json.number }}", "gt", kind="number", right="100")
    test["conditions"]["conditions"][0]["rightValue"] = 100
    return Fault(
        kind="empty item instead of none",
        source=rows(w, good(w), good(w)),
        culprit=node(w.name("culprit"), "filter", 2.2, test, alwaysOutputData=True),
        victim=each(w, f"return {{ json: {{ text: $json.{w.field}.{w.part} }} }};"),
        cause="culprit",
        says=(w.field,),
        not_in=("branch",),
    )


def quotes_in_body(w: Words) -> Fault:
    text = '「"緊急"」' if w.checking else 'He said "hi"'
    body = {
        "sendBody": True,
        "method": "POST",
        "specifyBody": "json",
        "jsonBody": f'={{ "note": "{{{{ $json.{w.field} }}}}" }}',
    }
    return Fault(
        kind="text that breaks a JSON body",
        source=rows(w, {}),
        culprit=expression_set(w.name("culprit"), {w.field: text}),
        victim=request(w.name("victim"), "/ok", body),
        cause="victim",
        says=(w.field, "JSON"),
    )


def no_number(w: Words) -> Fault:
    text = "約三千円" if w.checking else "12 USD"
    return Fault(
        kind="text where a number belongs",
        source=rows(w, {}),
        culprit=expression_set(w.name("culprit"), {w.field: text}),
        victim=expression_set(w.name("victim"), {"total": f"={{{{ $json.{w.field} }}}}"}, kind="number"),
        cause="culprit",
        says=(w.field, "number"),
    )


def page_then_code(w: Words) -> Fault:
    return Fault(
        kind="HTML page read as data",
        source=rows(w, good(w)),
        culprit=request(w.name("culprit"), "/html"),
        victim=each(w, "return { json: { text: $json.total.toFixed(2) } };"),
        cause="culprit",
        says=("total", "HTML"),
        not_in=("branch",),
    )


FAILING = (
    null_field,
    misspelt_field,
    lost_field,
    other_node_item,
    node_bracket,
    alias,
    destructuring,
    not_a_function,
    not_iterable,
    bad_json_text,
    bad_date,
    wrong_type,
    lost_pairing,
    missing_binary,
    url_from_nothing,
    split_missing,
    validated,
    nested_elsewhere,
    empty_item,
    quotes_in_body,
    no_number,
    page_then_code,
)
