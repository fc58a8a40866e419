"""The n8n in small keeps state, pages and versions as the real one does."""

import base64
from typing import Any

import httpx2
import pytest

from dogubako_sandbox.n8n.app import NO_SCOPE_KEY, starting_app
from tests.sandbox.n8n_client import N8n, body_of, workflow_id

PUBLISHED = workflow_id("a-success-100")


def with_code(key: str, node: str, script: str) -> Any:
    """A definition in which one Code node does something else."""
    body = body_of(key)
    nodes = [
        {**each, "parameters": {**each["parameters"], "jsCode": script}} if each["name"] == node else each
        for each in body["nodes"]
    ]
    return {**body, "nodes": nodes}


async def test_a_new_workflow_is_a_draft_with_everything_that_n8n_adds(n8n: N8n) -> None:
    created = await n8n.told("POST", "workflows", body_of("m-empty", name="Mine"))

    assert created["name"] == "Mine"
    assert (created["active"], created["activeVersion"], created["tags"]) == (False, None, [])
    assert created["shared"][0]["role"] == "workflow:owner"
    assert created["nodes"] == body_of("m-empty")["nodes"]
    got = await n8n.told("GET", f"workflows/{created['id']}")
    assert got == {name: value for name, value in created.items() if name != "parentFolder"}


async def test_nodes_without_ids_get_them(n8n: N8n) -> None:
    bare = {"name": "W", "type": "n8n-nodes-base.webhook", "position": [0, 0]}
    created = await n8n.told("POST", "workflows", body_of("m-empty", nodes=[bare], connections={}))

    assert created["nodes"][0].keys() == {*bare, "id", "webhookId"}


@pytest.mark.parametrize(
    ("method", "path", "missing"),
    [
        pytest.param("GET", "", {"parentFolder"}, id="get"),
        pytest.param("POST", "/publish", {"tags", "shared", "parentFolder"}, id="publish"),
        pytest.param("POST", "/unpublish", {"tags", "parentFolder"}, id="unpublish"),
        pytest.param("POST", "/archive", {"tags", "parentFolder"}, id="archive"),
        pytest.param("DELETE", "", {"tags", "activeVersion", "parentFolder"}, id="delete"),
    ],
)
async def test_each_endpoint_leaves_other_keys_out(n8n: N8n, method: str, path: str, missing: set[str]) -> None:
    created = await n8n.told("POST", "workflows", with_path("m-empty", "mine"))

    shown = await n8n.told(method, f"workflows/{created['id']}{path}")

    assert created.keys() - shown.keys() == missing


def with_path(key: str, path: str) -> Any:
    body = body_of(key)
    webhook, *rest = body["nodes"]
    return {**body, "nodes": [{**webhook, "parameters": {**webhook["parameters"], "path": path}}, *rest]}


async def test_an_update_begins_a_new_version_only_when_the_graph_changes(n8n: N8n) -> None:
    before = await n8n.told("GET", f"workflows/{PUBLISHED}")
    renamed = await n8n.told("PUT", f"workflows/{PUBLISHED}", body_of("a-success-100", name="Renamed"))
    changed = await n8n.told("PUT", f"workflows/{PUBLISHED}", with_code("a-success-100", "Make 100", "return []"))

    assert (renamed["name"], renamed["versionId"]) == ("Renamed", before["versionId"])
    assert changed["versionId"] != before["versionId"]
    assert (changed["active"], changed["activeVersionId"]) == (True, changed["versionId"])
    assert (renamed["versionCounter"], changed["versionCounter"]) == (
        before["versionCounter"],
        before["versionCounter"] + 1,
    )


async def test_settings_that_an_update_does_not_name_stay(n8n: N8n) -> None:
    body = body_of("a-success-100", settings={"timezone": "Asia/Tokyo"})
    updated = await n8n.told("PUT", f"workflows/{PUBLISHED}", body)

    assert updated["settings"] == {**body_of("a-success-100")["settings"], "timezone": "Asia/Tokyo"}


async def test_a_draft_can_be_saved_beside_what_is_published(n8n: N8n) -> None:
    body = with_code("a-success-100", "Make 100", "return []")
    updated = await n8n.told("PUT", f"workflows/{PUBLISHED}?publishIfActive=false", body)

    assert updated["active"] is True
    assert updated["activeVersionId"] != updated["versionId"]
    assert updated["activeVersion"]["nodes"] == body_of("a-success-100")["nodes"]


