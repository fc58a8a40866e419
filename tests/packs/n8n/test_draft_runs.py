"""What n8n's MCP server is asked for when a draft runs, and what is refused because it would be lost."""

from pathlib import Path
from typing import Any, Final

import msgspec
import pytest

from dogubako.packs.n8n import trigger_calls

from .test_running_triggers import CHAT, having, node, workflow
from .wired import bench

TOKEN: Final = "mcp-token-nobody-sees"
HOOK: Final = {"path": "h", "httpMethod": "POST"}


async def asked(tmp_path: Path, found: dict[str, Any], **call: Any) -> tuple[str, dict[str, Any]]:
    """Tool and arguments of the one request to the MCP server."""
    async with bench(tmp_path, having(found), N8N_MCP_TOKEN=TOKEN) as on:
        await on.data("run_workflow", id="w1", **call)
        (sent,) = [one for one in on.wire.requests if one.method == "POST"]
    params = msgspec.json.decode(sent.content)["params"]
    return params["name"], params["arguments"]


async def refused(tmp_path: Path, found: dict[str, Any], **call: Any) -> str:
    async with bench(tmp_path, having(found), N8N_MCP_TOKEN=TOKEN) as on:
        error = (await on.call("run_workflow", id="w1", **call)).error
        assert not [one for one in on.wire.requests if one.method == "POST"], "nothing ran"
    assert error is not None
    return error.message


@pytest.mark.parametrize("published", [True, False])
async def test_beside_pinned_data_the_webhook_gives_what_a_call_would_give(tmp_path: Path, published: bool) -> None:
    found = workflow(node("Hook", "webhook", 2, **HOOK), published=published)

    call = {"data": {"q": 1}, "query": {"z": 2}, "headers": {"X-Test": "t"}, "pinData": {"H": [{"x": 7}]}}
    tool, arguments = await asked(tmp_path, found, **call)

    (item,) = arguments["pinData"]["Hook"]
    assert (tool, arguments["pinData"]["H"]) == ("test_workflow", [{"json": {"x": 7}}])
    assert item["json"].pop("headers").items() >= {"x-test": "t", "content-type": "application/json"}.items()
    assert item["json"] == {
        "params": {},
        "query": {"z": "2"},
        "body": {"q": 1},
        "webhookUrl": "http://n8n.test/webhook-test/h",
        "executionMode": "test",
    }


async def test_a_draft_keeps_its_own_pinned_data_and_gets_query_and_path(tmp_path: Path) -> None:
    found = workflow(node("Hook", "webhook", 2, path="o/:id"), published=False) | {"pinData": {"H": [{"json": {}}]}}

    _, arguments = await asked(tmp_path, found, data={"q": 1}, pathParameters={"id": "7"})

    item = arguments["pinData"]["Hook"][0]["json"]
    assert (item["query"], item["params"], item["body"]) == ({"q": "1"}, {"id": "7"}, {})
    assert arguments["pinData"]["H"] == [{"json": {}}]


async def test_a_computed_path_hinders_no_draft(tmp_path: Path) -> None:
    found = workflow(node("Hook", "webhook", 2, path="={{ 'a' }}", httpMethod="POST"), published=False)

    _, arguments = await asked(tmp_path, found, data={"q": 1}, pathParameters={"id": "7"})

    item = arguments["pinData"]["Hook"][0]["json"]
    assert (item["body"], item["params"], "webhookUrl" in item) == ({"q": 1}, {"id": "7"}, False)


async def test_pinned_data_of_the_trigger_itself_stay_as_they_are(tmp_path: Path) -> None:
    found = workflow(node("Hook", "webhook", 2, **HOOK), published=False)

    _, arguments = await asked(tmp_path, found, pinData={"Hook": [{"body": {"a": 1}}]})

    assert arguments["pinData"] == {"Hook": [{"json": {"body": {"a": 1}}}]}


@pytest.mark.parametrize(
    ("trigger", "call", "said"),
    [
        (("manualTrigger", {}), {"data": {"a": 1}}, "parameter data: the manual trigger 'T' takes nothing"),
        (("scheduleTrigger", {}), {"query": {"a": 1}}, "parameter query: the schedule trigger 'T' takes nothing"),
        (
            ("manualTrigger", {}),
            {"method": "GET", "pinData": {}},
            "parameter method: the manual trigger 'T' takes only",
        ),
        (
            ("formTrigger", {}),
            {"headers": {"A": "b"}},
            "parameter headers: the form trigger 'T' takes only data, query",
        ),
        ((CHAT, {}), {"data": {"chatInput": "x", "user": "Ann"}}, "the draft of a chat takes only chatInput"),
        ((CHAT, {}), {"data": {}}, "a chat needs chatInput"),
        (("webhook", HOOK), {"pathParameters": {"id": "7"}}, "the path has no parameters"),
        (("webhook", HOOK), {"data": {"a": 1}, "pinData": {"T": [{}]}}, "takes nothing beside its own pinData"),
        (("webhook", HOOK), {"headers": {"content-type": "text/plain"}}, "JSON or fields"),
        (("webhook", HOOK), {"authentication": "Hook login"}, "asks for no login"),
    ],
)
async def test_what_would_be_lost_is_refused(
    tmp_path: Path, trigger: tuple[str, dict[str, Any]], call: dict[str, Any], said: str
) -> None:
    kind, parameters = trigger

    assert said in await refused(tmp_path, workflow(node("T", kind, 2, **parameters), published=False), **call)


async def test_a_form_has_one_address_and_one_method(tmp_path: Path) -> None:
    found = workflow(node("Form", "formTrigger", 2.2))

    for call in ({"pathParameters": {"a": "b"}}, {"method": "PUT"}):
        assert "the form trigger 'Form' takes only data, query, headers" in await refused(tmp_path, found, **call)


@pytest.mark.parametrize(
    ("methods", "call", "sent"),
    [
        (["GET", "POST"], {}, "The webhook takes GET, POST"),
        (["POST", "PUT"], {"data": {"a": 1}}, "The webhook takes POST, PUT"),
        (["GET", "POST"], {"data": {"a": 1}}, "POST"),
        (["GET", "POST"], {"method": "GET"}, "GET"),
        (["DELETE"], {}, "DELETE"),
    ],
)
async def test_of_several_methods_one_is_named_unless_the_data_decide(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, methods: list[str], call: dict[str, Any], sent: str
) -> None:
    monkeypatch.setattr(trigger_calls, "FIND_SECONDS", 0.1)
    found = workflow(node("Hook", "webhook", 2, path="h", multipleMethods=True, httpMethod=methods))

    if sent.startswith("The"):
        assert sent in await refused(tmp_path, found, **call)
        return
    async with bench(tmp_path, having(found)) as on:
        await on.data("run_workflow", id="w1", **call)
        assert [one.method for one in on.wire.requests if one.url.path == "/webhook/h"] == [sent]


async def test_the_triggers_that_did_not_run_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trigger_calls, "FIND_SECONDS", 0.1)
    others = (node("Daily", "scheduleTrigger"), node("Go", "manualTrigger"))
    found = workflow(node("Hook", "webhook", 2, **HOOK), *others)

    async with bench(tmp_path, having(found)) as on:
        chosen = await on.data("run_workflow", id="w1")
        named = await on.data("run_workflow", id="w1", trigger="Hook")

    assert (chosen["trigger"], chosen["otherTriggers"]) == ("Hook", ["Daily", "Go"])
    assert "otherTriggers" not in named
