"""`edit_workflow` under hostile operations, in large workflows, and what it costs an agent."""

import json
from copy import deepcopy
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from dogubako.contract.errors import ValidationError
from dogubako.packs.n8n.edits.editor import WorkflowEditor
from dogubako.packs.n8n.edits.expressions import Renaming
from dogubako.packs.n8n.edits.operations import FIELDS, Operation
from dogubako.packs.n8n.formatters.diff import workflow_diff
from dogubako.packs.n8n.formatters.workflow import connections, line
from dogubako.packs.n8n.tools import TOOLS
from dogubako.response.jsonable import encode
from tests.real_tokenizers import claude_tokens, mistral_tokens
from tests.sandbox.n8n_client import workflow_id

from .wired import Bench, bench, told

DRAFT = workflow_id("r-manual")


def node(name: str, kind: str = "noOp", **fields: Any) -> dict[str, Any]:
    basics = {"id": f"id of {name}", "name": name, "type": f"n8n-nodes-base.{kind}", "typeVersion": 1}
    return {**basics, "position": [0, 0], "parameters": {}, **fields}


def chain(*names: str) -> dict[str, Any]:
    return {source: {"main": [[{"node": target, "type": "main", "index": 0}]]} for source, target in pairwise(names)}


def edited(workflow: dict[str, Any], *operations: dict[str, Any]) -> dict[str, Any]:
    before = deepcopy(workflow)
    after = WorkflowEditor(workflow).apply([Operation.model_validate_json(json.dumps(one)) for one in operations])
    assert workflow == before, "the workflow itself must not change"
    return after


def lines(workflow: dict[str, Any]) -> list[str]:
    return [line(one) for one in connections(workflow)]


async def large(n8n: Bench, count: int) -> str:
    """A workflow of that many HTTP requests in a row."""
    parameters = {"url": "https://example.com/api/orders", "method": "POST", "options": {"timeout": 10_000}}
    names = [f"Request {number}" for number in range(count)]
    nodes = [node(name, "httpRequest", parameters=parameters, position=[220 * at, 0]) for at, name in enumerate(names)]
    return str((await n8n.data("create_workflow", name="Large", nodes=nodes, connections=chain(*names)))["id"])


def tokens(text: str) -> int:
    return max(claude_tokens(text), mistral_tokens(text))


async def test_a_repair_in_120_nodes_costs_few_tokens_each_way(tmp_path: Path) -> None:
    async with bench(tmp_path) as n8n:
        number = await large(n8n, 120)
        await n8n.data("edit_workflow", id=number, operations=[{"op": "addNode", "name": "Hook", "type": "webhook"}])
        await n8n.data("activate_workflow", id=number)
        operation = {"op": "setParameter", "node": "Request 77", "path": "options.timeout", "value": 30_000}
        call = {"id": number, "operations": [operation]}
        result = await n8n.call("edit_workflow", **call)

        assert tokens(json.dumps(call)) < 500
        assert tokens(str(result.content[0]["text"])) < 500
        (change,) = result.value["data"]["diff"]["nodes"]["changed"]
        assert change == {"node": "Request 77", "path": "parameters.options.timeout", "before": 10_000, "after": 30_000}


async def test_the_whole_workflow_of_120_nodes_is_read_page_by_page(tmp_path: Path) -> None:
    async with bench(tmp_path) as n8n:
        number = await large(n8n, 120)
        await n8n.data("edit_workflow", id=number, operations=[{"op": "addNode", "name": "Hook", "type": "webhook"}])
        await n8n.data("activate_workflow", id=number)
        result = await n8n.call("get_workflow", id=number, raw=True)
        seen, calls = [one["name"] for one in result.value["data"]["nodes"]], 1
        while "_truncated" in result.value:
            written = result.value["_truncated"]["next"]
            assert written.startswith("read_more(tool: 'get_workflow'")
            arguments = {"tool": "get_workflow", "arguments": {"id": number, "raw": True}, "path": "nodes"}
            result = await n8n.call("read_more", **arguments, offset=len(seen))
            seen += [one["name"] for one in result.value["data"]]
            calls += 1

        assert seen == [*(f"Request {number}" for number in range(120)), "Hook"]
        assert calls <= 5


