"""OpenAPI descriptions as tools, beside FastMCP's `from_openapi`, in one run on the same descriptions.

python -m bench.services          prints the tables, and writes the one in docs/services.md
"""

import asyncio
import json
import logging
import re
import statistics
import sys
import time
import warnings
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from urllib.parse import unquote

import anyio
import fastmcp
import httpx2
import structlog
from fastmcp import FastMCP

from bench.machine import say
from bench.service_descriptions import BASE, CASES, STYLES, Case, Document, Request, descriptions, operations_of
from dogubako.app import Toolbox
from dogubako.gateway.servers import Servers, ServerSources
from dogubako.gateway.upstream_tool import upstream_tool
from dogubako.openapi.description import Wanted, read_description
from dogubako.openapi.settings import ApiSettings
from dogubako.openapi.upstream import ApiUpstream
from dogubako.response.tokens import count_tokens
from dogubako.settings import Sources

PAGE: Final = Path(__file__).resolve().parent.parent / "docs" / "services.md"
_BEGIN, _END = "<!-- bench-services -->", "<!-- /bench-services -->"
_ROUNDS: Final = 5
_SETTINGS: Final = ApiSettings(openapi=f"{BASE}/openapi.json")

Tools = list[dict[str, Any]]


def import_here(content: bytes) -> Tools:
    """Our tools as a list shows them, read in this process as FastMCP reads its own."""
    found = read_description(Wanted(address=f"{BASE}/openapi.json", content=content))
    return [upstream_tool("bench", one["name"], one, _SETTINGS).to_definition() for one in found.tools]


async def import_there(content: bytes) -> Tools:
    client = httpx2.AsyncClient(base_url=BASE)
    server = FastMCP.from_openapi(json.loads(content), client=client)
    async with fastmcp.Client(server) as session:
        return [one.model_dump(mode="json", by_alias=True, exclude_none=True) for one in await session.list_tools()]


@dataclass
class Row:
    """One description, and what each importer made of it."""

    name: str
    operations: int
    ours: int = 0
    theirs: int = 0
    our_tokens: int = 0
    their_tokens: int = 0
    our_times: list[float] = field(default_factory=list)
    their_times: list[float] = field(default_factory=list)
    failure: str = ""


async def measure(name: str, document: Document) -> Row:
    content, row = json.dumps(document).encode(), Row(name=name, operations=operations_of(document))
    for _ in range(_ROUNDS):
        began = time.process_time()
        tools = import_here(content)
        row.our_times.append((time.process_time() - began) * 1000)
        row.ours, row.our_tokens = len(tools), count_tokens(json.dumps(tools, ensure_ascii=False))
        began = time.process_time()
        try:
            tools = await import_there(content)
        except Exception as error:
            row.failure = type(error).__name__
            continue
        row.their_times.append((time.process_time() - began) * 1000)
        row.theirs, row.their_tokens = len(tools), count_tokens(json.dumps(tools, ensure_ascii=False))
    return row


@dataclass(frozen=True)
class Arrived:
    """A request, as the service sees it."""

    method: str
    target: str
    headers: dict[str, str]
    body: str


