"""Checks of nodes: what is found, and what is no mistake although it looks like one."""

import random
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dogubako_sandbox
from dogubako.packs.n8n.nodes.descriptions import NodeDescription, Property, description_of
from dogubako.packs.n8n.nodes.display import Values, displayed, resolve
from dogubako.packs.n8n.nodes.expressions import check_expressions
from dogubako.packs.n8n.nodes.index import NodeIndex, index_of, installed_packages
from dogubako.packs.n8n.nodes.parameters import check_parameters
from dogubako.packs.n8n.nodes.sources import InstalledNodeTypes
from tests.hypothesis_profiles import examples

FOLDER: Final = Path(dogubako_sandbox.__file__).parent / "n8n" / "node_types"
NAMES: Final = ("Webhook", "Edit Fields", "顧客 取得", "It's", 'Get "all" 注文', "Da\nta", "Rocket 🚀", "a\\b")


@cache
def descriptions() -> tuple[NodeDescription, ...]:
    found = []
    for package in installed_packages(FOLDER):
        written = msgspec.json.decode(package.types.read_bytes(), type=list[dict[str, Any]])
        found += [description_of(package.name, one) for one in written]
    return tuple(one for one in found if one.complete)


def broken(text: str) -> list[tuple[str, bool]]:
    return [(one.kind, one.certain) for one in check_expressions({"parameters": {"value": text}}, NAMES, ())]


def test_a_reference_of_a_node_that_is_switched_off_is_no_certain_fault() -> None:
    node = {"parameters": {"value": "={{ $('Gone').item.json.a }}"}, "disabled": True}

    assert [(one.kind, one.certain) for one in check_expressions(node, NAMES, ())] == [("unknownNode", False)]


