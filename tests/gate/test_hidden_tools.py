"""What a caller may not call is in none of its lists; called all the same, the answer names the missing scope."""

from typing import Any

import pytest

from dogubako.transports.http.app import HttpApp
from tests.doors.asgi import Client, opened

from .callers import CORE_TOOLS, KINDS, NEEDED, TASK_TOOLS, Keyring, Kind
from .guarded import guarded_box
from .methods import ERAS, FINDERS, Era, refused_call
from .seen import body_of, without_scope
from .speaking import Speaker

SERVICE_TOOLS = sorted(set(NEEDED) - CORE_TOOLS - {"ask_colour"})
ARGUMENTS: dict[str, dict[str, Any]] = {"echo": {"text": "done"}}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.scope)
@pytest.mark.parametrize("era", ERAS)
async def test_a_call_without_the_scope_says_which_is_missing(
    web: Client, keyring: Keyring, era: Era, kind: Kind
) -> None:
    speaker = await Speaker(web, keyring.header(kind), era).open()

    answers = {tool: await speaker.call(tool, ARGUMENTS.get(tool)) for tool in SERVICE_TOOLS}

    assert answers == {tool: _expected(tool, kind) for tool in SERVICE_TOOLS}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.scope)
@pytest.mark.parametrize("era", ERAS)
async def test_the_long_way_judges_as_the_short_one(
    door: HttpApp, web: Client, keyring: Keyring, monkeypatch: pytest.MonkeyPatch, era: Era, kind: Kind
) -> None:
    monkeypatch.setattr(door.mcp.fast_path, "match", lambda *_args, **_kwargs: None)
    speaker = await Speaker(web, keyring.header(kind), era).open()

    answers = {tool: await speaker.call(tool, ARGUMENTS.get(tool)) for tool in SERVICE_TOOLS}

    assert answers == {tool: _expected(tool, kind) for tool in SERVICE_TOOLS}
    assert door.mcp.fast_path.taken == 0


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.scope)
async def test_rest_refuses_with_403_and_the_missing_scope(web: Client, keyring: Keyring, kind: Kind) -> None:
    answers = {}
    for tool in SERVICE_TOOLS:
        body = {"name": tool, "parameters": ARGUMENTS.get(tool, {})}
        headers = {"content-type": "application/json", **keyring.header(kind)}
        visit = await web.request("POST", "/v1/tools/call", headers=headers, body=body)
        answers[tool] = (visit.status, body_of(visit)["success"] if kind.may(tool) else body_of(visit))

    assert answers == {tool: _rest(tool, kind) for tool in SERVICE_TOOLS}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.scope)
async def test_a_search_finds_only_what_the_caller_may_call(web: Client, keyring: Keyring, kind: Kind) -> None:
    speaker = Speaker(web, keyring.header(kind), "2026")

    found = await speaker.call("search_tools", {"query": "do what is called write at redmine", "limit": 50})

    named = {tool for tool in NEEDED if f"{tool}(" in found["content"][0]["text"]} - FINDERS
    assert named <= kind.sees
    assert ("write_redmine" in named) == kind.may("write_redmine")


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.scope)
async def test_a_tool_is_described_to_those_who_may_call_it(web: Client, keyring: Keyring, kind: Kind) -> None:
    described = await Speaker(web, keyring.header(kind), "2026").call("describe_tool", {"name": "write_redmine"})

    if kind.may("write_redmine"):
        assert described["isError"] is False and "inputSchema" in described["content"][0]["text"]
    else:
        # Who may do nothing at all may not even ask; everybody else hears what the call itself would have said.
        assert described == refused_call("write_redmine" if kind.scopes else "describe_tool", kind)


@pytest.mark.parametrize("kind", [one for one in KINDS if one.scopes], ids=lambda kind: kind.scope)
@pytest.mark.parametrize("way", ["call_tool", "read_more"])
async def test_no_tool_opens_another_for_its_caller(web: Client, keyring: Keyring, way: str, kind: Kind) -> None:
    speaker = Speaker(web, keyring.header(kind), "2026")
    key = {"call_tool": "name", "read_more": "tool"}[way]

    answers = {tool: await speaker.call(way, {key: tool, "arguments": {}}) for tool in SERVICE_TOOLS}

    refused = {tool for tool, answer in answers.items() if _code(answer) == "AUTHORIZATION_ERROR"}
    assert refused == {tool for tool in SERVICE_TOOLS if not kind.may(tool)}
    assert all(answers[tool]["content"] == refused_call(tool, kind)["content"] for tool in refused)


async def test_a_wrong_argument_shows_no_schema_to_those_who_may_not_call(web: Client, keyring: Keyring) -> None:
    speaker = Speaker(web, keyring.header("redmine:read"), "2026")

    answer = await speaker.call("call_tool", {"name": "write_n8n", "arguments": {"wrong": 1}})

    assert _code(answer) == "AUTHORIZATION_ERROR"
    assert "number" not in str(answer)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.scope)
@pytest.mark.parametrize("era", ERAS)
async def test_who_must_search_sees_no_more_than_others(keyring: Keyring, era: Era, kind: Kind) -> None:
    box = guarded_box(keyring.folder, DOGUBAKO_DISCOVERY="search", DOGUBAKO_PINNED_TOOLS="echo,write_n8n")
    async with opened(HttpApp(box)) as client:
        speaker = await Speaker(client, keyring.header(kind), era).open()
        listed = (await speaker.ask("tools/list")).response["result"]["tools"]

    assert {tool["name"] for tool in listed} == kind.sees & (CORE_TOOLS - TASK_TOOLS | {"echo", "write_n8n"})


async def test_only_an_administrator_switches_a_tool_off_and_then_it_is_off_for_all(keyring: Keyring) -> None:
    box = guarded_box(keyring.folder)
    async with opened(HttpApp(box)) as client:
        for kind in (one for one in KINDS if one.scope != "admin"):
            await _switch(client, keyring.header(kind))
        untouched = box.registry.get("read_redmine").enabled
        switched = await _switch(client, keyring.header("admin"))
        listed = (await Speaker(client, keyring.header("read"), "2026").ask("tools/list")).response["result"]["tools"]

    assert (untouched, switched, box.registry.get("read_redmine").enabled) == (True, 200, False)
    assert "read_redmine" not in {tool["name"] for tool in listed}


async def _switch(client: Client, credentials: dict[str, str]) -> int:
    headers = {"content-type": "application/json", **credentials}
    return (await client.request("PATCH", "/v1/tools/read_redmine", headers=headers, body={"enabled": False})).status


def _expected(tool: str, kind: Kind) -> dict[str, Any]:
    if not kind.may(tool):
        return refused_call(tool, kind)
    if not tool.startswith("destroy"):
        return {"content": [{"type": "text", "text": "done"}], "isError": False}
    message, hint = (
        f"{tool.capitalize().replace('_', ' ')} cannot be undone.",
        "Call again with confirm: true to go on.",
    )
    blocks = [{"type": "text", "text": message}, {"type": "text", "text": hint}]
    meta = {"code": "CONFIRMATION_REQUIRED", "retryable": False, "hint": hint}
    return {"content": blocks, "isError": True, "_meta": meta}


def _rest(tool: str, kind: Kind) -> tuple[int, Any]:
    if not kind.may(tool):
        return 403, without_scope(tool, NEEDED[tool], f"a caller with {kind.scope}", kind.scopes)
    return (400, False) if tool.startswith("destroy") else (200, True)


def _code(answer: dict[str, Any]) -> str:
    return str(answer.get("_meta", {}).get("code", "OK"))
