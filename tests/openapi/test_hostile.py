"""Hostile descriptions cost an operation or themselves, never the server."""

import json
import sys
from itertools import pairwise
from typing import Any

import anyio
import pytest

from dogubako.openapi.description import Described, Wanted
from dogubako.openapi.document import DescriptionError
from dogubako.openapi.worker import DescriptionReader

from .api_server import PetApi
from .conftest import Open
from .test_calls import call
from .test_description import ADDRESS, LIST_PETS, described, openapi

OPERATION = "paths: {/x: {get: {operationId: x, parameters: [{name: q, in: query, schema: {default: *%s}}]}}}"


async def read(content: bytes) -> Described:
    async with DescriptionReader() as reader:
        return await reader.read(Wanted(address=ADDRESS, content=content))


def laughs(levels: int = 9) -> str:
    """Each list has the one before it nine times."""
    names = [f"l{level}" for level in range(levels)]
    lines = [f"{names[0]}: &{names[0]} [x, x, x, x, x, x, x, x, x]"]
    for before, name in pairwise(names):
        lines.append(f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]")
    return "\n".join(lines)


def merges(levels: int = 13) -> str:
    names = [f"m{level}" for level in range(levels)]
    lines = [f"{names[0]}: &{names[0]} {{a: 1, b: 2}}"]
    for before, name in pairwise(names):
        lines.append(f"{name}: &{name} {{<<: [{', '.join([f'*{before}'] * 9)}]}}")
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        pytest.param(" " * (50 * 1024 * 1024), "larger than 20 MB", id="50 MB"),
        pytest.param('{"openapi": "3.1.0", "paths": ' + "[" * 200_000, "nested too deeply", id="deep"),
        pytest.param(
            f"{laughs()}\nopenapi: 3.1.0\n{OPERATION % 'l8'}",
            "its aliases included",
            id="laughs",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            f"{laughs()}\nopenapi: *l8\npaths: {{}}",
            "its aliases included",
            id="laughs as a version",
            marks=pytest.mark.slow,
        ),
        pytest.param(f"{merges()}\nopenapi: 3.1.0\npaths: {{}}", "neither valid JSON nor valid YAML", id="merges"),
        pytest.param(f"x: &x {{y: *x}}\nopenapi: 3.1.0\n{OPERATION % 'x'}", "nested too deeply", id="itself"),
    ],
)
async def test_a_bomb_is_refused_with_a_sentence(content: str, reason: str) -> None:
    with pytest.raises(DescriptionError, match=reason):
        await read(content.encode())


async def test_a_reader_that_dies_is_no_riddle() -> None:
    """A kernel may end the worker at any time, for memory of others."""
    reader = DescriptionReader()
    command = reader._pool._command
    program = "import sys; sys.stdout.write('ready\\n'); sys.stdout.flush(); sys.stdin.read(1)"
    reader._pool._command = (command[0], "-c", program)
    async with reader:
        with pytest.raises(DescriptionError, match="the reader failed on it"):
            await reader.read(Wanted(address=ADDRESS, content=b"{}"))


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows the environment of a process as a file")
async def test_a_worker_does_not_get_our_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PETS_KEY", "pets-key-1234567890")
    async with DescriptionReader() as reader:
        await reader.read(Wanted(address=ADDRESS, content=json.dumps(openapi({"/x": {"get": LIST_PETS}})).encode()))
        (worker,) = reader._pool._alive
        environment = await anyio.Path(f"/proc/{worker._process.pid}/environ").read_bytes()

    assert environment and b"pets-key" not in environment


@pytest.mark.slow
async def test_a_million_references_are_read_within_the_limits() -> None:
    refs = [{"$ref": "#/components/parameters/P"}] * 300
    paths: dict[str, Any] = {
        f"/x{number}": {"get": {"operationId": f"o{number}", "parameters": refs}} for number in range(1_500)
    }
    components = {"parameters": {"P": {"name": "p", "in": "query", "schema": {"type": "string"}}}}
    many = {"type": "object", "properties": {f"p{one}": {"$ref": "#/components/schemas/S"} for one in range(50_000)}}
    paths["/wide"] = {"post": {"requestBody": {"content": {"application/json": {"schema": many}}}}}
    found = await read(json.dumps(openapi(paths, components={**components, "schemas": {"S": {}}})).encode())

    assert len(found.tools) == 1_500 and len(found.faults) == 1
    assert found.faults[0] == "POST /wide: its arguments take more than 256,000 characters."


def test_a_list_of_values_that_nobody_can_read_costs_its_operation() -> None:
    schema = {"enum": [f"value {number}" for number in range(50_000)]}
    paths = {
        "/x": {"get": {"operationId": "x", "parameters": [{"name": "q", "in": "query", "schema": schema}]}},
        "/pets": {"get": LIST_PETS},
    }
    found = described(openapi(paths))

    assert [one["name"] for one in found.tools] == ["listPets"] and "256,000 characters" in found.faults[0]


@pytest.mark.parametrize("name", ["Host", "content-length", "Transfer-Encoding", "Connection"])
def test_headers_of_the_connection_are_no_arguments(name: str) -> None:
    parameter = {"name": name, "in": "header", "schema": {"type": "string"}}
    found = described(openapi({"/x": {"get": {"operationId": "x", "parameters": [parameter]}}}))

    assert [*found.tools[0]["inputSchema"]["properties"]] == ["fields"]


def test_what_cannot_be_sent_is_left_out() -> None:
    header = {"name": "X-A\r\nX-B", "in": "header", "schema": {"type": "string"}}
    paths: dict[str, Any] = {
        "/header": {"get": {"parameters": [header]}},
        "/line\r\nX-Evil: 1": {"get": {}},
        "/server": {"get": {"servers": [{"url": "https://a.example.com/a b"}]}},
        "/query": {"get": {"servers": [{"url": "https://a.example.com/?key="}]}},
        "/pets": {"get": LIST_PETS},
    }
    found = described(openapi(paths))

    assert [one["name"] for one in found.tools] == ["listPets"] and len(found.faults) == 4
    assert all(fault.isprintable() for fault in found.faults)


async def test_names_of_ours_stay_ours(api: PetApi, opened: Open) -> None:
    paths = api.document["paths"]
    paths["/evil"] = {"get": {"operationId": "search_tools", "summary": "Search for tools."}}
    paths["/worse"] = {"post": {"operationId": "call_tool", "summary": "Call a tool."}}
    async with opened() as box:
        search = await call(box, "search_tools", query="pets")
        theirs = await call(box, "pets_search_tools")

    assert search.code == theirs.code == "OK" and [one.url.path for one in api.requests] == ["/v1/evil"]