def test_the_expressions_of_a_workflow_that_is_written_into_a_node_are_its_own() -> None:
    written = '{"nodes": [{"name": "Set", "parameters": {"value": "={{ $json.name }}"}}]}'

    assert list(check_expressions({"parameters": {"workflowJson": written}}, NAMES, ())) == []


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("={{ $json.name }}", id="plain"),
        pytest.param("={{ $('Webhook').item.json['a b'] }} and {{ $json.b }}", id="two"),
        pytest.param('={"a": {"b": "{{ $json.x }}"}}', id="JSON around it"),
        pytest.param("={{ { a: 1 } }}", id="object"),
        pytest.param("={{ $json.text.match(/[({]/) }}", id="regular expression"),
        pytest.param("={{ [1,,2].map(x => x ? { a: x ? 1 : 2 } : [,]) }}", id="choices and gaps"),
        pytest.param("={{ (() => { for (let i = 0; i < 2; i++) { } return 1 })() }}", id="head of a loop"),
        pytest.param("={{ (() => { switch ($json.a) { case 1 ? 1 : 2: } })() }}", id="case without a statement"),
        pytest.param("={{ (() => { try { } finally { } try { } catch { } })() }}", id="try"),
        pytest.param("={{ [new Date, typeof 1, { new: 1 }.new, ((m) => m.delete)(1)] }}", id="words for operators"),
        pytest.param("={{ new (class { #a = 1; b() { return this.#a } })().b() }}", id="private name of a class"),
        pytest.param("={{ `${$json.a} {` }}", id="template"),
        pytest.param("={{ \")\" + '(' }}", id="brackets in texts"),
        pytest.param("={{ $('It\\'s').first().json.a }}", id="escaped quote"),
        pytest.param("={{ $node[\"顧客 取得\"].json['値'] }}", id="not ASCII"),
        pytest.param("=\\{{ not an expression", id="escaped braces"),
        pytest.param("plain {{ mustache }} text", id="another template language"),
        pytest.param("=no braces ( at all", id="no expression"),
        pytest.param("={{ $($json.name).item }}", id="name known at run time"),
        pytest.param("={{ $json.a // comment with (\n }}", id="comment"),
        pytest.param("={{ (($one) => $one)($json) + $newerThanThis }}", id="other variables"),
        pytest.param('={{ $(`Get "all" 注文`).item.json.x }}', id="quotation marks in backticks"),
        pytest.param('={{ $("Get \\"all\\" 注文").item.json.x }}', id="escaped quotation marks"),
        pytest.param('={{ $("Da\\nta").item.json.x }}', id="line break in a name"),
        pytest.param("={{ $('Rocket \\u{1F680}').item.json.x }}", id="code point in a name"),
        pytest.param("={{ $('Rocket \\ud83d\\ude80').item.json.x }}", id="surrogates in a name"),
        pytest.param("={{ $(`a\\\\b`).item.json.x }}", id="backslash in a name"),
        pytest.param("={{ `$('Ghost')` }}", id="name in the text of a template"),
        pytest.param('={{ "\\}}" }}', id="escaped end of an expression"),
        pytest.param(
            "={{ (() => { outer: for (const a of [1, 2]) { for (const b of [1, 2]) { if (b === 2) continue outer } } "
            "return 'ok' })() }}",
            id="continue with a label",
        ),
        pytest.param("={{ (() => { one: { if ($json.a) break one } return 1 })() }}", id="break with a label"),
        pytest.param("={{ {a: {b: 1\\}} }}", id="escaped end in an object"),
        pytest.param(
            "={{ 1. }} {{ 5..toFixed(1) }} {{ [1, 2,].length }} {{ Math.max(1, 2,) }}", id="ends that look odd"
        ),
        pytest.param("={{ $json?.['a']?.(1) }} {{ [...$('Webhook').all()] }}", id="optional chain and spread"),
        pytest.param("={{ $json.a / 2 / 3 }} {{ ($json.a) / 2 + '/' }}", id="divisions"),
        pytest.param("={{ '“a”' + `（` + /「/.source /* ” */ }}", id="typographic marks in texts"),
        pytest.param("={{ $json.名前 + $json.ключ }}", id="names in other scripts"),
        pytest.param("={{ (() => { switch (1) { case 1: } return 3 })() }}", id="colon before a brace"),
        pytest.param("={{ `${ { a: `}` }.a }` }}", id="template in a template"),
        pytest.param("={{ 1\n2 }} {{ 'a'\n'b' }} {{ 1; 2 }}", id="values in lines of their own"),
        pytest.param(
            "={{ String.raw`a${1}b` }} {{ 'a' in {a: 1} }} {{ typeof 1 }} {{ new Map }}", id="words and values"
        ),
        pytest.param(
            "={{ [1].map(async x => { if (x) return 'a'; else throw x })[0] }}", id="statements of a function"
        ),
        pytest.param(
            "={{ (function f() { for (const a of [1]) a })() }} {{ $json.in.return }}", id="loop of a function"
        ),
    ],
)
def test_a_good_expression_is_left_alone(text: str) -> None:
    assert broken(text) == []


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        pytest.param("={{ $json.name", ("brokenExpression", True), id="not closed"),
        pytest.param("={{ ($json.name }}", ("brokenExpression", True), id="bracket"),
        pytest.param("={{ {a: {b: 1}} }}", ("brokenExpression", True), id="ends at the first braces"),
        pytest.param("={{ 'text }}", ("brokenExpression", True), id="quotation mark"),
        pytest.param("={{ $(`x}}y`).item.json.x }}", ("brokenExpression", True), id="braces in backticks"),
        pytest.param("={{ 'a\nb' }}", ("brokenExpression", True), id="line break in a text"),
        pytest.param("={{ $json.body. }}", ("brokenExpression", True), id="dot at the end"),
        pytest.param("={{ ($json.body?.) }}", ("brokenExpression", True), id="optional dot at the end"),
        pytest.param("={{ $json..a }}", ("brokenExpression", True), id="two dots"),
        pytest.param("={{ $json.a + }}", ("brokenExpression", True), id="operator at the end"),
        pytest.param("={{ ($json.a ||) }}", ("brokenExpression", True), id="operator before a bracket"),
        pytest.param("={{ && true }}", ("brokenExpression", True), id="operator at the beginning"),
        pytest.param("={{ $(“Webhook”).item.json }}", ("brokenExpression", True), id="typographic quotation marks"),
        pytest.param("={{ $json[‘a’] }}", ("brokenExpression", True), id="single typographic marks"),
        pytest.param("={{ $（'Webhook'）.item }}", ("brokenExpression", True), id="wide brackets"),
        pytest.param("={{ }}", ("brokenExpression", True), id="nothing"),
        pytest.param("={{ $json.first $json.last }}", ("brokenExpression", True), id="two fields"),
        pytest.param("={{ $json['a'] 'b' }}", ("brokenExpression", True), id="text behind a field"),
        pytest.param("={{ f($json.a 2) }}", ("brokenExpression", True), id="two arguments without a comma"),
        pytest.param("={{ 'a'.trim() 'b' }}", ("brokenExpression", True), id="text behind a call"),
        pytest.param("={{ `${1}` $json.a }}", ("brokenExpression", True), id="field behind a template"),
        pytest.param("={{ $json.a and $json.b }}", ("brokenExpression", True), id="operator as a word"),
        pytest.param("={{ not $json.a }}", ("brokenExpression", True), id="not as a word"),
        pytest.param("={{ {a: 1 b: 2} }}", ("brokenExpression", True), id="members without a comma"),
        pytest.param("={{ return $json.a }}", ("brokenExpression", True), id="return"),
        pytest.param("={{ if ($json.a) { 1 } else { 2 } }}", ("brokenExpression", True), id="if"),
        pytest.param("={{ const x = 1; x }}", ("brokenExpression", True), id="const"),
        pytest.param("={{ $json.a ? 1 }}", ("brokenExpression", True), id="choice of one"),
        pytest.param("={{ f($json.a ? 1, 2) }}", ("brokenExpression", True), id="choice of one in brackets"),
        pytest.param("={{ $json.body.x ?? , 'a' }}", ("brokenExpression", True), id="operator before a comma"),
        pytest.param("={{ $max(1,,2) }}", ("brokenExpression", True), id="two commas"),
        pytest.param("={{ $json;.items }}", ("brokenExpression", True), id="dot behind a semicolon"),
        pytest.param("={{ @json.a }}", ("brokenExpression", True), id="at"),
        pytest.param("={{ #json }}", ("brokenExpression", True), id="private name outside of a class"),
        pytest.param("={{ new }}", ("brokenExpression", True), id="new of nothing"),
        pytest.param("={{ [1, 2].map(x => x;) }}", ("brokenExpression", True), id="semicolon in brackets"),
        pytest.param("={{ ({ a: }) }}", ("brokenExpression", True), id="key without a value"),
        pytest.param("={{ `${$('Ghost').item.json.a}` }}", ("unknownNode", True), id="node in a template"),
        pytest.param("={{ $('Ghost').item.json.a }}", ("unknownNode", True), id="node"),
        pytest.param("={{ $node['Webhok'].json.a }}", ("unknownNode", True), id="old form"),
        pytest.param("={{ $node.Ghost.json.a }}", ("unknownNode", True), id="old short form"),
        pytest.param("{{ $json.name }}", ("brokenExpression", False), id="no equals sign"),
        pytest.param("={{ $jsn.name }}", ("unknownVariable", False), id="variable"),
    ],
)
def test_a_broken_expression_is_found(text: str, finding: tuple[str, bool]) -> None:
    assert broken(text) == [finding]


