"""Everything that a caller asks for counts once against what it may ask for in all, whatever becomes of it."""

from pathlib import Path
from typing import Any

import pytest

from dogubako.app import Toolbox
from dogubako.contract.call import Caller, ToolCall
from dogubako.transports.http.app import HttpApp
from tests.doors import messages
from tests.doors.asgi import opened

from .authorization_server import AuthorizationServer
from .methods import ERAS, Era
from .sheds import key_in, recorded_in, shed_in
from .speaking import Speaker, outcome
from .token_gate import token_box

READER = Caller(name="ann", scopes=frozenset({"read"}))
ADMIN = Caller(name="ann", scopes=frozenset({"admin"}))
LOOK: dict[str, Any] = {"name": "look", "arguments": {}}
READ_ON: dict[str, Any] = {"tool": "look", "arguments": {}}

both_eras = pytest.mark.parametrize("era", ERAS)


async def code(box: Toolbox, name: str, arguments: dict[str, Any], caller: Caller = READER) -> str:
    return (await box.pipeline.handle(ToolCall(name=name, parameters=arguments, caller=caller))).code


ENDS = [
    pytest.param("look", {}, READER, "OK", id="an answer"),
    pytest.param("no_such_tool", {}, READER, "TOOL_NOT_FOUND", id="no such tool"),
    pytest.param("put", {"text": "a"}, READER, "AUTHORIZATION_ERROR", id="no scope"),
    pytest.param("look", {"text": 5}, READER, "VALIDATION_ERROR", id="wrong arguments"),
    pytest.param("linger", {"marker": "m"}, READER, "TOOL_DISABLED", id="switched off"),
    pytest.param("stumble", {"foreseen": True}, READER, "NOT_FOUND", id="an error"),
    pytest.param("wipe", {"marker": "m"}, ADMIN, "CONFIRMATION_REQUIRED", id="not confirmed"),
    pytest.param("call_tool", {"name": "no_such_tool", "arguments": {}}, READER, "TOOL_NOT_FOUND", id="passed on"),
    pytest.param(
        "call_tool", {"name": "put", "arguments": {}}, READER, "AUTHORIZATION_ERROR", id="forbidden, passed on"
    ),
]


@pytest.mark.parametrize(("name", "arguments", "caller", "ends"), ENDS)
async def test_every_end_of_a_call_costs_one(
    tmp_path: Path, name: str, arguments: dict[str, Any], caller: Caller, ends: str
) -> None:
    async with shed_in(tmp_path, audit=False, rate_limit_max=3).running() as box:
        box.registry.disable("linger")
        heard = [await code(box, name, arguments, caller) for _ in range(4)]
        afterwards = await code(box, "look", {}, caller)

    assert heard == [ends] * 3 + ["RATE_LIMIT_EXCEEDED"]
    assert afterwards == "RATE_LIMIT_EXCEEDED"


async def test_what_is_refused_for_one_tool_is_paid_for_too(tmp_path: Path) -> None:
    async with shed_in(tmp_path, audit=False, rate_limit_max=4, rate_limit_tool_max=1).running() as box:
        looked = [await code(box, "look", {}) for _ in range(3)]
        others = [await code(box, "stumble", {"foreseen": True}) for _ in range(2)]

    assert looked == ["OK", "RATE_LIMIT_EXCEEDED", "RATE_LIMIT_EXCEEDED"]
    # The fourth of all; then nothing is left, also not for a tool that was never asked for.
    assert others == ["NOT_FOUND", "RATE_LIMIT_EXCEEDED"]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        pytest.param("call_tool", LOOK, id="passed on"),
        pytest.param("read_more", READ_ON, id="read on"),
        pytest.param("call_tool", {"name": "read_more", "arguments": READ_ON}, id="read on, passed on"),
        pytest.param("send_handyman", {}, id="a tool that calls another"),
    ],
)
async def test_a_call_that_leads_to_another_costs_one_in_all_and_one_of_that_tool(
    tmp_path: Path, name: str, arguments: dict[str, Any]
) -> None:
    async with shed_in(tmp_path / "all", audit=False, rate_limit_max=3).running() as box:
        in_all = [await code(box, name, arguments) for _ in range(4)]
    async with shed_in(tmp_path / "one", audit=False, rate_limit_tool_max=1).running() as box:
        of_the_tool = [await code(box, name, arguments), await code(box, "look", {})]

    assert in_all == ["OK", "OK", "OK", "RATE_LIMIT_EXCEEDED"]
    assert of_the_tool == ["OK", "RATE_LIMIT_EXCEEDED"]


async def test_tools_that_only_pass_on_have_no_limit_of_their_own(tmp_path: Path) -> None:
    async with shed_in(tmp_path, audit=False, rate_limit_tool_max=1).running() as box:
        looked = await code(box, "call_tool", LOOK)
        stumbled = await code(box, "call_tool", {"name": "stumble", "arguments": {"foreseen": True}})
        again = await code(box, "call_tool", LOOK)

    assert (looked, stumbled, again) == ("OK", "NOT_FOUND", "RATE_LIMIT_EXCEEDED")


@both_eras
async def test_options_that_cannot_be_read_are_paid_for(tmp_path: Path, era: Era) -> None:
    key = {"x-api-key": key_in(tmp_path, "ann", "read")}
    async with opened(HttpApp(shed_in(tmp_path, auth="keys", rate_limit_max=2))) as client:
        speaker = await Speaker(client, key, era).open()
        params = messages.call("look", {}, modern=era == "2026", options={"timeout": "soon"})
        heard = [outcome((await speaker.ask("tools/call", params, "look")).response) for _ in range(3)]

    codes = [one["_meta"]["code"] for one in heard]
    assert codes == ["VALIDATION_ERROR", "VALIDATION_ERROR", "RATE_LIMIT_EXCEEDED"]


@both_eras
async def test_calls_beyond_a_token_are_paid_for(tmp_path: Path, era: Era) -> None:
    server = AuthorizationServer()
    token = {"authorization": f"Bearer {server.token(scope='read')}"}
    async with opened(HttpApp(token_box(server, tmp_path, RATE_LIMIT_MAX="2"))) as client:
        speaker = await Speaker(client, token, era).open()
        refused = [await speaker.ask("tools/call", _write(), "write_redmine") for _ in range(3)]
        read = await speaker.call("read_redmine")

    assert [visit.status for visit in refused[:2]] == [403, 403]
    assert "RATE_LIMIT_EXCEEDED" in refused[2].body.decode()
    assert read["_meta"]["code"] == "RATE_LIMIT_EXCEEDED"


async def test_a_search_counts_like_a_call(tmp_path: Path) -> None:
    key = {"x-api-key": key_in(tmp_path, "ann", "read"), "content-type": "application/json"}
    async with opened(HttpApp(shed_in(tmp_path, auth="keys", rate_limit_max=1))) as client:
        asked = [await client.post("/v1/tools/search", {"query": "look"}, key) for _ in range(2)]
        listed = await client.get("/v1/tools", **key)

    assert [visit.status for visit in asked] == [200, 429]
    assert asked[1].json["code"] == "RATE_LIMIT_EXCEEDED"
    assert int(asked[1].headers["retry-after"]) > 0
    assert listed.status == 200
    assert [(line["tool"], line["door"], line["code"]) for line in recorded_in(tmp_path)] == [
        ("tools/search", "rest", "OK"),
        ("tools/search", "rest", "RATE_LIMIT_EXCEEDED"),
    ]


def _write() -> dict[str, Any]:
    return {"name": "write_redmine", "arguments": {}}
