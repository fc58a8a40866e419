"""Requests to n8n that do not do what one would think, and what our tools make of them."""

from dataclasses import replace

import pytest

from dogubako.app import build
from dogubako.settings import Sources
from dogubako_sandbox.n8n.app import starting_app
from tests.n8n_contract.facts import proves
from tests.n8n_contract.one_sided import only_where_there_is
from tests.n8n_contract.place import Place, copied_body, eventually

NO_TRIGGER = (
    "Workflow cannot be activated because it has no trigger node. "
    "At least one trigger, webhook, or polling node is required."
)
UNKNOWN_NODE = {"name": "W", "type": "n8n-nodes-base.doesNotExist", "position": [0, 0], "parameters": {}}


def permission(act: str) -> str:
    return f"You do not have permission to {act} this workflow. Ask the owner to share it with you."


@proves("put-back")
async def test_what_was_just_got_cannot_be_put_back(place: Place) -> None:
    workflow_id = await place.copy_of("m-empty")
    got = await place.workflow(workflow_id)

    answer = await place.n8n.message("PUT", f"workflows/{workflow_id}", got)

    assert answer == (400, "request/body/id is read-only")


@proves("settings-required", "extra-key")
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        pytest.param({"settings": None}, "request/body must have required property 'settings'", id="no settings"),
        pytest.param({"foo": 1}, "request/body Unrecognized key(s) in object: 'foo'", id="key"),
        pytest.param(
            {"settings": {"bogus": 1}}, "request/body/settings Unrecognized key(s) in object: 'bogus'", id="setting"
        ),
    ],
)
@pytest.mark.parametrize("method", ["POST", "PUT"])
async def test_a_body_that_n8n_does_not_take(place: Place, method: str, change: dict[str, object], reason: str) -> None:
    body = {name: value for name, value in (copied_body("m-empty") | change).items() if value is not None}
    path = "workflows" if method == "POST" else f"workflows/{await place.copy_of('m-empty')}"

    assert await place.n8n.message(method, path, body) == (400, reason)


@proves("missing-workflow")
async def test_a_change_of_a_missing_workflow_speaks_of_permission(place: Place) -> None:
    update = await place.n8n.message("PUT", "workflows/nope", copied_body("m-empty"))
    publish = await place.n8n.message("POST", "workflows/nope/publish", {})

    assert update == (404, permission("update"))
    assert publish == (404, permission("activate"))
    error = await place.refused("activate_workflow", id="nope")
    assert error.message == "Workflow 'nope' not found"


@proves("publish-names")
@pytest.mark.parametrize(
    ("on", "off"),
    [pytest.param("publish", "unpublish", id="new"), pytest.param("activate", "deactivate", id="old")],
)
async def test_publishing_has_two_names(place: Place, on: str, off: str) -> None:
    workflow_id = await place.copy_of("m-empty")

    published = await place.n8n.told("POST", f"workflows/{workflow_id}/{on}", {})
    unpublished = await place.n8n.told("POST", f"workflows/{workflow_id}/{off}", {})

    assert (published["active"], unpublished["active"]) == (True, False)


@proves("no-run-endpoint")
@pytest.mark.parametrize("path", ["workflows/{id}/run", "workflows/{id}/execute", "executions"])
async def test_the_api_runs_nothing(place: Place, path: str) -> None:
    answer = await place.n8n.message("POST", path.format(id=place.workflows["a-success-100"]), {})

    assert answer == (405, "POST method not allowed")


@proves("publishing-takes-time")
async def test_a_webhook_answers_some_time_after_publishing(place: Place) -> None:
    body = copied_body("p-disabled")
    hook = f"/webhook/{body['nodes'][0]['parameters']['path']}"
    before, _ = await place.n8n.ask("POST", hook, {})
    workflow_id = (await place.n8n.told("POST", "workflows", body))["id"]
    published = await place.call("activate_workflow", id=workflow_id)

    status, _ = await eventually(lambda: place.n8n.ask("POST", hook, {}), lambda answer: answer[0] != 404)

    assert (before, status, published["active"]) == (404, 200, True)


@proves("malformed-json")
async def test_malformed_json_is_answered_with_a_page(place: Place) -> None:
    headers = {"content-type": "application/json"}
    status, page = await place.n8n.ask("POST", "workflows", content=b"{oops", headers=headers)

    assert status == 500
    assert page.startswith("<!DOCTYPE html>")


@proves("unknown-node-type", "no-trigger")
async def test_what_cannot_run_is_saved_and_not_published(place: Place) -> None:
    strange = await place.copy_of("o-no-trigger", nodes=[UNKNOWN_NODE])
    idle = await place.copy_of("o-no-trigger")

    errors = [await place.refused("activate_workflow", id=each) for each in (strange, idle)]

    assert [error.message for error in errors] == [
        "Failed to activate workflow: Unrecognized node type: n8n-nodes-base.doesNotExist",
        f"Failed to activate workflow: {NO_TRIGGER}",
    ]


@proves("unlicensed")
@pytest.mark.parametrize("path", ["variables", "projects"])
async def test_what_is_not_licensed_is_refused_with_the_reason(place: Place, path: str) -> None:
    status, message = await place.n8n.message("GET", path)

    assert status == 403
    assert message.startswith("Your license does not allow for feat:")


@proves("tags-mean-all")
async def test_several_tags_mean_all_of_them(place: Place) -> None:
    both, one = [await place.copy_of("m-empty") for _ in range(2)]
    await place.call("set_workflow_tags", id=both, tags=["red", "round"], createMissing=True)
    await place.call("set_workflow_tags", id=one, tags=["red"])

    found = [await place.call("list_workflows", tags=tags) for tags in (["red"], ["red", "round"])]

    assert [{row["id"] for row in each["workflows"]} for each in found] == [{both, one}, {both}]


@only_where_there_is("starting")
@proves("starting-up")
async def test_while_n8n_starts_every_path_answers_and_our_tools_say_why_it_is_no_answer(place: Place) -> None:
    box = build(Sources(environ={"DOGUBAKO_SANDBOX": "true"}, env_file=None))
    state = box.packs["n8n"]
    assert state.sandbox is not None
    state.sandbox = replace(state.sandbox, app=starting_app)
    async with box.running():
        result = await box.call("list_workflows")

    assert result.error is not None
    assert result.error.message == "Failed to list workflows: n8n is still starting up"
