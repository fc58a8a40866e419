"""The generic tool of a service: any request, with the rules that hold for its method."""

import json
from typing import Any

import pytest

from dogubako.contract.call import Caller, ToolCall
from dogubako.contract.output import parse_call
from dogubako.transports.mcp.auth import StepUp
from dogubako.transports.mcp.fast_path import FastPath

from .api_server import PetApi
from .conftest import KEY, Open
from .test_calls import call, text_of

TOOL = "pets_request"


async def test_there_is_none_unless_the_settings_want_it(opened: Open) -> None:
    async with opened() as box:
        names = {entry.name for entry in box.registry.list()}

    assert TOOL not in names


async def test_any_request_is_sent_with_the_key_below_the_address(api: PetApi, opened: Open) -> None:
    async with opened(request=True) as box:
        found = await call(box, TOOL, method="GET", path="/owners/佐藤", query={"tag": ["a b", "c"], "deep": True})
        added = await call(box, TOOL, method="POST", path="/owners", body={"name": "タマ"})

    first, second = api.requests
    assert found.data["total"] == 6 and added.code == "OK" and first.headers["x-pets-key"] == KEY
    assert str(first.url) == "http://pets.test/v1/owners/佐藤?tag=a%20b&tag=c&deep=true"
    assert second.method == "POST" and json.loads(api.bodies[1]) == {"name": "タマ"}


async def test_fields_and_the_next_page_work_as_for_operations(opened: Open) -> None:
    async with opened(request=True) as box:
        first = await call(box, TOOL, method="GET", path="/pets", query={"page": 1}, fields=["total"])
        name, arguments = parse_call(first.data["_guidance"]["example"])
        second = await box.call(name, arguments)

    assert first.data["total"] == 6 and "items" not in first.data
    assert arguments["query"] == {"page": 2} and second.code == "OK"


async def test_deleting_asks_first_and_reading_does_not(api: PetApi, opened: Open) -> None:
    async with opened(request=True) as box:
        asked = await call(box, TOOL, method="DELETE", path="/owners/1")
        assert asked.code == "CONFIRMATION_REQUIRED" and api.requests == []
        done = await call(box, TOOL, method="DELETE", path="/owners/1", confirm=True)
        through_another = await call(box, "call_tool", name=TOOL, arguments={"method": "DELETE", "path": "/owners/1"})

    assert done.code == "OK" and through_another.code == "CONFIRMATION_REQUIRED"
    assert [one.method for one in api.requests] == ["DELETE"]


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
async def test_a_read_only_box_lets_only_reading_pass(method: str, api: PetApi, opened: Open) -> None:
    async with opened(request=True, box={"read_only": True}) as box:
        read = await call(box, TOOL, method="GET", path="/owners")
        refused = await call(box, TOOL, method=method, path="/owners/1")

    assert (read.code, refused.code) == ("OK", "READ_ONLY") and len(api.requests) == 1


async def test_each_method_needs_the_scope_of_its_effect(api: PetApi, opened: Open) -> None:
    async with opened(request=True, box={"auth": "keys"}) as box:

        async def tried(scope: str, method: str) -> str:
            caller = Caller(name="somebody", scopes=frozenset({scope}))
            parameters = {"method": method, "path": "/owners/1", "confirm": True}
            return (await box.pipeline.handle(ToolCall(name=TOOL, parameters=parameters, caller=caller))).code

        codes = {
            (scope, method): await tried(f"pets:{scope}", method)
            for scope in ("read", "write", "destroy")
            for method in ("GET", "POST", "DELETE")
        }

    refused = {pair for pair, code in codes.items() if code == "AUTHORIZATION_ERROR"}
    assert refused == {("read", "POST"), ("read", "DELETE"), ("write", "DELETE")}
    assert {code for pair, code in codes.items() if pair not in refused} == {"OK"}


async def test_a_read_only_service_has_only_methods_that_read(api: PetApi, opened: Open) -> None:
    async with opened(request=True, read_only=True) as box:
        schema: Any = box.registry.get(TOOL).metadata.input_schema
        refused = await call(box, TOOL, method="POST", path="/owners")

    assert schema["properties"]["method"]["enum"] == ["GET", "HEAD"]
    assert refused.code == "VALIDATION_ERROR" and api.requests == []


