"""A client whose token is not enough learns which scope to ask for; where nobody can ask, the model is told instead."""

from pathlib import Path
from typing import Any

import httpx2
import mcp
import pytest
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientMetadata
from pydantic import AnyUrl
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from dogubako.transports.http.app import HttpApp
from tests.doors import messages
from tests.doors.asgi import Client, Visit, opened

from .authorization_server import AUDIENCE, METADATA, AuthorizationServer
from .callers import Keyring
from .methods import ERAS, Era
from .seen import who_gives, without_scope
from .sheds import recorded_in
from .speaking import Speaker
from .test_sdk_client_signs_in import Internet, Person, SigningIn
from .token_gate import token_box

READ_N8N: dict[str, Any] = {"tool": "read_n8n", "arguments": {}}

# The call of a token that may only read Redmine, and the scope that it lacks.
CALLS = [
    pytest.param("write_redmine", {}, "redmine:write", id="itself"),
    pytest.param("write_redmine", {"number": "not one"}, "redmine:write", id="with wrong arguments"),
    pytest.param("destroy_redmine", {}, "redmine:destroy", id="a deletion, which may end in a question"),
    pytest.param("ask_colour", {}, "bench:write", id="a tool that talks"),
    pytest.param("call_tool", {"name": "read_n8n", "arguments": {}}, "n8n:read", id="by call_tool"),
    pytest.param("read_more", READ_N8N, "n8n:read", id="by read_more"),
    pytest.param("call_tool", {"name": "read_more", "arguments": READ_N8N}, "n8n:read", id="by both"),
]

both_eras = pytest.mark.parametrize("era", ERAS)
short_or_long = pytest.mark.parametrize("options", [None, {"retry": 0}], ids=["short way", "long way"])


def _token(server: AuthorizationServer, scope: str = "redmine:read") -> dict[str, str]:
    return {"authorization": f"Bearer {server.token(sub='somebody', scope=scope)}"}


async def _call(speaker: Speaker, name: str, arguments: dict[str, Any], options: Any = None) -> Visit:
    params = messages.call(name, arguments, modern=speaker.era == "2026", options=options)
    return await speaker.send(
        messages.request("tools/call", params, request_id="the-call"), speaker.headers("tools/call", name)
    )


@both_eras
@short_or_long
@pytest.mark.parametrize(("name", "arguments", "scope"), CALLS)
async def test_a_call_beyond_the_token_names_the_scope_to_ask_for(
    tmp_path: Path, era: Era, options: Any, name: str, arguments: dict[str, Any], scope: str
) -> None:
    server = AuthorizationServer()
    async with opened(HttpApp(token_box(server, tmp_path))) as client:
        speaker = await Speaker(client, _token(server), era).open()
        visit = await _call(speaker, name, arguments, options)

    tool, via = _refused(name, arguments)
    facts = {
        "code": "AUTHORIZATION_ERROR",
        "retryable": False,
        "hint": who_gives("somebody", ["redmine:read"], scope),
    }
    assert (visit.status, visit.headers["content-type"]) == (403, "application/json")
    assert visit.headers["www-authenticate"] == (
        f'Bearer resource_metadata="{METADATA}", error="insufficient_scope", scope="{scope}"'
    )
    error = {"code": -32090, "message": f"{tool} needs the scope {scope}.", "data": facts}
    assert visit.json == {"jsonrpc": "2.0", "id": "the-call", "error": error}
    [line] = recorded_in(tmp_path, lines=1)
    assert (line["code"], line["caller"], line["door"]) == ("AUTHORIZATION_ERROR", "somebody", "http")
    assert (line["tool"], line.get("via")) == (tool, via)


def _refused(name: str, arguments: dict[str, Any], via: str | None = None) -> tuple[str, str | None]:
    """The tool at the end of the chain, and the one that named it."""
    inner = arguments.get("name") or arguments.get("tool")
    return _refused(inner, arguments["arguments"], name) if inner else (name, via)


