"""A request target in absolute form names the host itself (RFC 9112, 3.2.2)."""

import asyncio
from typing import Any

import pytest

from .connections import answer, listening
from .processes import PATIENCE


@pytest.mark.parametrize(
    ("target", "host"),
    [
        pytest.param(b"http://evil.example/v1/tools", b"evil.example", id="another host"),
        pytest.param(b"http://localhost:80/?a=1", b"localhost:80", id="our own, with a port"),
        pytest.param(b"/http://evil.example/", b"localhost", id="a path"),
    ],
)
async def test_the_authority_of_a_target_in_absolute_form_counts_as_the_host(target: bytes, host: bytes) -> None:
    async def tells_host(scope: Any, receive: Any, send: Any) -> None:
        await answer(send, b"|".join(value for name, value in scope["headers"] if name == b"host"))

    async with listening(tells_host) as place:
        reader, writer = await place.connect()
        writer.write(b"GET " + target + b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        said = await asyncio.wait_for(reader.read(), PATIENCE)

    assert said.endswith(b"\r\n\r\n" + host)
