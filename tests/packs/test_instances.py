"""A service that is configured more than once: the argument `instance` exists only then, and chooses."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from dogubako.app import Toolbox, build
from dogubako.contract.call import TRUSTED
from dogubako.contract.output import parse_call
from dogubako.contract.pack import secrets_of
from dogubako.settings import SettingsError, Sources
from dogubako_sandbox.n8n.app import n8n_app
from dogubako_sandbox.redmine.app import redmine_app
from tests.packs.through import Through

pytestmark = pytest.mark.anyio

KEY = "a" * 40


class TwoServers(httpx2.AsyncBaseTransport):
    """Sends each request to the app of its host, and notes it."""

    def __init__(self, **apps: Any) -> None:
        self._apps = {name: httpx2.ASGITransport(app=app) for name, app in apps.items()}
        self.asked: list[str] = []

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        # The user of each key is looked up when the server starts, whenever that is.
        if request.url.path != "/users/current.json":
            self.asked.append(request.url.host)
        return await self._apps[request.url.host.partition(".")[0]].handle_async_request(request)


def box_with(tmp_path: Path, tables: dict[str, Any], pack: str, wire: TwoServers, **environ: str) -> Toolbox:
    known = {"DOGUBAKO_PACKS": f"core,{pack}", "DOGUBAKO_DATA_DIR": str(tmp_path), "DOGUBAKO_CACHE": "memory"}
    sources = Sources(environ={**known, **environ}, env_file=None)
    sources.file = tables
    box = build(sources)
    box.packs[pack].sandbox = Through(settings={}, app=dict, wire=wire)
    return box


TWO_REDMINES = {
    "redmine": {
        "hq": {"url": "http://hq.example", "api_key": KEY},
        "client": {"url": "http://client.example", "api_key": KEY, "format": "json"},
    }
}


@pytest.fixture
def wire() -> TwoServers:
    apps = {name: redmine_app() for name in ("hq", "client")}
    apps["client"].state.store["projects"].at(1)["name"] = "Their shop"
    return TwoServers(**apps)


@pytest.fixture
async def box(tmp_path: Path, wire: TwoServers) -> AsyncIterator[Toolbox]:
    async with box_with(tmp_path, TWO_REDMINES, "redmine", wire).running() as running:
        wire.asked.clear()
        yield running


async def test_each_call_reaches_the_instance_that_it_names(box: Toolbox, wire: TwoServers) -> None:
    hq = await box.call("list_projects", instance="hq")
    assert set(wire.asked) == {"hq.example"}
    client = await box.call("list_projects", instance="client")
    assert "Their shop" not in hq.text
    assert "Their shop" in client.text
    assert client.kind == "json", "each instance has settings of its own"


async def test_without_a_default_every_call_must_name_one(box: Toolbox) -> None:
    refused = await box.call("list_projects")
    assert refused.error is not None
    assert refused.error.message == "Required parameter missing: instance"
    schema = box.registry.get("list_projects").metadata.input_schema
    assert schema["properties"]["instance"]["enum"] == ["hq", "client"]
    assert "instance" in schema["required"]


async def test_an_unknown_instance_is_refused_with_the_known_ones(box: Toolbox, wire: TwoServers) -> None:
    refused = await box.call("list_projects", instance="elsewhere")
    assert refused.error is not None
    assert refused.error.code == "VALIDATION_ERROR"
    assert "hq" in refused.text
    assert wire.asked == []


async def test_resources_have_the_instance_in_their_address(box: Toolbox, wire: TwoServers) -> None:
    await box.read("redmine://client/issues/1")
    assert set(wire.asked) == {"client.example"}
    templates = {one.uri_template for one in box.catalog.templates(TRUSTED)}
    assert {"redmine://hq/issues/{id}", "redmine://client/issues/{id}"} <= templates
    assert "redmine://issues/{id}" not in templates


async def test_prompts_ask_for_the_instance_and_repeat_it(box: Toolbox) -> None:
    prompt = next(one for one in box.catalog.prompts(TRUSTED) if one.name == "weekly_report")
    assert [one.required for one in prompt.arguments if one.name == "instance"] == [True]
    _, messages = await box.render("weekly_report", {"project": "1", "instance": "client"})
    assert messages[-1]["content"]["text"] == "Use instance: 'client' in every call."


async def test_the_configured_default_is_used_where_none_is_named(tmp_path: Path, wire: TwoServers) -> None:
    tables = {"redmine": {"client": TWO_REDMINES["redmine"]["client"]}}
    environ = {"REDMINE_URL": "http://hq.example", "REDMINE_API_KEY": KEY}
    async with box_with(tmp_path, tables, "redmine", wire, **environ).running() as box:
        wire.asked.clear()
        assert "Their shop" not in (await box.call("list_projects")).text
        assert set(wire.asked) == {"hq.example"}
        schema = box.registry.get("list_projects").metadata.input_schema
        assert schema["properties"]["instance"]["default"] == "default"
        await box.read("redmine://issues/1")
        assert "client.example" not in wire.asked


async def test_a_single_instance_with_a_name_needs_no_argument(tmp_path: Path, wire: TwoServers) -> None:
    tables = {"redmine": {"hq": TWO_REDMINES["redmine"]["hq"]}}
    async with box_with(tmp_path, tables, "redmine", wire).running() as box:
        assert not (await box.call("list_projects")).is_error
        assert "instance" not in box.registry.get("list_projects").metadata.input_schema["properties"]


async def test_examples_in_answers_name_the_instance_and_work(tmp_path: Path) -> None:
    wire = TwoServers(prod=n8n_app(), dev=n8n_app())
    async with box_with(tmp_path, {"n8n": TWO_N8N}, "n8n", wire).running() as box:
        listed = await box.call("list_executions", instance="dev", limit=3)
        name, arguments = parse_call(listed.data["_guidance"]["example"])
        assert arguments["instance"] == "dev"
        wire.asked.clear()
        assert not (await box.call(name, arguments)).is_error
        assert set(wire.asked) == {"dev.example"}


async def test_the_cache_keeps_answers_of_instances_apart(box: Toolbox) -> None:
    first = await box.call("show_project", id=1, instance="hq")
    second = await box.call("show_project", id=1, instance="client")
    assert "Their shop" not in first.text
    assert "Their shop" in second.text


def test_variables_configure_an_instance_too(tmp_path: Path, wire: TwoServers) -> None:
    tables = {"redmine": {"hq": {}, "client": {"url": "http://client.example"}}}
    environ = {
        "REDMINE_HQ_URL": "http://hq.example",
        "REDMINE_HQ_API_KEY": "secret-of-hq",
        "REDMINE_CLIENT_API_KEY": "secret-of-client",
        "REDMINE_FORMAT": "json",
    }
    instances = box_with(tmp_path, tables, "redmine", wire, **environ).packs["redmine"].instances
    keys = {name: one.settings.key for name, one in instances.items()}  # type: ignore[attr-defined]
    assert keys == {"hq": "secret-of-hq", "client": "secret-of-client"}
    assert {one.settings.format for one in instances.values()} == {"json"}  # type: ignore[attr-defined]


def test_no_secret_of_one_server_reaches_another(tmp_path: Path) -> None:
    tables = {
        "n8n": {
            "url": "http://prod.example",
            "api_key": "key-of-prod",
            "mcp_token": "token-of-prod",
            "webhook_logins": {"Hook": {"user": "ann", "password": "password-of-prod"}},
            "dev": {"url": "http://dev.example", "api_key": "key-of-dev"},
        }
    }
    wire = TwoServers(prod=n8n_app(), dev=n8n_app())
    dev = box_with(tmp_path, tables, "n8n", wire).packs["n8n"].instances["dev"]

    assert secrets_of(dev.settings) == ["key-of-dev"]


@pytest.mark.parametrize(
    ("tables", "complaint"),
    [
        ({"hq": {"url": "http://hq.example"}}, "REDMINE_HQ_API_KEY"),
        ({"HQ": {"url": "http://hq.example"}}, "no name of an instance"),
        ({"default": {"url": "http://hq.example"}}, "no name of an instance"),
        ({"hq": {"url": "http://hq.example", "api_key": KEY, "colour": "red"}}, "unknown key 'colour'"),
    ],
    ids=["no key", "upper case", "reserved", "unknown key"],
)
def test_a_wrong_instance_stops_the_start(tmp_path: Path, wire: TwoServers, tables: Any, complaint: str) -> None:
    with pytest.raises(SettingsError, match=complaint):
        box_with(tmp_path, {"redmine": tables}, "redmine", wire)


def test_two_services_may_not_take_keys_from_one_header(tmp_path: Path, wire: TwoServers) -> None:
    shared = {"credentials": "own", "credential_header": "X-Redmine-API-Key"}
    tables = {"redmine": {name: {"url": f"http://{name}.example", **shared} for name in ("hq", "client")}}
    with pytest.raises(SettingsError, match="the same header"):
        box_with(tmp_path, tables, "redmine", wire)


async def test_health_checks_name_the_instance(box: Toolbox) -> None:
    assert {finding.subject for finding in await box.check()} >= {"redmine.hq", "redmine.client"}


TWO_N8N = {name: {"url": f"http://{name}.example", "api_key": "sandbox-key"} for name in ("prod", "dev")}


@pytest.fixture
async def two_n8n(tmp_path: Path) -> AsyncIterator[Toolbox]:
    wire = TwoServers(prod=n8n_app(), dev=n8n_app())
    async with box_with(tmp_path, {"n8n": TWO_N8N}, "n8n", wire).running() as box:
        yield box


async def test_a_workflow_is_copied_unpublished_and_what_lacks_there_is_named(two_n8n: Toolbox) -> None:
    nodes = [
        {
            "name": "呼ぶ",
            "type": "n8n-nodes-base.httpRequest",
            "typeVersion": 4.2,
            "position": [0, 0],
            "parameters": {"url": "https://example.com"},
            "credentials": {"httpBasicAuth": {"id": "abc", "name": "only on dev"}},
        },
        {
            "name": "子",
            "type": "n8n-nodes-base.executeWorkflow",
            "typeVersion": 1.2,
            "position": [200, 0],
            "parameters": {"workflowId": {"__rl": True, "mode": "id", "value": "notThere12345678"}},
        },
    ]
    workflow = {"name": "請求書", "nodes": nodes, "connections": {}, "allowInvalid": True}
    made = await two_n8n.call("create_workflow", workflow, instance="dev")
    assert made.error is None, made.text
    copied = await two_n8n.call("copy_workflow", instance="dev", target="prod", id=made.data["id"])

    assert copied.error is None, copied.text
    assert copied.data["missing"]["credentials"] == [{"node": "呼ぶ", "type": "httpBasicAuth", "name": "only on dev"}]
    assert copied.data["missing"]["subWorkflows"] == [{"node": "子", "id": "notThere12345678"}]
    name, arguments = parse_call(copied.data["_guidance"]["example"])
    assert arguments["instance"] == "prod"
    there = await two_n8n.call(name, arguments)
    assert (there.data["name"], there.data["active"]) == ("請求書", False)


async def test_a_copy_needs_another_instance_that_exists(two_n8n: Toolbox) -> None:
    listed = (await two_n8n.call("list_workflows", instance="dev", limit=1)).data["workflows"][0]["id"]
    same = await two_n8n.call("copy_workflow", instance="dev", target="dev", id=listed)
    unknown = await two_n8n.call("copy_workflow", instance="dev", target="mars", id=listed)

    assert same.code == "VALIDATION_ERROR"
    assert unknown.code == "NOT_FOUND"
    assert "prod" in unknown.text


async def test_without_a_second_instance_there_is_nothing_to_copy_to(tmp_path: Path) -> None:
    wire = TwoServers(dev=n8n_app())
    tables = {"n8n": {"url": "http://dev.example", "api_key": "sandbox-key"}}
    async with box_with(tmp_path, tables, "n8n", wire).running() as box:
        assert (await box.call("copy_workflow", id="x", target="prod")).code == "TOOL_NOT_FOUND"


async def test_of_several_data_tables_of_one_name_none_is_chosen(tmp_path: Path) -> None:
    dev, prod = n8n_app(), n8n_app()
    for one in ("first", "second"):
        prod.state.store.data_tables[one] = {"facts": {"id": one, "name": "orders", "columns": []}, "rows": []}
    async with box_with(tmp_path, {"n8n": TWO_N8N}, "n8n", TwoServers(dev=dev, prod=prod)).running() as box:
        locator = {"__rl": True, "mode": "list", "value": "elsewhere", "cachedResultName": "orders"}
        parameters = {"operation": "get", "dataTableId": locator}
        node = {"name": "Read", "type": "n8n-nodes-base.dataTable", "typeVersion": 1, "position": [0, 0]}
        workflow = {"name": "T", "nodes": [{**node, "parameters": parameters}], "connections": {}}
        made = await box.call("create_workflow", workflow | {"allowInvalid": True}, instance="dev")
        copied = await box.call("copy_workflow", instance="dev", target="prod", id=made.data["id"])

    assert copied.data["missing"]["dataTables"] == [
        {"node": "Read", "name": "orders", "id": "elsewhere", "sameName": ["first", "second"]}
    ]