ENOUGH = [
    pytest.param("read_redmine", {}, "OK", id="enough"),
    pytest.param("call_tool", {"name": "read_redmine", "arguments": {}}, "OK", id="enough, passed on"),
    pytest.param("read_more", {"tool": "read_redmine", "arguments": {}}, "OK", id="enough, read on"),
    pytest.param("read_redmine", {"number": "none"}, "VALIDATION_ERROR", id="enough, with wrong arguments"),
    pytest.param("no_such_tool", {}, "TOOL_NOT_FOUND", id="no tool"),
    pytest.param("call_tool", {"name": "no_such_tool", "arguments": {}}, "TOOL_NOT_FOUND", id="no tool, passed on"),
    pytest.param("call_tool", {"name": 5}, "VALIDATION_ERROR", id="no name"),
    pytest.param("call_tool", {}, "VALIDATION_ERROR", id="nothing"),
]


@both_eras
@short_or_long
@pytest.mark.parametrize(("name", "arguments", "code"), ENOUGH)
async def test_nobody_is_sent_for_a_scope_that_would_not_help(
    tmp_path: Path, era: Era, options: Any, name: str, arguments: dict[str, Any], code: str
) -> None:
    server = AuthorizationServer()
    async with opened(HttpApp(token_box(server, tmp_path))) as client:
        speaker = await Speaker(client, _token(server), era).open()
        visit = await _call(speaker, name, arguments, options)

    assert "www-authenticate" not in visit.headers and visit.status in (200, 400)
    assert [line["code"] for line in recorded_in(tmp_path, lines=1)] == [code]


@both_eras
async def test_a_call_that_fails_for_more_than_its_scope_is_counted_and_recorded_once(tmp_path: Path, era: Era) -> None:
    server = AuthorizationServer()
    async with opened(HttpApp(token_box(server, tmp_path, RATE_LIMIT_MAX="2"))) as client:
        speaker = await Speaker(client, _token(server), era).open()
        wrong = await _call(speaker, "call_tool", {"name": "read_n8n", "arguments": 5})
        beyond = await _call(speaker, "write_redmine", {})
        too_often = await _call(speaker, "write_redmine", {})

    assert [visit.status for visit in (wrong, beyond, too_often)] == [200, 403, 200]
    assert wrong.response["result"]["_meta"]["code"] == "VALIDATION_ERROR"
    assert too_often.response["result"]["_meta"]["code"] == "RATE_LIMIT_EXCEEDED"
    codes = [line["code"] for line in recorded_in(tmp_path)]
    assert codes == ["VALIDATION_ERROR", "AUTHORIZATION_ERROR", "RATE_LIMIT_EXCEEDED"]


READINGS: list[Any] = [
    pytest.param("resources/read", {"uri": "n8n://news"}, "n8n://news", id="a resource"),
    pytest.param("prompts/get", {"name": "n8n-start"}, "n8n-start", id="a prompt"),
]


@both_eras
@pytest.mark.parametrize(("method", "params", "name"), READINGS)
async def test_what_is_read_beyond_the_token_names_the_scope_too_and_counts_once(
    tmp_path: Path, era: Era, method: str, params: dict[str, Any], name: str
) -> None:
    server = AuthorizationServer()
    async with opened(HttpApp(token_box(server, tmp_path, RATE_LIMIT_MAX="1"))) as client:
        speaker = await Speaker(client, _token(server), era).open()
        beyond, too_often = [await speaker.ask(method, params, name) for _ in range(2)]

    assert (beyond.status, beyond.response["error"]["code"]) == (403, -32090)
    assert 'error="insufficient_scope", scope="n8n:read"' in beyond.headers["www-authenticate"]
    assert too_often.response["error"]["data"]["code"] == "RATE_LIMIT_EXCEEDED"
    assert [(line["tool"], line["code"]) for line in recorded_in(tmp_path)] == [
        (method, "AUTHORIZATION_ERROR"),
        (method, "RATE_LIMIT_EXCEEDED"),
    ]


async def test_a_chain_without_end_is_refused_and_not_followed(tmp_path: Path) -> None:
    server, arguments = AuthorizationServer(), dict[str, Any](READ_N8N)
    for _ in range(50):
        arguments = {"name": "call_tool", "arguments": arguments}
    async with opened(HttpApp(token_box(server, tmp_path))) as client:
        visit = await _call(await Speaker(client, _token(server), "2026").open(), "call_tool", arguments)

    assert (visit.status, visit.response["result"]["_meta"]["code"]) == (200, "VALIDATION_ERROR")