async def test_an_update_that_cannot_be_published_is_saved_all_the_same(n8n: N8n) -> None:
    body = body_of("a-success-100", nodes=body_of("a-success-100")["nodes"][1:2], connections={})
    status, _ = await n8n.message("PUT", f"workflows/{PUBLISHED}", body)
    after = await n8n.told("GET", f"workflows/{PUBLISHED}")

    assert status == 400
    assert (after["nodes"], after["active"]) == (body["nodes"], True)
    assert len(after["activeVersion"]["nodes"]) == 4


async def test_an_unknown_node_type_is_saved_and_refused_at_publish(n8n: N8n) -> None:
    strange = {"name": "W", "type": "n8n-nodes-base.doesNotExist", "position": [0, 0]}
    created = await n8n.told("POST", "workflows", body_of("m-empty", nodes=[strange], connections={}))

    answer = await n8n.message("POST", f"workflows/{created['id']}/activate")

    assert answer == (400, "Unrecognized node type: n8n-nodes-base.doesNotExist")


async def test_two_workflows_cannot_listen_on_one_path(n8n: N8n) -> None:
    created = await n8n.told("POST", "workflows", body_of("a-success-100", name="dup hook"))

    answer = await n8n.message("POST", f"workflows/{created['id']}/activate")

    assert answer == (409, "There is a conflict with one of the webhooks.")


async def test_an_archived_workflow_is_neither_changed_nor_published(n8n: N8n) -> None:
    archived = await n8n.told("POST", f"workflows/{PUBLISHED}/archive")

    assert (archived["isArchived"], archived["active"]) == (True, False)
    update = await n8n.message("PUT", f"workflows/{PUBLISHED}", body_of("a-success-100"))
    assert update == (400, "Cannot update an archived workflow.")
    activation = await n8n.message("POST", f"workflows/{PUBLISHED}/activate")
    assert activation == (400, "Cannot activate an archived workflow.")


async def test_a_deleted_workflow_takes_its_executions_along(n8n: N8n) -> None:
    await n8n.told("POST", f"workflows/{PUBLISHED}/unpublish")
    before = await n8n.told("GET", "executions", params={"workflowId": PUBLISHED})
    too_early = await n8n.message("DELETE", f"workflows/{PUBLISHED}")
    await n8n.told("DELETE", f"workflows/{PUBLISHED}")

    assert before["data"]
    assert too_early == (409, "Workflow is still being unpublished. Please try again in a few moments.")
    assert await n8n.told("GET", "executions", params={"workflowId": PUBLISHED}) == {"data": [], "nextCursor": None}
    assert await n8n.message("DELETE", f"workflows/{PUBLISHED}") == (404, "Not Found")


async def test_tags_are_made_once_and_given_to_workflows(n8n: N8n) -> None:
    tag = await n8n.told("POST", "tags", {"name": "t1"})

    assert await n8n.message("POST", "tags", {"name": "t1"}) == (409, "Tag already exists")
    assert await n8n.told("PUT", f"workflows/{PUBLISHED}/tags", [{"id": tag["id"]}]) == [tag]
    assert await n8n.told("GET", f"workflows/{PUBLISHED}/tags") == [tag]
    unknown = await n8n.message("PUT", f"workflows/{PUBLISHED}/tags", [{"id": "nope"}])
    assert unknown == (404, "Some tags not found")
    assert (await n8n.told("GET", "tags"))["data"] == [tag]


@pytest.mark.parametrize(
    ("query", "names"),
    [
        pytest.param({"tags": "t1"}, {"A success chain 100", "M empty result"}, id="tag"),
        pytest.param({"tags": "t1,t2"}, {"M empty result"}, id="both tags"),
        pytest.param({"tags": "nope"}, set(), id="unknown tag"),
        pytest.param({"name": "EMPTY res"}, {"M empty result"}, id="part of a name"),
        pytest.param({"active": "false"}, {"O no trigger", "R manual"}, id="drafts"),
        pytest.param({"projectId": "nope"}, set(), id="unknown project"),
    ],
)
async def test_workflows_are_found_by(n8n: N8n, query: dict[str, str], names: set[str]) -> None:
    one, two = [await n8n.told("POST", "tags", {"name": name}) for name in ("t1", "t2")]
    await n8n.told("PUT", f"workflows/{PUBLISHED}/tags", [{"id": one["id"]}])
    await n8n.told("PUT", f"workflows/{workflow_id('m-empty')}/tags", [{"id": one["id"]}, {"id": two["id"]}])

    page = await n8n.told("GET", "workflows", params=query)

    assert {each["name"] for each in page["data"]} == names