@pytest.mark.parametrize(
    "operation",
    [
        pytest.param({"op": "setParameter", "node": "C", "path": "a." * 10_000 + "a", "value": 1}, id="long path"),
        pytest.param({"op": "setParameter", "node": "C", "path": "[0]" * 10_000, "value": 1}, id="many indexes"),
        pytest.param({"op": "setParameter", "node": "C", "path": "a[999999999]", "value": 1}, id="large index"),
        pytest.param({"op": "setParameter", "node": "C", "path": "a[99999999999]", "value": 1}, id="larger index"),
        pytest.param({"op": "setParameter", "node": "C", "path": "__proto__.x", "value": 1}, id="prototype"),
        pytest.param({"op": "addConnection", "from": "C", "to": "C", "output": 10**9}, id="output"),
        pytest.param({"op": "addConnection", "from": "C", "to": "C", "input": -1}, id="input"),
        pytest.param({"op": "addConnection", "from": "C", "to": "x" * 100_000}, id="long name"),
        pytest.param({"op": "moveNode", "node": "C", "position": [1e308, 0]}, id="far away"),
        pytest.param({"op": "moveNode", "node": "C", "position": [float("nan"), 0]}, id="nowhere"),
        pytest.param({"op": "renameNode", "node": "C", "name": "x" * 10_000}, id="endless name"),
        pytest.param({"op": "renameNode", "node": "C", "name": "  "}, id="blank name"),
        pytest.param({"op": "setPinData", "node": "C", "value": "text"}, id="pins that are no items"),
        pytest.param({"op": "setNodeSettings", "node": "C", "settings": {"name": "D"}}, id="not a setting"),
        pytest.param({"op": "setNodeSettings", "node": "C", "settings": {"disabled": "yes"}}, id="not a flag"),
        pytest.param({"op": "replaceConnection", "from": "When clicking", "to": "C", "value": 5}, id="no ends"),
        pytest.param({"op": "dropDatabase"}, id="unknown"),
    ],
)
async def test_a_hostile_operation_is_refused_with_a_short_answer(tmp_path: Path, operation: dict[str, Any]) -> None:
    async with bench(tmp_path) as n8n:
        result = await n8n.call("edit_workflow", id=DRAFT, operations=[operation])

        code, text = told(result)
        assert code in ("VALIDATION_ERROR", "NOT_FOUND")
        assert len(text) < 600
        assert n8n.wire.writes() == []


@pytest.mark.parametrize("count", [0, 101])
async def test_there_are_1_to_100_operations(tmp_path: Path, count: int) -> None:
    async with bench(tmp_path) as n8n:
        result = await n8n.call("edit_workflow", id=DRAFT, operations=[{"op": "setName", "name": "x"}] * count)

        assert told(result)[0] == "VALIDATION_ERROR"


async def test_received_values_are_not_in_the_error(tmp_path: Path) -> None:
    secret = "sk-live-4242424242424242"
    async with bench(tmp_path) as n8n:
        for operation in (
            {"op": "setParameter", "node": "C", "path": f"jsCode.{secret}", "value": secret},
            {"op": "setCredential", "node": "C", "type": "httpBasicAuth", "value": secret},
            {"op": "setNodeSettings", "node": "C", "settings": {"onError": secret}},
            {"op": "setPinData", "node": "C", "value": [secret]},
        ):
            result = await n8n.call("edit_workflow", id=DRAFT, operations=[operation])
            assert result.is_error
            assert secret not in str(result.content)


def test_a_node_with_a_name_that_two_have_is_named_by_its_id() -> None:
    twice = {"nodes": [node("A"), {**node("A"), "id": "second"}], "connections": {}}

    with pytest.raises(Exception, match="several nodes have this name"):
        edited(twice, {"op": "removeNode", "node": "A"})
    after = edited(twice, {"op": "renameNode", "node": "second", "name": "B"})
    assert [one["name"] for one in after["nodes"]] == ["A", "B"]


def test_removing_a_node_names_who_still_refers_to_it() -> None:
    code = node("Code", "code", parameters={"jsCode": "return $('A').all();"})
    editor = WorkflowEditor({"nodes": [node("A"), code], "connections": chain("A", "Code")})
    editor.apply([Operation.model_validate({"op": "removeNode", "node": "A"})])

    assert editor.loose_references() == ["Code still refers to the removed node A"]