@both_eras
@short_or_long
async def test_with_a_key_the_model_is_told(web: Client, keyring: Keyring, era: Era, options: Any) -> None:
    speaker = await Speaker(web, keyring.header("redmine:read"), era).open()
    visit = await _call(speaker, "write_redmine", {}, options)

    assert (visit.status, "www-authenticate" in visit.headers) == (200, False)
    assert visit.response["result"]["isError"] is True
    assert visit.response["result"]["content"][0]["text"] == "write_redmine needs the scope redmine:write."


_STEP: str = 'error="insufficient_scope", scope="redmine:write"'


@pytest.mark.parametrize(
    ("request_", "scope"),
    [
        pytest.param(("POST", "/v1/tools/call", {"name": "write_redmine"}), "redmine:write", id="a call"),
        pytest.param(("GET", "/v1/tools/write_redmine", b""), "redmine:write", id="a look"),
    ],
)
@pytest.mark.parametrize("kind", ["keys", "tokens"])
async def test_rest_says_it_in_a_header_too(
    tmp_path: Path, web: Client, keyring: Keyring, kind: str, request_: tuple[str, str, Any], scope: str
) -> None:
    method, path, body = request_
    server = AuthorizationServer()
    json_type = {"content-type": "application/json"}
    if kind == "keys":
        credentials, name = keyring.header("redmine:read"), "a caller with redmine:read"
        visit = await web.request(method, path, headers={**json_type, **credentials}, body=body)
    else:
        name = "somebody"
        async with opened(HttpApp(token_box(server, tmp_path))) as client:
            visit = await client.request(method, path, headers={**json_type, **_token(server)}, body=body)

    expected = f"Bearer {_STEP}" if kind == "keys" else f'Bearer resource_metadata="{METADATA}", {_STEP}'
    said = {**visit.json}
    assert (visit.status, visit.headers["www-authenticate"]) == (403, expected)
    assert said["error"] == without_scope("write_redmine", scope, name, ["redmine:read"])["error"]
    assert said["hint"] == who_gives(name, ["redmine:read"], scope)


class Careful(SigningIn):
    """Gives less than was asked for at first, and later exactly what was asked for."""

    def __init__(self, person: Person) -> None:
        super().__init__()
        self._person = person

    async def _give_token(self, request: Request) -> Response:
        form = {key: str(value) for key, value in (await request.form()).items()}
        self.grants.append(form)
        scope = "redmine:read" if len(self.grants) == 1 else self._person.visited[-1]["scope"][0]
        token = self.token(scope=scope, aud=form["resource"])
        return JSONResponse({"access_token": token, "token_type": "Bearer", "expires_in": 300, "scope": scope})


def _provider(person: Person) -> OAuthClientProvider:
    wishes = OAuthClientMetadata(redirect_uris=[AnyUrl("http://localhost:9/callback")], client_name="a client")
    return OAuthClientProvider(AUDIENCE, wishes, person, person.visit, person.return_with_code)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("write_redmine", {}), ("call_tool", {"name": "write_redmine", "arguments": {}})],
    ids=["itself", "by call_tool"],
)
async def test_the_official_client_steps_up_by_itself(tmp_path: Path, name: str, arguments: dict[str, Any]) -> None:
    person = Person()
    server = Careful(person)
    door = HttpApp(token_box(server, tmp_path, DOGUBAKO_ALLOWED_HOSTS="tools.example"))
    async with (
        opened(door),
        httpx2.AsyncClient(transport=Internet(door, server), auth=_provider(person)) as http,
        mcp.Client(streamable_http_client(AUDIENCE, http_client=http), mode="2026-07-28") as client,
    ):
        before = await client.call_tool("read_redmine", {})
        answer = await client.call_tool(name, arguments)
        after = await client.call_tool("read_redmine", {})

    assert [one.is_error for one in (before, answer, after)] == [False] * 3
    assert answer.content[0].text == "done"  # type: ignore[union-attr]
    # The person was asked once more, for this very scope.
    assert len(person.visited) == len(server.grants) == 2
    assert "redmine:write" in person.visited[1]["scope"][0].split()
