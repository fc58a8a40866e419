"""A name server of our own on loopback, which lies as told, and a resolver that asks it."""

import asyncio
import ipaddress
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final, cast

from dogubako.contract.errors import HttpError

A: Final = 1
AAAA: Final = 28
NO_SUCH_NAME: Final = 3
PATIENCE: Final = 20
_HEADER: Final = struct.Struct("!HHHHHH")
_POINTER_TO_THE_QUESTION: Final = b"\xc0\x0c"


class NameServer(asyncio.DatagramProtocol):
    """Answers over UDP. A name has one list of addresses per question asked; the last one stays."""

    def __init__(self) -> None:
        self.records: dict[str, list[list[str]]] = {}
        self.asked: list[str] = []
        self._transport: asyncio.DatagramTransport | None = None

    def answer(self, name: str, *answers: list[str]) -> None:
        self.records[name] = list(answers)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.DatagramTransport", transport)

    def datagram_received(self, data: bytes, sender: tuple[str, int]) -> None:
        assert self._transport is not None
        number = _HEADER.unpack_from(data)[0]
        name, end = _read_name(data, _HEADER.size)
        kind = struct.unpack_from("!H", data, end)[0]
        question = data[_HEADER.size : end + 4]
        if name not in self.records:
            head = _HEADER.pack(number, 0x8180 | NO_SUCH_NAME, 1, 0, 0, 0)
            self._transport.sendto(head + question, sender)
            return
        found = [entry for entry in map(_record, self._current(name, kind)) if entry[0] == kind]
        head = _HEADER.pack(number, 0x8180, 1, len(found), 0, 0)
        self._transport.sendto(head + question + b"".join(entry[1] for entry in found), sender)

    def _current(self, name: str, kind: int) -> list[str]:
        """What the name means now. One lookup asks for A and then for AAAA; after that, the next answer is due."""
        answers = self.records[name]
        current = answers[0]
        if kind == AAAA:
            self.asked.append(name)
            del answers[0 : 1 if len(answers) > 1 else 0]
        return current


@dataclass(kw_only=True)
class Resolver:
    """Looks names up at our name server, with the signature of the pack's own resolver."""

    names: NameServer
    port: int
    hosts: list[str] = field(default_factory=list)

    async def __call__(self, host: str, port: int) -> list[str]:
        self.hosts.append(host)
        try:
            return [str(ipaddress.ip_address(host))]
        except ValueError:
            older, newer = await self._ask(host, A), await self._ask(host, AAAA)
            return [*newer, *older]

    async def _ask(self, host: str, kind: int) -> list[str]:
        loop = asyncio.get_running_loop()
        transport, reply = await loop.create_datagram_endpoint(Reply, remote_addr=("127.0.0.1", self.port))
        try:
            transport.sendto(_HEADER.pack(7, 0x0100, 1, 0, 0, 0) + _written(host) + struct.pack("!HH", kind, 1))
            return _addresses(await asyncio.wait_for(reply.data, PATIENCE), kind)
        finally:
            transport.close()


class Reply(asyncio.DatagramProtocol):
    """The one datagram that comes back."""

    def __init__(self) -> None:
        self.data: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    def datagram_received(self, data: bytes, sender: tuple[str, int]) -> None:
        if not self.data.done():
            self.data.set_result(data)


@asynccontextmanager
async def name_server() -> AsyncIterator[Resolver]:
    loop = asyncio.get_running_loop()
    transport, server = await loop.create_datagram_endpoint(NameServer, local_addr=("127.0.0.1", 0))
    try:
        yield Resolver(names=server, port=transport.get_extra_info("sockname")[1])
    finally:
        transport.close()


def _written(name: str) -> bytes:
    return b"".join(bytes([len(label)]) + label.encode() for label in name.split(".")) + b"\0"


def _read_name(data: bytes, start: int) -> tuple[str, int]:
    labels = []
    while length := data[start]:
        labels.append(data[start + 1 : start + 1 + length].decode())
        start += 1 + length
    return ".".join(labels), start + 1


def _record(text: str) -> tuple[int, bytes]:
    address = ipaddress.ip_address(text)
    kind = A if address.version == 4 else AAAA
    packed = address.packed
    return kind, _POINTER_TO_THE_QUESTION + struct.pack("!HHIH", kind, 1, 0, len(packed)) + packed


def _addresses(data: bytes, kind: int) -> list[str]:
    _, flags, _, count, _, _ = _HEADER.unpack_from(data)
    if flags & 0xF == NO_SUCH_NAME:
        raise HttpError("no such name", message="The page could not be fetched: its host was not found.")
    _, position = _read_name(data, _HEADER.size)
    position += 4
    found = []
    for _ in range(count):
        length = struct.unpack_from("!H", data, position + 10)[0]
        found.append(str(ipaddress.ip_address(data[position + 12 : position + 12 + length])))
        position += 12 + length
    return found
