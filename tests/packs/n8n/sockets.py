"""A real n8n-shaped server on loopback, for what only a socket can do: stall, break off, speak TLS."""

import asyncio
import datetime
import ipaddress
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.socket_connection import OpenConnections, SocketConnection

TICK: Final = 0.01
EMPTY_LIST: Final = b'{"data":[],"nextCursor":null}'


@dataclass(kw_only=True)
class Visitor(SocketConnection):
    """One connection: what was asked, and whether the other side has gone."""

    head: bytes = b""


Serve = Callable[[Visitor], Awaitable[None]]


@dataclass(kw_only=True)
class Server:
    """Where it listens, and what it has seen."""

    serve: Serve
    port: int = 0
    heads: list[bytes] = field(default_factory=list)
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    left: asyncio.Event = field(default_factory=asyncio.Event)
    visitors: OpenConnections = field(default_factory=OpenConnections)

    async def visit(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        visitor = Visitor(reader=reader, writer=writer)
        self.visitors.add(writer)
        try:
            visitor.head = await reader.readuntil(b"\r\n\r\n")
            self.heads.append(visitor.head)
            self.asked.set()
            await self.serve(visitor)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self.left.set()
            writer.close()


@asynccontextmanager
async def serving(serve: Serve, tls: ssl.SSLContext | None = None) -> AsyncIterator[Server]:
    server = Server(serve=serve)
    listening = await asyncio.start_server(server.visit, "127.0.0.1", 0, ssl=tls)
    server.port = listening.sockets[0].getsockname()[1]
    async with listening:
        try:
            yield server
        finally:
            await server.visitors.end()


def head(length: int | None = None, kind: str = "application/json") -> bytes:
    lines = ["HTTP/1.1 200 OK", f"content-type: {kind}", "connection: close"]
    lines += [f"content-length: {length}"] if length is not None else []
    return "\r\n".join([*lines, "", ""]).encode()


async def answer_well(visitor: Visitor) -> None:
    await visitor.say(head(len(EMPTY_LIST)) + EMPTY_LIST)


async def break_off(visitor: Visitor) -> None:
    """Promises more than it sends."""
    await visitor.say(head(10_000) + EMPTY_LIST[:10])


async def drip(visitor: Visitor) -> None:
    """One byte after the other, for as long as somebody listens: never silent, never done."""
    await visitor.say(head(1_000_000))
    while not await visitor.gone_within(TICK):
        await visitor.say(b" ")


async def stay_silent(visitor: Visitor) -> None:
    await visitor.gone_within(60)


def own_certificate(folder: Path) -> tuple[ssl.SSLContext, Path]:
    """A server's TLS with a certificate that no public authority has signed, and the file that vouches for it."""
    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "n8n")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder(issuer_name=name, subject_name=name, public_key=key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    bundle, secret = folder / "ca.pem", folder / "key.pem"
    bundle.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    form = serialization.PrivateFormat.PKCS8
    secret.write_bytes(key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(bundle, secret)
    return context, bundle
