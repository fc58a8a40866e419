"""Lines of the audit log reach standard output, syslog and a collector, also if one of them was away."""

import asyncio
import json
import re
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

from dogubako.gate import audit_shipping
from dogubako.settings import Settings, SettingsError
from tests.doors.processes import PATIENCE, serving
from tests.doors.waiting import until
from tests.redis_server import free_port

from .sheds import SHED, log_in, shed_in

RFC_5424 = re.compile(rb'<(\d+)>1 (\S+) \S+ dogubako \d+ audit \[dogubako@32473 id="([0-9a-f]{24})"\] (\{.*\})')


@pytest.fixture(autouse=True)
def _quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_shipping, "_LOOK_SECONDS", 0.01)
    monkeypatch.setattr(audit_shipping, "_PAUSE_SECONDS", 0.01)
    monkeypatch.setattr(audit_shipping, "_LONGEST_PAUSE", 0.05)


@asynccontextmanager
async def shipping(folder: Path, *sinks: str) -> AsyncIterator[Any]:
    box = shed_in(folder, audit_sinks=sinks)
    box.gate.ship_audit(stdout=True)
    async with box.running():
        yield box


def unix_socket(path: Path) -> socket.socket:
    receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    receiver.bind(str(path))
    receiver.setblocking(False)
    return receiver


async def received(receiver: socket.socket) -> bytes:
    async with asyncio.timeout(PATIENCE):
        return await asyncio.get_running_loop().sock_recv(receiver, 65_536)


async def test_syslog_gets_each_line_as_rfc_5424_says(tmp_path: Path) -> None:
    with unix_socket(tmp_path / "log") as receiver:
        async with shipping(tmp_path, f"syslog://{tmp_path}/log") as box:
            await box.call("look", {"text": "a"})
            await box.call("no_such_tool")
            messages = [RFC_5424.fullmatch(await received(receiver)) for _ in range(2)]

    good, bad = (message.groups() for message in messages if message)
    written = log_in(tmp_path).read_bytes().splitlines()
    assert [good[3], bad[3]] == written
    # Facility 13, informational and warning.
    assert (good[0], bad[0]) == (b"110", b"108")
    assert good[1] == json.loads(good[3])["time"].encode()


async def test_lines_that_a_sink_did_not_take_are_delivered_when_it_is_there_also_after_a_restart(
    tmp_path: Path,
) -> None:
    sink = f"syslog://{tmp_path}/log"
    async with shipping(tmp_path, sink) as box:
        await box.call("put", {"text": "a"})
        await until(lambda: not all(one.ok for one in box.gate._shipping.check()), "the sink is reported as away")
        findings = [one for one in await box.check() if one.subject == "audit sink"]
    with unix_socket(tmp_path / "log") as receiver:
        async with shipping(tmp_path, sink) as box:
            lines = [await received(receiver) for _ in range(2)]
            await until(lambda: all(one.ok for one in box.gate._shipping.check()), "the sink takes lines")
            await box.call("look")
            lines.append(await received(receiver))

    codes = [json.loads(line[line.index(b"{") :])["code"] for line in lines]
    assert codes == ["STARTED", "OK", "OK"]
    assert not findings[0].ok and "wait in the audit log" in findings[0].message


async def test_syslog_over_tcp_counts_the_bytes_and_connects_again(tmp_path: Path) -> None:
    port, taken = free_port(), asyncio.Queue[bytes]()

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        size = int(await reader.readuntil(b" "))
        taken.put_nowait(await reader.readexactly(size))
        writer.close()

    server = await asyncio.start_server(take, "127.0.0.1", port)
    async with server, shipping(tmp_path, f"syslog+tcp://127.0.0.1:{port}") as box, asyncio.timeout(PATIENCE):
        await box.call("look")
        first = await taken.get()
        await box.call("look", {"text": "again"})
        second = await taken.get()

    assert RFC_5424.fullmatch(first) and RFC_5424.fullmatch(second) and first != second


