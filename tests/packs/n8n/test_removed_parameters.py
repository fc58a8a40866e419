"""Parameters that are removed by their place in a list."""

from dogubako.packs.n8n.node_changes import with_node_changes


def test_places_in_a_list_are_meant_in_the_node_as_it_was() -> None:
    rows = [{"name": one} for one in "abcde"]
    workflow = {"nodes": [{"name": "Set", "parameters": {"rows": rows, "other": 1}}]}
    paths = ("rows[0]", "other", "rows[1]", "rows[0]")

    (after,) = with_node_changes(workflow, [{"nodeName": "Set", "removeParameters": paths}])

    assert after["parameters"] == {"rows": rows[2:]}
    assert len(rows) == 5