class Recorder:
    """A service that answers everything, and remembers the request."""

    def __init__(self) -> None:
        self.seen: list[Arrived] = []
        self.transport = httpx2.ASGITransport(app=self._answer)

    async def _answer(self, scope: Any, receive: Any, send: Any) -> None:
        event = await receive()
        raw, query = scope["raw_path"].partition(b"?")[0], scope["query_string"]
        target = (raw + (b"?" + query if query else b"")).decode().removeprefix("/v1")
        if target == "/openapi.json":
            answer: Any = STYLES
        else:
            headers = {name.decode(): value.decode() for name, value in scope["headers"]}
            self.seen.append(Arrived(scope["method"], target, headers, event["body"].decode()))
            answer = {"name": "Tama"}
        kind = [(b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": 200, "headers": kind})
        await send({"type": "http.response.body", "body": json.dumps(answer).encode()})

    def request(self, case: Case) -> Request:
        """What arrived, in the form of the case; None if nothing did."""
        if not self.seen:
            return None
        one = self.seen.pop()
        body: Any = one.body or None
        if case.tool == "headers":
            body = {name: one.headers[name] for name in ("x-trace", "cookie") if name in one.headers}
        elif body and "json" in one.headers.get("content-type", ""):
            body = json.loads(body)
        return one.method, _spelling(one.target), body.replace("+", "%20") if isinstance(body, str) else body


def _spelling(target: str) -> str:
    """One spelling for characters that mean the same in both."""
    return re.sub(r"%7[Cc]|%5[BbDd]|%3[Bb]|%3[Dd](?=[^&]*;)", lambda found: unquote(found[0]), target)


def _is_right(case: Case, request: Request) -> bool:
    right = [one and (one[0], _spelling(one[1]), one[2]) for one in (case.request, *case.also)]
    return request in right


async def wrong_calls(call: Callable[[str, Document], Awaitable[Any]], service: Recorder, theirs: bool) -> list[str]:
    """The cases after which something else than the specification says arrived, or nothing at all."""
    wrong = []
    for case in CASES:
        service.seen.clear()
        await call(case.tool, case.theirs if theirs and case.theirs else case.arguments)
        if not _is_right(case, service.request(case)):
            wrong.append(case.what)
    return wrong


async def our_wrong_calls() -> list[str]:
    service = Recorder()
    with TemporaryDirectory() as folder:
        data = Path(folder)

        def connect(name: str, settings: ApiSettings, **callbacks: Any) -> ApiUpstream:
            return ApiUpstream(name, settings, transport=service.transport, resolve=_loopback, **callbacks)

        sources = ServerSources(
            tables={"bench": {"openapi": f"{BASE}/openapi.json", "pinning": "off"}},
            environ={},
            data_dir=data,
            config_file=data / "dogubako.toml",
            connect=connect,
            model=ApiSettings,
        )
        box = Toolbox(Sources.only({"data_dir": data}).load(), [], apis=Servers(sources))
        async with box.running():
            assert box.apis is not None
            pack = box.apis.named("bench")
            with anyio.fail_after(60):
                while pack.state.name in ("stopped", "starting"):  # noqa: ASYNC110 - there is no event to wait for
                    await anyio.sleep(0.05)
            assert pack.state.name == "ready", pack.state.reason
            return await wrong_calls(box.call, service, theirs=False)


async def _loopback(host: str, port: int) -> list[str]:
    return ["127.0.0.1"]


async def their_wrong_calls() -> list[str]:
    service = Recorder()
    client = httpx2.AsyncClient(base_url=BASE, transport=service.transport)
    server = FastMCP.from_openapi(STYLES, client=client)
    async with fastmcp.Client(server) as session:

        async def call(tool: str, arguments: Document) -> Any:
            try:
                return await session.call_tool(tool, arguments, raise_on_error=False)
            except Exception:
                return None

        return await wrong_calls(call, service, theirs=True)


def table(rows: list[Row], ours: list[str], theirs: list[str]) -> str:
    """The table of docs/services.md."""
    lines = [
        "| description | operations | imported | tokens of the list | time to import |",
        "| --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        there = row.failure or f"{row.theirs:,}"
        tokens = f"{row.our_tokens:,} / {row.their_tokens:,}" if row.theirs else f"{row.our_tokens:,} / –"
        times = f"{statistics.median(row.our_times):,.0f} ms / " + (
            f"{statistics.median(row.their_times):,.0f} ms" if row.their_times else "–"
        )
        lines.append(f"| {row.name} | {row.operations:,} | {row.ours:,} / {there} | {tokens} | {times} |")
    lines += [
        "",
        f"Wrong calls, of {len(CASES)}: {len(ours)} / {len(theirs)}" + (f" ({', '.join(theirs)})." if theirs else "."),
    ]
    return "\n".join(lines)


def worse(rows: list[Row], ours: list[str], theirs: list[str]) -> list[str]:
    """The rows in which we are worse."""
    found = [f"{row.name}: imported" for row in rows if row.ours < row.theirs]
    compared = [row for row in rows if row.ours == row.theirs]
    found += [f"{row.name}: tokens" for row in compared if row.our_tokens > row.their_tokens]
    timed = [row for row in rows if row.their_times and row.ours >= row.theirs]
    found += [
        f"{row.name}: time" for row in timed if statistics.median(row.our_times) > statistics.median(row.their_times)
    ]
    return found + (["wrong calls"] if len(ours) > len(theirs) else [])


async def main() -> int:
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    rows = []
    for name, document in descriptions().items():
        rows.append(await measure(name, document))
        say(f"{name}: {rows[-1].ours} / {rows[-1].theirs} of {rows[-1].operations} {rows[-1].failure}")
    ours, theirs = await our_wrong_calls(), await their_wrong_calls()
    say(f"wrong calls of ours: {ours}")
    found = table(rows, ours, theirs)
    print(found)
    page = PAGE.read_text(encoding="utf-8")
    head, _, rest = page.partition(_BEGIN)
    note = f"Ours / FastMCP {version('fastmcp')}; the median of {_ROUNDS} turns in one process, by processor time."
    PAGE.write_text(f"{head}{_BEGIN}\n{note}\n\n{found}\n{_END}{rest.partition(_END)[2]}", encoding="utf-8")
    if lost := worse(rows, ours, theirs):
        say(f"Worse than FastMCP: {'; '.join(lost)}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