@pytest.mark.parametrize("lookup", ["$(name)", "$node[name]", "$(`${name}`)", "$items(name)"])
def test_renaming_a_node_names_who_may_find_it_by_a_computed_name(lookup: str) -> None:
    code = node("Code", "code", parameters={"jsCode": f"const name = 'A';\nreturn {lookup};"})
    plain = node("Plain", "code", parameters={"jsCode": "return [{ json: { text: 'A', all: $('A').all() } }];"})
    editor = WorkflowEditor({"nodes": [node("A"), code, plain], "connections": chain("A", "Code", "Plain")})
    editor.apply([Operation.model_validate({"op": "renameNode", "node": "A", "name": "B"})])

    assert editor.loose_references() == [
        "Code finds a node by a computed name and still has the text A, which was renamed"
    ]


@pytest.mark.parametrize("drafted", [False, True])
@pytest.mark.parametrize(
    "operation",
    [
        pytest.param({"op": "setWorkflowSettings", "settings": {"timezone": "Asia/Tokyo"}}, id="settings"),
        pytest.param({"op": "setName", "name": "Other"}, id="name"),
    ],
)
async def test_what_no_version_holds_is_not_called_a_draft(
    tmp_path: Path, operation: dict[str, Any], drafted: bool
) -> None:
    published = workflow_id("m-empty")
    note = {"op": "setNodeSettings", "node": "Webhook", "settings": {"notes": "half done"}}
    async with bench(tmp_path) as n8n:
        await n8n.data("activate_workflow", id=published)
        if drafted:
            await n8n.data("edit_workflow", id=published, operations=[note])
        alone = (await n8n.call("edit_workflow", id=published, operations=[operation])).value["message"]
        back = (await n8n.call("edit_workflow", id=published, operations=[{**note, "settings": {"notes": "x"}}])).value
        updated = (await n8n.call("update_workflow", id=published, name="Third")).value["message"]

    assert "live at once" in alone and "draft" not in alone
    assert back["message"] == "Saved as a draft; what is published is unchanged"
    assert "live at once" in updated and "unchanged" not in updated


async def test_a_wrong_operation_is_not_called_a_list_that_is_too_short(tmp_path: Path) -> None:
    async with bench(tmp_path) as n8n:
        result = await n8n.call("edit_workflow", id=DRAFT, operations=[{"op": "explode"}])

    assert "at least 1" not in told(result)[1]


def test_removing_a_node_of_a_loop_and_a_branch_rewires_its_first_output() -> None:
    links = chain("A", "If", "Yes") | {"Loop": chain("Loop", "If")["Loop"]}
    links["If"]["main"].append([{"node": "No", "type": "main", "index": 0}])
    workflow = {"nodes": [node(name) for name in ("A", "Loop", "If", "Yes", "No")], "connections": links}

    after = edited(workflow, {"op": "removeNode", "node": "If"})
    assert sorted(lines(after)) == ["A → Yes", "Loop → Yes"]


def test_what_is_not_touched_keeps_its_shape() -> None:
    odd = {"A": {"main": [None, [{"node": "B", "type": "main", "index": 0, "extra": 1}]], "x": 5}}
    groups = [{"id": "g", "nodeIds": ["id of A"]}, {"id": "h", "nodeIds": ["id of A", "id of B"]}]
    workflow = {"nodes": [node("A"), node("B")], "connections": odd, "nodeGroups": groups}

    assert edited(workflow, {"op": "moveNode", "node": "A", "position": [1, 2]})["connections"] == odd
    assert edited(workflow, {"op": "removeNode", "node": "A"})["nodeGroups"] == [{"id": "h", "nodeIds": ["id of B"]}]


def test_a_language_model_is_connected_by_its_own_type() -> None:
    model = {**node("Model"), "type": "@n8n/n8n-nodes-langchain.lmChatOpenAi"}
    agent = {**node("Agent"), "type": "@n8n/n8n-nodes-langchain.agent"}
    after = edited(
        {"nodes": [model, agent], "connections": {}}, {"op": "addConnection", "from": "Model", "to": "Agent"}
    )

    assert lines(after) == ["Model → Agent (ai_languageModel)"]


def test_nodes_that_are_added_do_not_lie_on_each_other() -> None:
    operations = [{"op": "addNode", "name": f"N{number}", "type": "set", "from": "A"} for number in range(20)]
    after = edited({"nodes": [node("A")], "connections": {}}, *operations)

    assert len({tuple(one["position"]) for one in after["nodes"]}) == 21


