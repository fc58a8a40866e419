"""The client that the official suite checks: our connection to other servers, with a user who consents to everything.

The suite starts it once for each scenario: `conformance_client.py URL`, with the scenario's name and data in variables.
"""

import asyncio
import json
import os
import sys
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp.shared.auth import AuthorizationCodeResult

from dogubako.contract.context import Context
from dogubako.contract.conversation import (
    ElicitRequest,
    ElicitResult,
    InputAnswer,
    InputRequests,
    Root,
    Sample,
    SampleRequest,
)
from dogubako.contract.errors import DogubakoError
from dogubako.gateway.definitions import Definitions
from dogubako.gateway.oauth import Signer, TokenStorage, signer
from dogubako.gateway.settings import ServerSettings
from dogubako.gateway.sign_ins import NewTokens
from dogubako.gateway.upstream import Upstream
from dogubako.response.builder import ToolResponseBuilder

# The suite runs all scenarios at once.
SECONDS = 400
CALLBACK = "http://localhost:3000/callback"
# The suite knows this document without fetching it.
METADATA_URL = "https://conformance-test.local/client-metadata.json"


class SignInsOfTheSuite:
    """Signs in without a person: the page of the suite consents at once."""

    def __init__(self) -> None:
        self._signer: Signer | None = None
        self._code = AuthorizationCodeResult(code="", state=None)

    def auth(self, server: str, settings: ServerSettings) -> httpx2.Auth:
        if self._signer is None and "client-credentials" in os.environ.get("MCP_CONFORMANCE_SCENARIO", ""):
            return signer(settings, NewTokens())
        if self._signer is None:
            storage = TokenStorage(NewTokens())
            self._signer = Signer(settings, storage, CALLBACK, self._visit, self._answer)
        return self._signer

    def changed_at(self, server: str) -> float:
        return 0.0

    async def _visit(self, address: str) -> None:
        async with httpx2.AsyncClient(trust_env=False) as browser:
            response = await browser.get(address)
        query = {name: values[0] for name, values in parse_qs(urlsplit(response.headers["location"]).query).items()}
        self._code = AuthorizationCodeResult(code=query["code"], state=query.get("state"), iss=query.get("iss"))

    async def _answer(self) -> AuthorizationCodeResult:
        return self._code


class ConsentingUser:
    """Answers every question, with the defaults of a form."""

    def supports(self, capability: str) -> bool:
        return capability in ("elicitation", "sampling", "roots")

    async def progress(self, done: float, total: float | None, message: str | None) -> None:
        return None

    async def log(self, level: str, message: str) -> None:
        return None

    async def request(self, requests: InputRequests) -> Mapping[str, InputAnswer]:
        return {key: self._answer(request) for key, request in requests.items()}

    def _answer(self, request: Any) -> InputAnswer:
        if isinstance(request, ElicitRequest):
            return ElicitResult(action="accept", content=example_of(request.schema))
        if isinstance(request, SampleRequest):
            return Sample(text="Hello.", model="none")
        return (Root(uri="file:///tmp"),)


def example_of(schema: Mapping[str, Any]) -> Any:
    """A value that fits a simple schema."""
    if "default" in schema:
        return schema["default"]
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema.get("type")
    if kind == "object":
        fields = schema.get("properties", {})
        return {name: example_of(one) for name, one in fields.items() if isinstance(one, Mapping)}
    values: dict[Any, Any] = {"integer": 1, "number": 1.5, "boolean": True, "array": [], "null": None}
    return values.get(kind, "text")


async def main(url: str) -> int:
    data = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    settings = ServerSettings(
        url=url,
        client_id=data.get("client_id"),
        client_secret=data.get("client_secret"),
        client_metadata_url=METADATA_URL,
    )
    listed: asyncio.Future[Definitions] = asyncio.get_running_loop().create_future()
    upstream = Upstream(
        "suite",
        settings,
        on_definitions=lambda found: None if listed.done() else listed.set_result(found),
        on_resource_updated=lambda uri: None,
        sign_ins=SignInsOfTheSuite(),  # type: ignore[arg-type]
    )
    running = asyncio.create_task(upstream.run())
    try:
        async with asyncio.timeout(SECONDS):
            while not listed.done() and upstream.state.name in ("stopped", "starting"):  # noqa: ASYNC110
                await asyncio.sleep(0.02)
            if not listed.done():
                print(f"not connected: {upstream.state}", file=sys.stderr)
                return 1
            return await call_all(upstream, listed.result(), data)
    finally:
        running.cancel()
        await asyncio.wait({running}, timeout=5)


async def call_all(upstream: Upstream, definitions: Definitions, data: Mapping[str, Any]) -> int:
    """Call what the scenario names, or every tool with arguments that fit."""
    context: Context[Any] = Context(
        client=None,
        responses=ToolResponseBuilder(),
        conversation=ConsentingUser(),
    )
    wanted = data.get("toolCalls") or [
        {"name": tool["name"], "arguments": example_of(tool["inputSchema"])} for tool in definitions.tools
    ]
    failures = 0
    for call in wanted:
        try:
            await upstream.call_tool(call["name"], call.get("arguments") or {}, context, idempotent=False)
        except DogubakoError as error:
            failures += 1
            print(f"{call['name']}: {error.message}", file=sys.stderr)
    for resource in definitions.resources:
        await upstream.read_resource(resource["uri"])
    for prompt in definitions.prompts:
        arguments = {one["name"]: "text" for one in prompt.get("arguments") or ()}
        await upstream.get_prompt(prompt["name"], arguments)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[-1])))