@pytest.mark.parametrize(("kind", "name"), [("n8n-nodes-base.stickyNote", "content"), ("n8n-nodes-base.html", "html")])
def test_a_note_and_a_template_may_show_expressions(kind: str, name: str) -> None:
    node = {"type": kind, "parameters": {name: "Write {{ $json.name }} and {{ $('Ghost').item.json.a }}"}}

    assert list(check_expressions(node, NAMES, ())) == []


def test_code_that_names_a_missing_node_is_a_doubt_and_comments_are_not_read() -> None:
    def kinds(code: str) -> list[tuple[str, bool]]:
        node = {"parameters": {"jsCode": code}}
        return [(one.kind, one.certain) for one in check_expressions(node, NAMES, ("jsCode",))]

    assert kinds("return $('Ghost').all();") == [("unknownNode", False)]
    assert kinds("// $('Ghost')\n/* $('Ghost') */ return $('Webhook').all();") == []


def test_a_parameter_may_be_shown_by_version_by_others_and_by_conditions() -> None:
    def shown(version: float, here: dict[str, Any], **conditions: Any) -> bool | None:
        part = Property(name="x", show=conditions.get("show"), hide=conditions.get("hide"))
        return displayed(
            part, Values(here=here, version=version, root={"mode": "deep"}, containers=frozenset({"options"}))
        )

    assert shown(2, {}, show={"@version": [{"_cnd": {"gte": 2}}]}) is True
    assert shown(1, {}, show={"@version": [{"_cnd": {"gte": 2}}]}) is False
    assert shown(1, {}, show={"@version": [{"_cnd": {"between": {"from": 1, "to": 1.4}}}]}) is True
    assert shown(1, {"a": 1}, show={"a": [True]}) is False
    assert shown(1, {"a": "={{ $json.a }}"}, show={"a": ["b"]}) is True
    assert shown(1, {}, show={"/mode": ["deep"]}) is True
    assert shown(1, {"a": {"__rl": True, "value": "b"}}, show={"a": ["b"]}) is True
    assert shown(1, {"a": ""}, hide={"a": [{"_cnd": {"exists": True}}]}) is True
    assert shown(1, {}, show={"/options.format": ["x"]}) is None
    assert shown(1, {"a": "b"}, show={"a": [{"_cnd": {"regex": "b"}}]}) is None