async def test_syslog_over_udp(tmp_path: Path) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
        receiver.bind(("127.0.0.1", 0))
        receiver.setblocking(False)
        async with shipping(tmp_path, f"syslog+udp://127.0.0.1:{receiver.getsockname()[1]}") as box:
            await box.call("look")
            assert RFC_5424.fullmatch(await received(receiver))


async def test_a_collector_gets_log_records_with_ids_and_again_what_it_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[bytes] = []
    refusals = 1

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal refusals
        head = await reader.readuntil(b"\r\n\r\n")
        size = re.search(rb"content-length: (\d+)", head.lower())
        assert head.startswith(b"POST /v1/logs ") and size
        body = await reader.readexactly(int(size[1]))
        status = b"200 OK"
        if refusals:
            refusals, status = refusals - 1, b"400 Bad Request"
        else:
            taken.append(body)
        writer.write(b"HTTP/1.1 " + status + b"\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{port}")
    async with server, shipping(tmp_path, "otlp") as box:
        await box.call("look", {"text": "a"})
        await until(lambda: bool(taken), "the collector takes the line")

    request = ExportLogsServiceRequest.FromString(taken[0])
    record = request.resource_logs[0].scope_logs[0].log_records[0]
    assert record.body.string_value.encode() == log_in(tmp_path).read_bytes().splitlines()[0]
    assert record.attributes[0].key == "log.record.uid" and record.event_name == "dogubako.audit"
    assert abs(record.time_unix_nano - record.observed_time_unix_nano) < PATIENCE * 1e9


@pytest.mark.slow
def test_standard_output_gets_lines_of_a_server_and_the_last_ones_at_its_end(tmp_path: Path) -> None:
    settings = {"DOGUBAKO_AUDIT": "true", "DOGUBAKO_AUDIT_SINKS": "stdout", "DOGUBAKO_DATA_DIR": str(tmp_path)}
    with serving(SHED, folder=tmp_path, settings=settings) as server:
        body = {"name": "put", "parameters": {"text": "a"}}
        assert httpx2.post(f"{server.url()}/v1/tools/call", json=body, timeout=PATIENCE).status_code == 200
        server.process.terminate()
        assert server.wait() == 0
        server.stdout.close()
        printed = [json.loads(line) for line in server.stdout.text().splitlines()]

    assert [line["code"] for line in printed] == ["STARTED", "OK"]
    assert len({line["id"] for line in printed}) == 2


def test_standard_output_that_belongs_to_mcp_is_refused(tmp_path: Path) -> None:
    box = shed_in(tmp_path, audit_sinks=("stdout",))

    with pytest.raises(SettingsError, match="belongs to MCP"):
        box.gate.ship_audit(stdout=False)


@pytest.mark.parametrize("sink", ["stderr", "syslog://host", "syslog+udp://", "syslog+tcp://host:0", "file:///x"])
def test_a_sink_that_does_not_exist_is_refused(sink: str) -> None:
    with pytest.raises(ValueError, match="must be stdout, otlp"):
        Settings(audit=True, audit_sinks=(sink,))


def test_sinks_without_an_audit_log_are_refused() -> None:
    with pytest.raises(ValueError, match="DOGUBAKO_AUDIT_SINKS needs"):
        Settings(audit_sinks=("stdout",))


async def test_one_process_of_a_folder_delivers_and_another_takes_over(tmp_path: Path) -> None:
    sink = f"syslog://{tmp_path}/log"
    with unix_socket(tmp_path / "log") as receiver:
        async with shipping(tmp_path, sink) as other:
            async with shipping(tmp_path, sink) as box:
                await box.call("look")
                await received(receiver)
                await other.call("look")
                await received(receiver)
            await other.call("look", {"text": "after"})
            await received(receiver)
            with pytest.raises(BlockingIOError):
                receiver.recv(1)
