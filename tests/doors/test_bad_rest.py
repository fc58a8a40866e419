"""Bad input over REST: each mistake has its status, its code and its sentence, and the next call is served."""

import pytest

from .described import DescribedClient

_JSON = {"content-type": "application/json"}

NOT_JSON = [
    pytest.param(b"", id="nothing"),
    pytest.param(b"words", id="words"),
    pytest.param(b'{"name": "echo"', id="half an object"),
    pytest.param(b'{"name": "echo", "parameters": {"text": "\xff"}}', id="not UTF-8"),
    pytest.param(b'{"name": "echo", "parameters": {"text": "\x01"}}', id="control character"),
    pytest.param(b'{"name": "echo", "parameters": {"text": ' + b"9" * 5000 + b"}}", id="endless number"),
    pytest.param(b'{"name": "echo", "parameters": {"text": ' + b"[" * 9_000 + b"]" * 9_000 + b"}}", id="bottomless"),
]


async def serves_on(rest: DescribedClient) -> bool:
    visit = await rest.post("/v1/tools/call", {"name": "echo", "parameters": {"text": "next"}})
    return bool(visit.json["result"] == "next")


@pytest.mark.parametrize("route", ["/v1/tools/call", "/v1/tools/search"])
@pytest.mark.parametrize("body", NOT_JSON)
async def test_a_body_that_is_no_json_is_said_to_be_none(rest: DescribedClient, route: str, body: bytes) -> None:
    visit = await rest.post(route, body)

    assert (visit.status, visit.json["code"]) == (400, "VALIDATION_ERROR")
    # Newer versions of Python read deeper, and then it is too deep for us.
    assert visit.json["error"] in ("The request body is not valid JSON.", "Invalid parameters: nested too deeply")
    assert await serves_on(rest)


@pytest.mark.parametrize("body", [b"[]", b"null", b'"words"', b"17"])
async def test_a_body_must_be_an_object(rest: DescribedClient, body: bytes) -> None:
    visit = await rest.post("/v1/tools/call", body)

    assert (visit.status, visit.json["error"]) == (400, "The request body must be a JSON object.")


BAD_CALLS = [
    pytest.param(b"{}", "Required parameter missing: name", id="no name"),
    pytest.param(b'{"name": 1}', "Invalid type for parameter name: expected string", id="a number for a name"),
    pytest.param(b'{"name": ""}', "Invalid value for parameter name", id="an empty name"),
    pytest.param(b'{"name": "echo", "args": {}}', "Unknown parameter: args", id="unknown field"),
    pytest.param(b'{"name": "echo", "parameters": []}', "parameter parameters: expected object", id="a list"),
    pytest.param(b'{"name": "echo", "parameters": null}', "parameter parameters: expected object", id="nothing"),
    pytest.param(b'{"name": "echo", "version": 1}', "parameter version: expected string", id="a number for a version"),
    pytest.param(b'{"name": "echo", "parameters": {"text": NaN}}', "no NaN, no Infinity", id="NaN"),
    pytest.param(b'{"name": "echo", "parameters": {"text": -Infinity}}', "no NaN, no Infinity", id="Infinity"),
    pytest.param(b'{"name": "echo", "parameters": {"text": 1e999}}', "no NaN, no Infinity", id="beyond all numbers"),
    pytest.param(b'{"name": "echo", "parameters": {"text": "\\ud800"}}', "half a Unicode character", id="half"),
    pytest.param(b'{"name": "\\udfff"}', "half a Unicode character", id="half a character in the name"),
    pytest.param(
        b'{"name": "echo", "parameters": {"text": ' + b"[" * 500 + b"]" * 500 + b"}}", "too deeply", id="deep"
    ),
    pytest.param(b'{"name": "echo", "parameters": {"text": 1, "text": 2}}', "expected string", id="twice"),
    pytest.param(b'{"name": "big", "parameters": {"items": ' + b"9" * 400 + b"}}", "parameter items", id="huge"),
    pytest.param(b'{"name": "echo", "options": {"timeout": 0}}', "parameter options.timeout", id="no time"),
    pytest.param(
        b'{"name": "echo", "options": {"timeout": 1.5}}', "parameter options.timeout", id="half a millisecond"
    ),
    pytest.param(b'{"name": "echo", "options": {"speed": 1}}', "Unknown parameter: options.speed", id="unknown option"),
    pytest.param(b'{"name": "echo", "options": []}', "parameter options: expected", id="options as a list"),
]