async def test_the_settings_limit_methods_and_paths(api: PetApi, opened: Open) -> None:
    async with opened(request=True, methods=["get"], paths=["/owners/*"]) as box:
        allowed = await call(box, TOOL, method="GET", path="/owners/1")
        elsewhere = await call(box, TOOL, method="GET", path="/admin")
        method = await call(box, TOOL, method="POST", path="/owners/1")

    assert (allowed.code, elsewhere.code, method.code) == ("OK", "VALIDATION_ERROR", "VALIDATION_ERROR")
    assert len(api.requests) == 1 and "settings do not allow" in text_of(elsewhere)


@pytest.mark.parametrize(
    "path",
    [
        "/../admin",
        "/a/%2e%2E/b",
        "/a%2f..%2fb",
        "/.",
        "/a?x=1",
        "/a#b",
        "owners",
        "@evil.example.com",
        "/a\\..\\b",
        "/a%00",
        "/a\r\nX: y",
        "/%zz",
        "",
    ],
)
async def test_a_path_stays_below_the_address(path: str, api: PetApi, opened: Open) -> None:
    async with opened(request=True) as box:
        result = await call(box, TOOL, method="GET", path=path)

    assert result.code == "VALIDATION_ERROR" and api.requests == []


async def test_it_waits_for_approval_and_again_when_the_address_changes(api: PetApi, opened: Open) -> None:
    async def tried() -> str:
        async with opened(request=True, pinning="on", allow_private=True) as box:
            code: str = (await call(box, TOOL, method="GET", path="/owners")).code
            assert box.apis is not None
            box.apis.approve("pets")
            return code

    codes = [await tried(), await tried()]
    api.document["servers"] = [{"url": "http://other.test/v1"}]
    codes.append(await tried())

    assert codes == ["TOOL_NOT_FOUND", "OK", "TOOL_NOT_FOUND"]


async def test_an_operation_of_the_same_name_keeps_it(api: PetApi, opened: Open) -> None:
    api.document["paths"]["/odd"] = {"get": {"operationId": TOOL}}
    async with opened(request=True) as box:
        names = {entry.name for entry in box.registry.list()}

    assert {TOOL, f"{TOOL}_2"} <= names


async def test_a_list_says_that_it_may_destroy(opened: Open) -> None:
    async with opened(request=True) as box:
        annotations = box.registry.get(TOOL).metadata.annotations

    assert annotations["readOnlyHint"] is False and annotations["destructiveHint"] is True


async def test_its_calls_take_the_long_way_that_can_ask_a_person(opened: Open) -> None:
    prefix = "io.modelcontextprotocol/"
    meta = {
        f"{prefix}protocolVersion": "2026-07-28",
        f"{prefix}clientInfo": {"name": "test", "version": "1"},
        f"{prefix}clientCapabilities": {},
    }

    def message(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        params = {"name": tool, "arguments": arguments, "_meta": meta}
        return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}

    async with opened(request=True) as box:
        fast = FastPath(box)
        assert fast.match(message("list_pets", {}), modern=True) is not None
        assert fast.match(message(TOOL, {"method": "DELETE", "path": "/owners/1"}), modern=True) is None


@pytest.mark.parametrize(("method", "lacks"), [("GET", False), ("POST", True), ("DELETE", True)])
async def test_a_token_with_too_few_scopes_is_asked_for_more(method: str, lacks: bool, opened: Open) -> None:
    caller = Caller(name="somebody", scopes=frozenset({"pets:read", "read"}))
    arguments = {"method": method, "path": "/owners/1"}
    async with opened(request=True, box={"auth": "keys"}) as box:
        step_up = StepUp(box)
        assert step_up._lacks_scope(TOOL, arguments, caller) is lacks
        assert step_up._lacks_scope("call_tool", {"name": TOOL, "arguments": arguments}, caller) is lacks
