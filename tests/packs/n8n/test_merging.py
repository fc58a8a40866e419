"""Two sides change one workflow: what does not touch is merged, what does is named."""

from copy import deepcopy
from typing import Any

import pytest

from dogubako.packs.n8n.merge_renames import merge_renamed
from dogubako.packs.n8n.merging import edges, merge, normal_form, wired


def node(name: str, **fields: Any) -> dict[str, Any]:
    return {"id": f"id of {name}", "name": name, "type": "n8n-nodes-base.noOp", "parameters": {}, **fields}


def link(target: str, index: int = 0) -> dict[str, Any]:
    return {"node": target, "type": "main", "index": index}


BASE: dict[str, Any] = {
    "id": "w",
    "name": "Base",
    "nodes": [node("A", parameters={"url": "a", "options": {"x": 1}}), node("B"), node("顧客")],
    "connections": {"A": {"main": [[link("B")]]}},
    "settings": {"timezone": "UTC"},
}


def changed(**parts: Any) -> dict[str, Any]:
    return {**deepcopy(BASE), **parts}


def with_node(number: int, **fields: Any) -> dict[str, Any]:
    nodes = deepcopy(BASE["nodes"])
    nodes[number] |= fields
    return changed(nodes=nodes)


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        pytest.param(with_node(0, notes="t"), with_node(1, notes="o"), id="two nodes"),
        pytest.param(with_node(0, notes="t"), with_node(0, disabled=True), id="two fields of a node"),
        pytest.param(
            with_node(0, parameters={"url": "t", "options": {"x": 1}}),
            with_node(0, parameters={"url": "a", "options": {"x": 1, "y": 2}}),
            id="two parameters",
        ),
        pytest.param(changed(name="T"), changed(settings={"timezone": "Asia/Tokyo"}), id="name and settings"),
        pytest.param(
            changed(connections={"A": {"main": [[link("B"), link("顧客")]]}}),
            changed(connections={"A": {"main": [[]]}}),
            id="one connection added, another removed",
        ),
        pytest.param(changed(nodes=[*BASE["nodes"], node("C")]), changed(nodes=BASE["nodes"][:2]), id="added, removed"),
    ],
)
def test_changes_that_do_not_touch_are_merged_the_same_from_both_sides(
    theirs: dict[str, Any], ours: dict[str, Any]
) -> None:
    one, clashes = merge(BASE, theirs, ours)
    other, _ = merge(BASE, ours, theirs)

    assert clashes == []
    assert normal_form(one) == normal_form(other)
    assert normal_form(one) not in (normal_form(theirs), normal_form(ours))


@pytest.mark.parametrize(
    ("theirs", "ours", "path"),
    [
        pytest.param(with_node(0, notes="t"), with_node(0, notes="o"), "nodes.A.notes", id="one field"),
        pytest.param(with_node(0, notes="t"), changed(nodes=BASE["nodes"][1:]), "nodes.A", id="changed and removed"),
        pytest.param(
            changed(nodes=[*BASE["nodes"], node("C")]),
            changed(nodes=[*BASE["nodes"], node("C", notes="o")]),
            "nodes.C",
            id="one name for two nodes",
        ),
        pytest.param(changed(name="T"), changed(name="O"), "name", id="name"),
        pytest.param(with_node(1, name="T"), with_node(1, notes="o"), "nodes.B", id="renamed and changed"),
    ],
)
def test_a_place_that_both_changed_is_named(theirs: dict[str, Any], ours: dict[str, Any], path: str) -> None:
    merged, clashes = merge(BASE, theirs, ours)

    assert [clash.path for clash in clashes] == [path]
    assert normal_form(merged) == normal_form(theirs)


def test_the_same_change_on_both_sides_is_no_conflict() -> None:
    merged, clashes = merge(BASE, with_node(0, notes="x"), with_node(0, notes="x"))

    assert (merged, clashes) == (with_node(0, notes="x"), [])


def test_two_nodes_of_one_name_are_both_kept() -> None:
    twice = changed(nodes=[*BASE["nodes"], {**node("A"), "id": "second"}])
    merged, clashes = merge(twice, {**twice, "name": "T"}, twice)

    assert clashes == []
    assert merged["nodes"] == twice["nodes"]


def test_names_of_javascript_objects_are_names() -> None:
    names = ("__proto__", "constructor", "toString")
    base = changed(nodes=[node(name) for name in names], connections={"__proto__": {"main": [[link("constructor")]]}})
    ours = {**base, "nodes": [node("__proto__", notes="o"), *base["nodes"][1:]]}
    merged, clashes = merge(base, {**base, "name": "T"}, ours)

    assert clashes == []
    assert (merged["name"], merged["nodes"], merged["connections"]) == ("T", ours["nodes"], base["connections"])


def test_connections_are_read_and_written_back() -> None:
    connections = {"A": {"main": [[link("B")], [], [link("B", 1), link("顧客")]], "ai_tool": [[]]}}

    assert wired(edges(connections)) == {"A": {"main": connections["A"]["main"]}}


@pytest.mark.parametrize("odd", [{"A": None}, {"A": {"main": None}}, {"A": {"main": [None, ["x", {"node": 5}]]}}, {}])
def test_connections_of_an_odd_shape_are_no_connections(odd: dict[str, Any]) -> None:
    assert list(edges(odd)) == []


def test_a_node_that_has_taken_over_a_name_does_not_get_our_change() -> None:
    ours = with_node(1, notes="o")
    another = changed(nodes=[BASE["nodes"][0], {**node("B"), "id": "another"}, BASE["nodes"][2]])
    swapped = changed(nodes=[{**node("B"), "id": "id of A"}, {**node("A"), "id": "id of B"}, BASE["nodes"][2]])

    assert [one.path for one in merge(BASE, another, ours)[1]] == ["nodes.B"]
    assert [one.path for one in merge_renamed(BASE, swapped, ours)[1]] == ["nodes.B"]
    assert merge(BASE, another, with_node(0, notes="o"))[1] == []


def test_a_connection_with_a_node_that_we_remove_is_shown() -> None:
    theirs = changed(connections={"A": {"main": [[link("B"), link("顧客")]]}})
    ours = changed(nodes=BASE["nodes"][:2])

    _, clashes = merge(BASE, theirs, ours)

    assert [(one.path, one.theirs, one.gone) for one in clashes] == [("connections.A → 顧客", "connected", False)]


def test_a_rename_that_the_other_side_has_read_is_no_conflict_with_what_it_changed_besides() -> None:
    renamed = with_node(2, name="Neu")
    further = with_node(2, name="Neu", parameters={"x": 1})

    both, clashes = merge_renamed(BASE, further, renamed)

    assert clashes == []
    assert [one["parameters"] for one in both["nodes"] if one["name"] == "Neu"] == [{"x": 1}]
