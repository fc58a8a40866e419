"""The OpenAPI description says what is served, all of it, and nothing else."""

from typing import Annotated

import jsonschema_rs
import pytest
from pydantic import BaseModel, Field
from starlette.routing import Route

from dogubako import Effect
from dogubako.app import Toolbox, build
from dogubako.output import Json
from dogubako.settings import Sources
from dogubako.tools import BaseTool, ToolArgs, ToolExample, ToolPack
from dogubako.transports.http.app import HttpApp

from .asgi import Client, opened
from .described import DescribedClient

# The description itself, the page that shows it, and the redirects of old addresses are not part of the API.
_NOT_API = {
    ("GET", "/openapi.json"),
    ("GET", "/docs"),
    ("GET", "/docs/docs.js"),
    ("GET", "/docs/docs.css"),
    ("GET", "/tools"),
    ("POST", "/tools/call"),
}


async def test_every_route_is_described_and_every_description_is_a_route(box: Toolbox) -> None:
    door = HttpApp(box)
    routes = [route for route in door._router.routes if isinstance(route, Route)]
    served = {(method, one.path) for one in routes for method in one.methods or () if method != "HEAD"}
    async with opened(door) as web:
        paths = (await web.get("/openapi.json")).json["paths"]
    described = {(method.upper(), path) for path, methods in paths.items() for method in methods}

    assert served - _NOT_API == described


async def test_the_description_is_openapi_and_its_schemas_are_json_schemas(web: Client) -> None:
    description = (await web.get("/openapi.json")).json
    operations = [one for methods in description["paths"].values() for one in methods.values()]
    names = [one["operationId"] for one in operations]

    assert description["openapi"].startswith("3.1.")
    assert {"title", "version"} <= description["info"].keys()
    assert len(names) == len(set(names)) and all(one["responses"] for one in operations)
    for schema in description["components"]["schemas"].values():
        jsonschema_rs.meta.validate({"$schema": "https://json-schema.org/draft/2020-12/schema", **schema})


async def test_every_tool_is_an_operation_on_request(box: Toolbox) -> None:
    async with opened(HttpApp(box)) as web:
        plain = (await web.get("/openapi.json")).json["paths"]
        paths = (await web.get("/openapi.json?tools=1")).json["paths"]
        callable_tools = (await web.get("/v1/tools?enabled=true&limit=500")).json["tools"]

    assert paths.keys() - plain.keys() == {f"/v1/tools/{one['name']}/call" for one in callable_tools}
    body = paths["/v1/tools/echo/call"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert body == next(one for one in callable_tools if one["name"] == "echo")["inputSchema"]


async def test_every_reference_leads_somewhere(web: Client) -> None:
    description = (await web.get("/openapi.json")).json
    schemas = description["components"]["schemas"]
    used = set(_references(description))

    assert used <= {f"#/components/schemas/{name}" for name in schemas}
    assert {f"#/components/schemas/{name}" for name in schemas} <= used


def _references(node: object) -> list[str]:
    if isinstance(node, dict):
        own = [node["$ref"]] if isinstance(node.get("$ref"), str) else []
        return own + [found for value in node.values() for found in _references(value)]
    return [found for value in node for found in _references(value)] if isinstance(node, list) else []


async def test_the_page_needs_nothing_from_elsewhere(web: Client) -> None:
    visit = await web.get("/docs")

    assert visit.status == 200 and visit.headers["content-type"].startswith("text/html")
    assert "http://" not in visit.body.decode() and "https://" not in visit.body.decode()
    assert "openapi.json" in visit.body.decode()


class _Weather(BaseModel):
    degrees: float


class _WeatherArgs(ToolArgs):
    city: Annotated[str, Field(pattern="^[A-Z]", examples=["Osaka"], description="Where.")]
    unit: Annotated[str, Field(json_schema_extra={"enum": ["C", "F"]}, description="Of the degrees.")] = "C"
    days: Annotated[int, Field(ge=1, le=7, description="How many.")] = 1


class _GetWeather(BaseTool[_WeatherArgs]):
    """Say how warm it is."""

    name = "get_weather"
    output_model = _Weather
    effect = Effect.READ
    tags = ("weather", "demo")
    author = "Somebody"
    category = "sky"
    version = "2.1.0"
    examples = (ToolExample(description="Osaka now", parameters={"city": "Osaka"}, expected_result={"degrees": 21}),)

    async def execute(self, args: _WeatherArgs) -> Json:
        return Json(data={"degrees": 21.0})


@pytest.fixture
def full_box() -> Toolbox:
    """A tool that has everything that a tool can have."""
    return build(Sources(environ={}, env_file=None), packs=[ToolPack("sky", (_GetWeather,))])


async def test_a_tool_with_every_detail_is_described_too(full_box: Toolbox) -> None:
    door = HttpApp(full_box)
    async with opened(door) as client:
        rest = DescribedClient(door, (await client.get("/openapi.json")).json)
        listed = (await rest.get("/v1/tools")).json["tools"]
        shown = (await rest.get("/v1/tools/get_weather")).json
        found = (await rest.post("/v1/tools/search", {"query": "weather"})).json["results"]
        called = (await rest.post("/v1/tools/call", {"name": "get_weather", "parameters": {"city": "Osaka"}})).json

    weather = next(one for one in listed if one["name"] == "get_weather")
    assert weather["examples"] == [
        {"description": "Osaka now", "parameters": {"city": "Osaka"}, "expectedResult": {"degrees": 21}}
    ]
    assert shown["outputSchema"]["properties"]["degrees"] == {"type": "number"}
    assert found[0]["name"] == "get_weather" and called["result"]["data"] == {"degrees": 21.0}
    assert rest.checked == 4
