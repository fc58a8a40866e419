"""What a node has beside its parameters: values that n8n does not save, and credentials that are no objects."""

from pathlib import Path
from typing import Any

import pytest

from dogubako.packs.n8n.nodes.node_shape import check_node_shape

from .checked import node
from .wired import bench


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("retryOnFail", "true"),
        ("disabled", "false"),
        ("disabled", None),
        ("continueOnFail", "yes"),
        ("alwaysOutputData", "yes"),
        ("executeOnce", 1),
        ("notesInFlow", 0),
        ("maxTries", "3"),
        ("maxTries", True),
        ("waitBetweenTries", "1s"),
        ("notes", 5),
        ("id", 5),
        ("webhookId", None),
        ("onError", 5),
        ("credentials", "Login"),
        ("credentials", []),
        ("parameters", None),
        ("parameters", []),
        ("customTelemetryTags", "a"),
        ("position", "0,0"),
        ("position", [0]),
        ("position", [0, 0, 0]),
        ("position", ["0", "0"]),
    ],
)
def test_a_value_that_n8n_does_not_save_is_certain(key: str, value: Any) -> None:
    found = list(check_node_shape({**node("It"), key: value}))

    assert [(one.kind, one.path, one.certain) for one in found] == [("notSaved", key, True)]


def test_values_that_n8n_saves_are_left_alone() -> None:
    whole = node(
        "It",
        retryOnFail=True,
        maxTries=2.5,
        waitBetweenTries=0,
        disabled=False,
        notes="",
        onError="continueRegularOutput",
        credentials={"httpHeaderAuth": {"id": None, "name": "Login"}, "other": {"id": "x"}},
        position=[1.5, -20],
    )

    assert list(check_node_shape(whole)) == []
    assert list(check_node_shape({"name": "It", "type": "n8n-nodes-base.noOp"})) == []


@pytest.mark.parametrize("value", ["abc", None, 5, ["abc"]])
def test_a_credential_that_is_no_object_is_told(value: Any) -> None:
    used = {"credentials": {"httpHeaderAuth": value}}
    found = [*check_node_shape(node("It", **used)), *check_node_shape(node("It", **used, disabled=True))]

    assert [(one.path, one.certain) for one in found] == [
        ("credentials.httpHeaderAuth", True),
        ("credentials.httpHeaderAuth", False),
    ]
    assert "{id, name}" in found[0].message


async def test_a_workflow_that_n8n_refuses_is_refused_with_the_name_of_the_node(tmp_path: Path) -> None:
    nodes = [node("Hook", "webhook", 2), node("Fetch", retryOnFail="true")]
    async with bench(tmp_path) as n8n:
        checked = await n8n.data("validate_workflow", nodes=nodes)
        refused = await n8n.call("create_workflow", name="Odd", nodes=nodes, connections={})

    assert [(one["node"], one["path"]) for one in checked["errors"]] == [("Fetch", "retryOnFail")]
    assert refused.code == "VALIDATION_ERROR"
    assert "Fetch: 'retryOnFail' has to be true or false" in str(refused.content)
    assert "allowInvalid" not in str(refused.content)
    assert n8n.wire.writes() == []


@pytest.mark.parametrize(
    ("change", "says"),
    [
        pytest.param({"url": "https://a.test"}, "n8n saves no node with 'url'", id="parameter beside the parameters"),
        pytest.param({"position": None}, "n8n saves no node without 'position'", id="no place"),
    ],
)
async def test_a_new_node_that_n8n_refuses_is_named(tmp_path: Path, change: dict[str, Any], says: str) -> None:
    odd = {key: value for key, value in {**node("Fetch"), **change}.items() if value is not None}
    nodes = [node("Hook", "webhook", 2), odd]
    async with bench(tmp_path) as n8n:
        checked = await n8n.data("validate_workflow", nodes=nodes)
        refused = await n8n.call("create_workflow", name="Odd", nodes=nodes, connections={})

    assert says in checked["errors"][0]["message"]
    assert refused.code == "VALIDATION_ERROR"
    assert f"Fetch: {says}" in str(refused.content)
    assert n8n.wire.writes() == []
