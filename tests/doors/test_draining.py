"""A server that is told to stop says so first, and answers whoever has just connected."""

import signal
import socket
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import httpx2
import pytest

from .processes import PATIENCE, WORKBENCH, serving

CALL: Final = b'{"name": "echo", "parameters": {"text": "still here"}}'


def _connected(url: str) -> socket.socket:
    parts = urlsplit(url)
    return socket.create_connection((str(parts.hostname), parts.port or 0), timeout=PATIENCE)


def _answer(connection: socket.socket) -> bytes:
    lines = [b"POST /v1/tools/call HTTP/1.1", b"Host: 127.0.0.1", b"Content-Type: application/json"]
    connection.sendall(b"\r\n".join([*lines, b"Content-Length: %d" % len(CALL), b"", CALL]))
    received = b""
    while chunk := connection.recv(65_536):
        received += chunk
    return received


@pytest.mark.slow
def test_readiness_ends_at_once_and_calls_are_taken_until_the_drain_is_over(tmp_path: Path) -> None:
    with serving(WORKBENCH, folder=tmp_path, settings={"DOGUBAKO_DRAIN": "2"}) as server:
        url = server.url()
        before = httpx2.get(f"{url}/readyz", timeout=PATIENCE)
        server.signal(signal.SIGTERM)
        server.stderr.first(lambda line: b"until balancers have noticed" in line)
        meanwhile = httpx2.get(f"{url}/readyz", timeout=PATIENCE)
        alive = httpx2.get(f"{url}/healthz", timeout=PATIENCE)
        called = httpx2.post(
            f"{url}/v1/tools/call", json={"name": "echo", "parameters": {"text": "x"}}, timeout=PATIENCE
        )

        assert server.wait() == 0
    assert (before.status_code, alive.status_code, called.status_code) == (200, 200, 200)
    assert (meanwhile.status_code, meanwhile.json()["checks"][0]["message"]) == (503, "The server is stopping.")


@pytest.mark.slow
def test_a_second_signal_ends_the_drain(tmp_path: Path) -> None:
    with serving(WORKBENCH, folder=tmp_path, settings={"DOGUBAKO_DRAIN": "600"}) as server:
        server.url()
        server.signal(signal.SIGTERM)
        server.stderr.first(lambda line: b"until balancers have noticed" in line)
        server.signal(signal.SIGTERM)

        assert server.wait() == 0


@pytest.mark.slow
def test_who_connected_just_before_the_end_is_answered(tmp_path: Path) -> None:
    with serving(WORKBENCH, folder=tmp_path) as server:
        url = server.url()
        with _connected(url) as connection:
            server.signal(signal.SIGTERM)
            server.stderr.first(lambda line: b"Shutting down" in line)
            answer = _answer(connection)

        assert server.wait() == 0
    assert answer.startswith(b"HTTP/1.1 200 ") and b"connection: close" in answer and b"still here" in answer
