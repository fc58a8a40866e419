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
from tests.hypothesis_profiles import examples

FOLDER: Final = Path(dogubako_sandbox.__file__).parent / "n8n" / "node_types"
NAMES: Final = ("Webhook", "Edit Fields", "顧客 取得", "It's")


@cache
def descriptions() -> tuple[NodeDescription, ...]:
    found = []
    for package in installed_packages(FOLDER):
        written = msgspec.json.decode(package.types.read_bytes(), type=list[dict[str, Any]])
        found += [description_of(package.name, one) for one in written]
    return tuple(one for one in found if one.complete)


def broken(text: str) -> list[tuple[str, bool]]:
    return [(one.kind, one.certain) for one in check_expressions({"parameters": {"value": text}}, NAMES, ())]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("={{ $json.name }}", id="plain"),
        pytest.param("={{ $('Webhook').item.json['a b'] }} and {{ $json.b }}", id="two"),
        pytest.param('={"a": {"b": "{{ $json.x }}"}}', id="JSON around it"),
        pytest.param("={{ { a: 1 } }}", id="object"),
        pytest.param("={{ $json.text.match(/[({]/) }}", id="regular expression"),
        pytest.param("={{ `${$json.a} {` }}", id="template"),
        pytest.param("={{ \")\" + '(' }}", id="brackets in texts"),
        pytest.param("={{ $('It\\'s').first().json.a }}", id="escaped quote"),
        pytest.param("={{ $node[\"顧客 取得\"].json['値'] }}", id="not ASCII"),
        pytest.param("=\\{{ not an expression", id="escaped braces"),
        pytest.param("plain {{ mustache }} text", id="another template language"),
        pytest.param("=no braces ( at all", id="no expression"),
        pytest.param("={{ $($json.name).item }}", id="name known at run time"),
        pytest.param("={{ $json.a // comment with (\n }}", id="comment"),
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
        pytest.param("={{ $('Ghost').item.json.a }}", ("unknownNode", True), id="node"),
        pytest.param("={{ $node['Webhok'].json.a }}", ("unknownNode", True), id="old form"),
        pytest.param("={{ $node.Ghost.json.a }}", ("unknownNode", True), id="old short form"),
        pytest.param("{{ $json.name }}", ("brokenExpression", False), id="no equals sign"),
    ],
)
def test_a_broken_expression_is_found(text: str, finding: tuple[str, bool]) -> None:
    assert broken(text) == [finding]


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
