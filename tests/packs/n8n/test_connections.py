"""What only a real socket can do to us: refuse, break off, drip, stay silent, show a certificate of its own."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from dogubako.app import Toolbox, build
from dogubako.settings import Sources
from dogubako.tools import ExecutionOptions
from dogubako_sandbox.n8n.app import SANDBOX_KEY

from .sockets import Server, answer_well, break_off, drip, own_certificate, serving, stay_silent
from .wired import told

BOUND = 20.0
# Milliseconds. A busy machine may need more than the first of them to reach the server at all.
SHORT_TIMES = (150, 1_500, 15_000)


@asynccontextmanager
async def box_at(url: str, folder: Path, **environ: str) -> AsyncIterator[Toolbox]:
    """A toolbox that reaches n8n over the network, as an operator's does."""
    settings = {"N8N_URL": url, "N8N_API_KEY": SANDBOX_KEY, "DOGUBAKO_DATA_DIR": str(folder / "data"), **environ}
    async with build(Sources(environ=settings, env_file=None)).running() as box:
        yield box


async def works(box: Toolbox) -> None:
    assert (await box.call("list_workflows")).code == "OK"


async def test_a_port_where_nobody_listens_is_named_as_such(tmp_path: Path) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        async with box_at(f"http://127.0.0.1:{closed.getsockname()[1]}", tmp_path) as box:
            result = await box.call("list_workflows")

    assert told(result) == ("API_ERROR", "Failed to list workflows: n8n could not be reached")
    assert result.meta == {
        "code": "API_ERROR",
        "retryable": True,
        "hint": "Is n8n running, and is N8N_URL its address?",
    }


async def test_an_answer_that_breaks_off_is_no_answer(tmp_path: Path) -> None:
    async with serving(break_off) as server, box_at(f"http://127.0.0.1:{server.port}", tmp_path) as box:
        result = await box.call("list_workflows")

        assert told(result) == ("API_ERROR", "Failed to list workflows: n8n broke off the connection")
        server.serve = answer_well
        await works(box)


async def test_an_answer_that_drips_ends_with_the_time_of_the_call(tmp_path: Path) -> None:
    async with serving(drip) as server, box_at(f"http://127.0.0.1:{server.port}", tmp_path) as box:
        for milliseconds in SHORT_TIMES:
            server.left.clear()
            result = await box.call("list_workflows", options=ExecutionOptions(timeout=milliseconds))

            assert told(result) == ("TIMEOUT", f"Execution timeout after {milliseconds}ms")
            if server.asked.is_set():
                break
        with anyio.fail_after(BOUND):
            await server.left.wait()
        server.serve = answer_well
        await works(box)


async def test_a_call_that_is_cancelled_stops_its_request(tmp_path: Path) -> None:
    async with serving(stay_silent) as server, box_at(f"http://127.0.0.1:{server.port}", tmp_path) as box:
        call = asyncio.ensure_future(box.call("list_workflows"))
        with anyio.fail_after(BOUND):
            await server.asked.wait()
            assert not server.left.is_set()
            call.cancel()
            await server.left.wait()
        with pytest.raises(asyncio.CancelledError):
            await call
        server.serve = answer_well
        await works(box)


async def test_a_certificate_that_nobody_vouches_for_is_refused_until_somebody_does(tmp_path: Path) -> None:
    tls, bundle = own_certificate(tmp_path)
    async with serving(answer_well, tls) as server:
        url = f"https://127.0.0.1:{server.port}"
        async with box_at(url, tmp_path) as box:
            result = await box.call("list_workflows")
            assert told(result) == (
                "API_ERROR",
                "Failed to list workflows: the certificate of n8n could not be verified",
            )
            assert "N8N_CA_BUNDLE" in str(result.content[1]["text"])
            assert server.heads == [], "nothing may be said to somebody unknown"
        async with box_at(url, tmp_path, N8N_CA_BUNDLE=str(bundle)) as box:
            await works(box)


async def test_a_certificate_of_another_host_is_refused(tmp_path: Path) -> None:
    tls, bundle = own_certificate(tmp_path)
    async with (
        serving(answer_well, tls) as server,
        box_at(f"https://localhost:{server.port}", tmp_path, N8N_CA_BUNDLE=str(bundle)) as box,
    ):
        _, text = told(await box.call("list_workflows"))

    assert text.endswith("the certificate of n8n could not be verified")


@asynccontextmanager
async def greeted(greetings: list[bytes]) -> AsyncIterator[str]:
    """The https address of somebody who speaks no TLS and keeps what is said first."""

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        greetings.append(await reader.read(4096))
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(listen, "127.0.0.1", 0) as server:
        yield f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def test_https_where_there_is_only_http_says_so(tmp_path: Path) -> None:
    async with greeted([]) as url, box_at(url, tmp_path) as box:
        result = await box.call("list_workflows")

    assert told(result)[1] == "Failed to list workflows: no secure connection to n8n could be made"
    assert "N8N_URL begins with http" in str(result.content[1]["text"])


def offered_versions(hello: bytes) -> set[int]:
    """The versions in the extension 43 of a TLS greeting; 0x0303 is TLS 1.2, 0x0304 is TLS 1.3."""
    at = 5 + 4 + 2 + 32
    at += 1 + hello[at]
    at += 2 + int.from_bytes(hello[at : at + 2])
    at += 1 + hello[at] + 2
    while at < len(hello):
        kind, size = int.from_bytes(hello[at : at + 2]), int.from_bytes(hello[at + 2 : at + 4])
        if kind == 43:
            listed = hello[at + 5 : at + 4 + size]
            return {int.from_bytes(listed[place : place + 2]) for place in range(0, len(listed), 2)}
        at += 4 + size
    return {int.from_bytes(hello[9:11])}


async def test_nothing_older_than_tls_1_2_is_offered(tmp_path: Path) -> None:
    greetings: list[bytes] = []
    async with greeted(greetings) as url, box_at(url, tmp_path) as box:
        await box.call("list_workflows")

    assert offered_versions(greetings[0]) == {0x0303, 0x0304}


async def test_proxies_of_the_environment_are_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)

    async with serving(answer_well) as server, box_at(f"http://127.0.0.1:{server.port}", tmp_path) as box:
        await works(box)
        assert _asked_for(server) == [b"GET /api/v1/workflows?limit=50&excludePinnedData=true HTTP/1.1"]


def _asked_for(server: Server) -> list[bytes]:
    return [head.splitlines()[0] for head in server.heads]