async def test_pinned_data_can_be_left_out(n8n: N8n) -> None:
    created = await n8n.told("POST", "workflows", body_of("m-empty", pinData={"None": [{"json": {}}]}))

    assert "pinData" in await n8n.told("GET", f"workflows/{created['id']}")
    assert "pinData" not in await n8n.told("GET", f"workflows/{created['id']}?excludePinnedData=true")


@pytest.mark.parametrize("path", ["workflows", "executions"])
async def test_pages_follow_each_other_to_the_end(n8n: N8n, path: str) -> None:
    whole = [each["id"] for each in (await n8n.told("GET", path))["data"]]
    seen: list[str] = []
    query: dict[str, Any] = {"limit": 7}
    for _ in range(len(whole)):
        page = await n8n.told("GET", path, params=query)
        seen += [each["id"] for each in page["data"]]
        if page["nextCursor"] is None:
            break
        query = {"cursor": page["nextCursor"]}

    assert seen == whole
    assert len(whole) > 14


@pytest.mark.parametrize("limit", ["0", "251", "1000"])
async def test_an_odd_limit_is_not_an_error(n8n: N8n, limit: str) -> None:
    assert len((await n8n.told("GET", "executions", params={"limit": limit}))["data"]) > 14


async def test_a_cursor_is_the_last_id(n8n: N8n) -> None:
    page = await n8n.told("GET", "executions", params={"limit": 2})

    cursor = base64.b64decode(page["nextCursor"]).decode()
    assert cursor == f'{{"lastId":"{page["data"][-1]["id"]}","limit":2}}'


async def test_credentials_never_show_what_is_secret(n8n: N8n) -> None:
    secret = {"user": "u", "password": "hunter2"}
    created = await n8n.told("POST", "credentials", {"name": "c1", "type": "httpBasicAuth", "data": secret})
    listed = await n8n.told("GET", "credentials")

    assert "hunter2" not in f"{created}{listed}"
    assert [(each["name"], each["type"]) for each in listed["data"]] == [("c1", "httpBasicAuth")]
    bad = await n8n.message("POST", "credentials", {"name": "c1", "type": "nope", "data": {}})
    assert bad == (400, "req.body.type is not a known type")
    schema = await n8n.told("GET", "credentials/schema/httpBasicAuth")
    assert {"user", "password"} < schema["properties"].keys()


async def test_a_key_can_ask_what_it_may_do(n8n: N8n) -> None:
    everything = await n8n.told("GET", "discover")
    little = await n8n.told("GET", "discover", headers={"X-N8N-API-KEY": NO_SCOPE_KEY})

    assert "execution:read" in everything["data"]["scopes"]
    assert little["data"]["scopes"] == ["workflow:list", "workflow:read"]


async def test_there_is_one_user(n8n: N8n) -> None:
    assert [each["email"] for each in (await n8n.told("GET", "users"))["data"]] == ["owner@example.com"]


async def test_the_public_settings_do_not_tell_the_version(n8n: N8n) -> None:
    settings = await n8n.told("GET", "/rest/settings", headers={"X-N8N-API-KEY": ""})

    assert settings["data"]["settingsMode"] == "public"
    assert "versionCli" not in settings["data"]


@pytest.mark.parametrize("path", ["/", "/rest/settings", "/api/v1/workflows", "/healthz"])
async def test_while_it_starts_every_path_answers_200(path: str) -> None:
    transport = httpx2.ASGITransport(app=starting_app())
    async with httpx2.AsyncClient(transport=transport, base_url="http://n8n.sandbox") as client:
        response = await client.get(path)

    assert (response.status_code, response.text) == (200, "n8n is starting up. Please wait")