def test_of_parameters_with_one_name_the_shown_one_gives_the_default() -> None:
    properties = [
        Property(name="resource", type="options", default="mail"),
        Property(name="operation", type="options", default="send", show={"resource": ["mail"]}),
        Property(name="operation", type="options", default="list", show={"resource": ["file"]}),
    ]
    frame = Values(here={}, version=1)

    assert resolve(properties, {}, frame, defaults=True).here["operation"] == "send"
    assert resolve(properties, {"resource": "file"}, frame, defaults=True).here["operation"] == "list"


def problems(description: NodeDescription, version: float, parameters: dict[str, Any]) -> list[str]:
    found = check_parameters(description, version, parameters, tool=False)
    return [f"{one.kind} {one.path}" for one in found]


class Author:
    """Writes parameters as the editor would: only what is shown, with values that fit."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def parameters(self, properties: list[Property], frame: Values, *, defaults: bool) -> dict[str, Any]:
        written: dict[str, Any] = {}
        for one in properties:
            values = resolve(properties, written, frame, defaults=defaults)
            if (
                one.name not in written
                and displayed(one, values) is True
                and (one.required or self._random.random() < 0.7)
            ):
                written[one.name] = self._value(one, values)
        final = resolve(properties, written, frame, defaults=defaults)
        shown = {one.name for one in properties if displayed(one, final) is True}
        return {name: value for name, value in written.items() if name in shown}

    def _value(self, one: Property, values: Values) -> Any:
        if one.type not in ("collection", "fixedCollection") and not one.plain and self._random.random() < 0.1:
            return "={{ $json.value }}"
        values = values if values.root is not None else replace(values, root=values.here)
        match one.type:
            case "options":
                return self._random.choice(one.choices).value
            case "multiOptions":
                return [choice.value for choice in one.choices[:2]]
            case "boolean":
                return self._random.random() < 0.5
            case "number":
                return self._random.randint(1, 9)
            case "collection":
                return self.parameters(one.children, values, defaults=False)
            case "fixedCollection":
                return {name: self._entries(one, group, values) for name, group in one.groups.items()}
            case "filter":
                operator = {"type": "string", "operation": "equals"}
                return {
                    "conditions": [{"leftValue": "a", "rightValue": "b", "operator": operator}],
                    "combinator": "and",
                }
            case "assignmentCollection":
                return {"assignments": [{"name": "a", "value": "b", "type": "string"}]}
            case "workflowSelector" | "resourceLocator":
                return {"__rl": True, "mode": "id", "value": "abc"}
            case "resourceMapper":
                return {"mappingMode": "autoMapInputData", "value": None}
            case _:
                return "値"

    def _entries(self, one: Property, group: list[Property], values: Values) -> Any:
        rows = [self.parameters(group, values, defaults=True) for _ in range(2)]
        return rows if one.many else rows[0]


@settings(max_examples=examples(60), deadline=None)
@given(seed=st.integers(0, 10_000))
def test_good_nodes_give_no_false_alarm(seed: int) -> None:
    for description in descriptions():
        version = random.Random(seed).choice(description.versions)
        frame = Values(here={}, version=version)
        top = Author(seed).parameters(description.properties, frame, defaults=True)

        wrong = [one for one in problems(description, version, top) if not one.startswith("missingParameter")]
        assert wrong == [], (description.type, version, top)


def test_an_empty_part_that_n8n_ignores_is_not_told() -> None:
    (request,) = [one for one in descriptions() if one.type == "n8n-nodes-base.httpRequest" and 4.2 in one.versions]

    assert problems(request, 4.2, {"url": "http://a.test", "bodyParameters": {}}) == []
    assert problems(request, 4.2, {"url": "http://a.test", "bodyParameters": {"parameters": [{}]}}) != []


def strange_values() -> Iterator[Any]:
    yield from (None, True, 0, "", "={{", [], {}, [[]], [None], {"": None}, {"a": {"a": {"a": []}}}, "x" * 10_000)


def test_strange_values_never_break_a_check() -> None:
    for description in descriptions():
        for one in description.properties:
            for value in strange_values():
                problems(description, description.versions[0], {one.name: value, "": value})


def test_an_index_is_made_once_and_read_piece_by_piece(tmp_path: Path) -> None:
    packages = installed_packages(FOLDER)
    first, second = (index_of(packages, tmp_path) for _ in range(2))

    assert len(list(tmp_path.glob("*.sqlite"))) == 1
    assert first.version() == "2.41.1"
    assert len(second.descriptions("n8n-nodes-base.set")) == 2
    assert second.descriptions("n8n-nodes-base.sett") == ()
    assert isinstance(first, NodeIndex)


@pytest.mark.parametrize(
    "text",
    [
        "={{ /* $('Ghost') */ 1 }}",
        "={{ \"$('Ghost')\" }}",
        "=text $('Ghost') text",
        "={{ 1 }} // $('Ghost')",
        "={{ 'say $node[\"Ghost\"]' }}",
    ],
)
def test_a_name_that_is_not_evaluated_is_no_reference(text: str) -> None:
    assert broken(text) == []


@pytest.mark.parametrize("text", ["={{ $('Ghost').item.json.a }}", "={{ 'a' + $('Ghost').first().json.b }}"])
def test_a_name_beside_texts_is_still_found(text: str) -> None:
    assert broken(text) == [("unknownNode", True)]


@pytest.mark.parametrize(
    ("layout", "named"),
    [
        pytest.param("node_modules", ".", id="folder of a local installation"),
        pytest.param("node_modules", "node_modules", id="its packages"),
        pytest.param("node_modules", "node_modules/n8n", id="n8n beside its packages"),
        pytest.param("node_modules", "node_modules/n8n-nodes-base", id="a package"),
        pytest.param("node_modules", "node_modules/@n8n/n8n-nodes-langchain", id="a package with a scope"),
        pytest.param("node_modules/n8n/node_modules", "node_modules/n8n", id="n8n above its packages"),
        pytest.param("lib/node_modules", ".", id="prefix of npm"),
    ],
)
def test_an_installation_is_found_by_any_of_its_folders(tmp_path: Path, layout: str, named: str) -> None:
    for one in installed_packages(FOLDER):
        home = tmp_path / layout / one.name
        home.mkdir(parents=True)
        (home / "nodes.json").write_bytes(one.types.read_bytes())
    (tmp_path / "node_modules" / "n8n").mkdir(parents=True, exist_ok=True)

    found = {one.name for one in installed_packages(tmp_path / named)}

    assert found == {"n8n-nodes-base", "@n8n/n8n-nodes-langchain"}


def test_the_advice_does_not_name_what_is_set_already(tmp_path: Path) -> None:
    assert "can give a better source: N8N_NODE_TYPES" in InstalledNodeTypes(tmp_path, None).advice
    assert "N8N_NODE_TYPES is set" in InstalledNodeTypes(tmp_path, tmp_path).advice