@pytest.mark.parametrize(("body", "sentence"), BAD_CALLS)
async def test_a_bad_call_says_what_is_wrong(rest: DescribedClient, body: bytes, sentence: str) -> None:
    visit = await rest.post("/v1/tools/call", body)

    assert (visit.status, visit.json["code"]) == (400, "VALIDATION_ERROR")
    assert sentence in visit.json["error"] and visit.json["details"]
    assert await serves_on(rest)


LIMITS = [
    pytest.param("timeout", 120_001, 120_000, id="timeout"),
    pytest.param("deadline", 600_001, 600_000, id="deadline"),
    pytest.param("retry", 6, 5, id="retry"),
    pytest.param("retryDelay", 60_001, 60_000, id="delay"),
    pytest.param("maxTokens", 25_001, 25_000, id="budget"),
]


@pytest.mark.parametrize(("option", "wish", "most"), LIMITS)
async def test_a_wish_beyond_the_servers_limits_is_an_error(
    rest: DescribedClient, option: str, wish: int, most: int
) -> None:
    call = {"name": "echo", "parameters": {"text": "a"}, "options": {option: wish}}
    visit = await rest.post("/v1/tools/call", call)

    assert visit.status == 400
    assert visit.json["error"] == f"Invalid value for parameter options.{option}: must be at most {most}"


async def test_five_megabytes_are_too_much(rest: DescribedClient) -> None:
    visit = await rest.post("/v1/tools/call", {"name": "echo", "parameters": {"text": "x" * 5_000_000}})

    assert (visit.status, visit.json["code"]) == (413, "PAYLOAD_TOO_LARGE")
    assert "4,194,304 bytes" in visit.json["error"]
    assert await serves_on(rest)


@pytest.mark.parametrize("method", ["POST", "PATCH"])
@pytest.mark.parametrize("kind", ["text/plain", "", "application/x-www-form-urlencoded", "multipart/form-data"])
async def test_only_json_is_taken(rest: DescribedClient, method: str, kind: str) -> None:
    path = "/v1/tools/call" if method == "POST" else "/v1/tools/echo"
    visit = await rest.request(method, path, body=b'{"enabled": true}', headers={"content-type": kind})

    assert (visit.status, visit.json["code"]) == (415, "UNSUPPORTED_MEDIA_TYPE")
    assert visit.json["error"] == "The request body must be application/json."


@pytest.mark.parametrize("kind", ["application/json", "Application/JSON; charset=utf-8", "application/vnd.x+json"])
async def test_json_has_several_names(rest: DescribedClient, kind: str) -> None:
    body = b'{"name": "echo", "parameters": {"text": "next"}}'
    visit = await rest.request("POST", "/v1/tools/call", body=body, headers={"content-type": kind})

    assert visit.json["result"] == "next"


METHODS = [
    pytest.param("POST", "/v1/tools", "GET, HEAD", id="list"),
    pytest.param("DELETE", "/v1/tools/echo", "GET, HEAD, PATCH", id="tool"),
    pytest.param("PUT", "/", "GET, HEAD", id="front page"),
    pytest.param("POST", "/healthz", "GET, HEAD", id="health"),
    pytest.param("GET", "/tools/call", "POST", id="old call"),
    pytest.param("BREW", "/v1/tools", "GET, HEAD", id="no method at all"),
]