@pytest.mark.parametrize(
    ("old", "new", "text", "renamed"),
    [
        ("A", "B", "={{ $('A').item }}", "={{ $('B').item }}"),
        ("A", "B", '={{ $( "A" ).item }}', '={{ $( "B" ).item }}'),
        ("A", "B", "={{ $(`A`).item }}", "={{ $(`B`).item }}"),
        ("A", "B c", "={{ $node.A.json + $node.Ab }}", '={{ $node["B c"].json + $node.Ab }}'),
        ("It's", 'say "x"', "={{ $('It\\'s') + $(\"It's\") }}", '={{ $(\'say "x"\') + $("say \\"x\\"") }}'),
        ("a\\b", "c", "={{ $('a\\\\b') }}", "={{ $('c') }}"),
        ("顧客", "$1 \\1", "={{ $('顧客') }}", "={{ $('$1 \\\\1') }}"),
        ("A.*", "B", "={{ $('A.*') + $('Abc') }}", "={{ $('B') + $('Abc') }}"),
        ("A", "B", "={{ $('AA') + $json['A'] + 'A' }}", "={{ $('AA') + $json['A'] + 'A' }}"),
        ("A", "B", "plain $('A')", "plain $('A')"),
        ("A", "B", "={{ $ ('A').a + $node ['A'].b }}", "={{ $ ('B').a + $node ['B'].b }}"),
        ("A", "B", "={{ $node . A.json }}", '={{ $node["B"].json }}'),
    ],
)
def test_references_are_renamed_exactly(old: str, new: str, text: str, renamed: str) -> None:
    assert Renaming(old, new).apply({"deep": [{"text": text}]}) == {"deep": [{"text": renamed}]}


def test_code_is_renamed_without_an_equals_sign() -> None:
    parameters = {"jsCode": "return $('A').all();", "pythonCode": '_("A").all() + _items("A")', "note": "$('A')"}

    assert Renaming("A", "B").apply(parameters) == {
        "jsCode": "return $('B').all();",
        "pythonCode": '_("B").all() + _items("B")',
        "note": "$('A')",
    }


def test_a_difference_names_what_was_added_removed_renamed_and_changed() -> None:
    before = {"name": "X", "nodes": [node("A"), node("B"), node("C", notes="c")], "connections": chain("A", "B")}
    after = edited(
        before,
        {"op": "renameNode", "node": "A", "name": "A2"},
        {"op": "removeNode", "node": "B"},
        {"op": "addNode", "name": "D", "type": "set", "from": "A2"},
        {"op": "setNodeSettings", "node": "C", "settings": {"notes": None, "disabled": True}},
        {"op": "setName", "name": "Y"},
    )

    diff = workflow_diff(before, after)
    assert diff["name"] == {"before": "X", "after": "Y"}
    assert diff["nodes"]["renamed"] == ["A → A2"]
    assert diff["nodes"]["removed"] == ["B"]
    assert [one["name"] for one in diff["nodes"]["added"]] == ["D"]
    assert diff["nodes"]["changed"] == [
        {"node": "C", "path": "notes", "before": "c"},
        {"node": "C", "path": "disabled", "after": True},
    ]
    assert diff["connections"] == {"added": ["A2 → D"], "removed": ["A → B"]}
    assert workflow_diff(before, before) == {}


def test_the_definitions_of_the_pack_stay_small() -> None:
    sizes = {tool.name: tokens(encode(tool().to_definition())) for tool in TOOLS}

    assert sizes["edit_workflow"] < 1_000
    assert sum(sizes.values()) <= 9_000


def test_every_operation_is_described_to_agents() -> None:
    (tool,) = [one for one in TOOLS if one.name == "edit_workflow"]
    description = tool().input_schema()["properties"]["operations"]["description"]

    assert [op for op in FIELDS if op not in description] == []


BRANCH: dict[str, Any] = {
    "name": "Branch",
    "nodes": [node("If", "if"), node("Left"), node("Right"), node("Join", "merge")],
    "connections": {
        "If": {
            "main": [[{"node": "Left", "type": "main", "index": 0}], [{"node": "Right", "type": "main", "index": 0}]]
        },
        "Left": {"main": [[{"node": "Join", "type": "main", "index": 0}]]},
        "Right": {"main": [[{"node": "Join", "type": "main", "index": 1}]]},
    },
}