@pytest.mark.parametrize(("method", "path", "allowed"), METHODS)
async def test_a_wrong_method_is_refused_with_the_right_ones(
    rest: DescribedClient, method: str, path: str, allowed: str
) -> None:
    visit = await rest.request(method, path, headers=_JSON)

    assert (visit.status, visit.json["code"]) == (405, "METHOD_NOT_ALLOWED")
    assert visit.json["error"] == f"Method not allowed: {method} {path}"
    assert visit.headers["allow"] == allowed and visit.json["hint"] == f"Allowed: {allowed}."


@pytest.mark.parametrize(
    "path", ["/nowhere", "/v1", "/v1/tools/", "/V1/tools", "//", "/v1/tools/a/b", "/mcp/", "/.env"]
)
async def test_an_unknown_route_has_the_body_of_every_error(rest: DescribedClient, path: str) -> None:
    visit = await rest.get(path)
    timed = {"executionTime": visit.json["executionTime"], "timestamp": visit.json["timestamp"]}

    assert visit.status == 404
    assert visit.json == {
        "success": False,
        "error": f"Route not found: GET {path}",
        "code": "ROUTE_NOT_FOUND",
        "hint": "See /docs for all routes.",
        "retryable": False,
        "details": [],
        **timed,
    }


QUERIES = [
    pytest.param("limit=0", "Invalid value for parameter limit", id="no items"),
    pytest.param("limit=501", "Invalid value for parameter limit", id="too many"),
    pytest.param("limit=", "Invalid type for parameter limit: expected integer", id="empty"),
    pytest.param("limit=1.5", "Invalid type for parameter limit: expected integer", id="half an item"),
    pytest.param("page=0", "Invalid value for parameter page", id="before the first page"),
    pytest.param("page=x", "Invalid type for parameter page: expected integer", id="a word"),
    pytest.param("page=9999999999", "Invalid value for parameter page", id="far beyond"),
    pytest.param("enabled=maybe", "Invalid type for parameter enabled: expected boolean", id="maybe"),
    pytest.param("colour=red", "Unknown parameter: colour", id="unknown"),
]


@pytest.mark.parametrize(("query", "sentence"), QUERIES)
async def test_a_wrong_query_parameter_is_named(rest: DescribedClient, query: str, sentence: str) -> None:
    visit = await rest.get(f"/v1/tools?{query}")

    assert (visit.status, visit.json["code"]) == (400, "VALIDATION_ERROR")
    assert visit.json["error"].startswith(sentence)
    assert visit.json["details"] == [{"field": query.partition("=")[0], "message": visit.json["error"]}]


async def test_all_wrong_query_parameters_are_named_at_once(rest: DescribedClient) -> None:
    visit = await rest.get("/v1/tools?limit=0&page=x&colour=red")

    assert {one["field"] for one in visit.json["details"]} == {"limit", "page", "colour"}


async def test_an_unknown_tool_is_not_found_by_any_route(rest: DescribedClient) -> None:
    shown = await rest.get("/v1/tools/ecco")
    switched = await rest.request("PATCH", "/v1/tools/ecco", body={"enabled": False}, headers=_JSON)
    called = await rest.post("/v1/tools/call", {"name": "ecco"})

    for visit in (shown, switched, called):
        assert (visit.status, visit.json["error"]) == (404, "Tool not found: ecco")
        assert "echo" in visit.json["hint"]


@pytest.mark.parametrize("body", [{}, {"enabled": 1}, {"enabled": "no"}, {"enabled": None}, {"enabled": True, "x": 1}])
async def test_a_switch_is_on_or_off(rest: DescribedClient, body: dict[str, object]) -> None:
    visit = await rest.request("PATCH", "/v1/tools/echo", body=body, headers=_JSON)

    assert (visit.status, visit.json["code"]) == (400, "VALIDATION_ERROR")
    assert await serves_on(rest)