@pytest.mark.parametrize(
    ("source", "target", "wanted"),
    [
        ("Right", "Join", ["Right → New", "New → Join[1]"]),
        ("If", "Right", ["If[1] → New", "New → Right"]),
    ],
)
def test_a_node_between_two_others_keeps_their_output_and_input(source: str, target: str, wanted: list[str]) -> None:
    add = {"op": "addNode", "name": "New", "type": "noOp", "from": source, "to": target}
    before, after = lines(BRANCH), lines(edited(BRANCH, add))

    assert [one for one in after if one not in before] == wanted
    assert len(after) == len(before) + 1


def test_between_nodes_with_two_connections_the_ends_have_to_be_named() -> None:
    twice = deepcopy(BRANCH)
    twice["connections"]["If"]["main"][0].append({"node": "Right", "type": "main", "index": 0})
    add = {"op": "addNode", "name": "New", "type": "noOp", "from": "If", "to": "Right"}

    with pytest.raises(ValidationError, match="several connections lead from one node to the other"):
        edited(twice, add)
    assert "If → New" in lines(edited(twice, {**add, "output": 0}))


def test_a_parameter_that_is_set_to_null_is_removed() -> None:
    flow = {"name": "W", "nodes": [node("A", parameters={"options": {"a": 1}})], "connections": {}}
    change = {"op": "setParameter", "node": "A", "path": "options.a", "value": None}

    assert edited(flow, change)["nodes"][0]["parameters"] == {"options": {}}
    assert edited(flow, {**change, "path": "never.there"})["nodes"][0]["parameters"] == {"options": {"a": 1}}


def test_a_new_name_with_quotes_breaks_no_text_in_which_the_old_one_stands() -> None:
    code = node("Code", "code", parameters={"jsCode": "const s = \"see $('A')\";\nreturn $('A').all();"})
    workflow = {"nodes": [node("A"), code], "connections": chain("A", "Code")}
    after = edited(workflow, {"op": "renameNode", "node": "A", "name": 'Le "X"'})

    assert after["nodes"][1]["parameters"]["jsCode"] == (
        'const s = "see $(\'Le \\"X\\"\')";\nreturn $(\'Le "X"\').all();'
    )
    again = edited(after, {"op": "renameNode", "node": 'Le "X"', "name": "B"})
    assert again["nodes"][1]["parameters"]["jsCode"] == "const s = \"see $('B')\";\nreturn $('B').all();"


def test_a_node_between_two_of_a_group_belongs_to_it() -> None:
    nodes = [{**node(name), "id": name.lower()} for name in "ABC"]
    group = {"id": "g", "name": "G", "nodeIds": ["a", "b"]}
    workflow = {"nodes": nodes, "connections": chain("A", "B", "C"), "nodeGroups": [group]}
    inside = edited(workflow, {"op": "addNode", "name": "X", "type": "noOp", "from": "A", "to": "B"})
    outside = edited(workflow, {"op": "addNode", "name": "X", "type": "noOp", "from": "B", "to": "C"})

    assert inside["nodeGroups"][0]["nodeIds"] == ["a", "b", inside["nodes"][-1]["id"]]
    assert outside["nodeGroups"] == [group]


@pytest.mark.parametrize("ends", [{"from": "Note", "to": "A"}, {"from": "A", "to": "Note"}])
def test_a_sticky_note_is_connected_to_nothing(ends: dict[str, str]) -> None:
    workflow = {"nodes": [node("A"), node("Note", "stickyNote")], "connections": {}}

    with pytest.raises(ValidationError, match="a sticky note has no connections"):
        edited(workflow, {"op": "addConnection", **ends})


def test_a_tool_is_not_put_between_another_tool_and_its_agent() -> None:
    tool = {"name": "T", "type": "@n8n/n8n-nodes-langchain.toolCode", "typeVersion": 1, "parameters": {}}
    agent = {"name": "Agent", "type": "@n8n/n8n-nodes-langchain.agent", "typeVersion": 2, "parameters": {}}
    workflow = {"nodes": [tool, agent], "connections": {}}
    between = {"op": "addNode", "name": "T2", "type": tool["type"], "from": "T", "to": "Agent"}

    with pytest.raises(ValidationError, match="give 'to' alone"):
        edited(workflow, between)
