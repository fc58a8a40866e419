"""Decide which addresses may be fetched: public ones only (SSRF protection)."""

import ipaddress
import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import SplitResult, quote, urlsplit

import anyio

from dogubako.contract.errors import HttpError, UrlNotAllowed

IpAddress = ipaddress.IPv4Address | ipaddress.IPv6Address

_PORTS: Final = {"http": 80, "https": 443}
_LONGEST_URL: Final = 8_000
_LONGEST_NAME: Final = 253
# A host with its port, in any script, before it is written in ASCII.
_LONGEST_HOST: Final = 500
_NAT64: Final = ipaddress.IPv6Network("64:ff9b::/96")
# Ranges that some versions of Python call global, but that are not public.
_NOT_PUBLIC: Final = tuple(
    ipaddress.ip_network(network)
    for network in (
        "168.63.129.16/32",  # the host of a virtual machine in Azure, with a public number
        "192.0.0.0/24",  # set aside for protocols; one cloud has its metadata in it
        "192.88.99.0/24",  # old relays between IPv4 and IPv6
        "2001::/23",  # tunnels (Teredo), measurements, identifiers
        "2002::/16",  # 6to4: an IPv4 address inside, behind such a relay
        "3fff::/20",  # documentation
        "fec0::/10",  # site-local
    )
)
# 127.1, 0x7f000001, 017700000001: old spellings of an address, which resolvers still accept.
_ODD_NUMBER: Final = re.compile(r"(0x[0-9a-f]*|\d+)", re.IGNORECASE)
_LABEL: Final = r"(?!-)[a-z0-9_-]{1,63}(?<!-)"
_NAME: Final = re.compile(rf"{_LABEL}(\.{_LABEL})*")
# Parsers drop line breaks and tabs in different ways; lone surrogates cannot be sent at all.
_NEVER_IN_A_URL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_HOST_END: Final = re.compile(r"[/?#]")
_IN_BRACKETS: Final = re.compile(r"\[[^\[\]]*\](:\d*)?")
_KEPT_AS_WRITTEN: Final = "%/:@!$&'()*+,;=~?[]|"


@dataclass(frozen=True, kw_only=True, slots=True)
class Destination:
    """The parts of a URL, before DNS resolution."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def url(self) -> str:
        """The URL in one spelling, so that every parser finds the same host in it."""
        return f"{self.scheme}://{self.authority}{self.path}"

    @property
    def authority(self) -> str:
        """The value of the Host header."""
        shown = f"[{self.host}]" if ":" in self.host else self.host
        return shown if self.port == _PORTS[self.scheme] else f"{shown}:{self.port}"


def is_too_long(url: str) -> bool:
    """Whether no page has such a URL. To normalise a host, `urlsplit` takes time that grows with its length squared."""
    if len(url) > _LONGEST_URL or url.isascii():
        return len(url) > _LONGEST_URL
    host = _HOST_END.split(url.partition("//")[2], maxsplit=1)[0]
    return len(host) > _LONGEST_HOST


def destination(url: str) -> Destination:
    """The parts of a URL; UrlNotAllowed if it may not be fetched."""
    text = url.strip()
    if is_too_long(text) or _NEVER_IN_A_URL.search(text):
        raise _refused("it is not a valid URL")
    try:
        parts = urlsplit(text)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise _refused("it is not a valid URL") from None
    if parts.scheme not in _PORTS:
        raise _refused("only http and https are fetched")
    if "@" in parts.netloc:
        raise _refused("it holds a user name or password")
    if port == 0 or ("[" in parts.netloc and not _IN_BRACKETS.fullmatch(parts.netloc)):
        raise _refused("it is not a valid URL")
    return Destination(scheme=parts.scheme, host=_host(host), port=port or _PORTS[parts.scheme], path=_path(parts))


def require_public(addresses: list[str]) -> str:
    """The address to connect to. A private address among public ones is refused: it is an attack."""
    if not addresses:
        raise _refused("its host has no address")
    for text in addresses:
        address = _literal(text)
        if address is None or not is_public(address):
            raise _refused("its host is not on the public web")
    return addresses[0]


async def resolve_by_system(host: str, port: int) -> list[str]:
    """Resolve with this machine's resolver."""
    try:
        infos = await anyio.getaddrinfo(host, port, type=1)
    except OSError as error:
        raise HttpError(f"{host}: {error}", message="The page could not be fetched: its host was not found.") from error
    return list(dict.fromkeys(str(entry[4][0]) for entry in infos))


def is_public(address: IpAddress) -> bool:
    """Whether the address is the same machine for everybody."""
    if isinstance(address, ipaddress.IPv6Address):
        inner = _inner(address)
        if inner is not None:
            return is_public(inner)
    if any(address in network for network in _NOT_PUBLIC):
        return False
    return address.is_global and not (address.is_multicast or address.is_reserved or address.is_unspecified)


def _inner(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    """The IPv4 address that is reached through an IPv6 address."""
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF) if address in _NAT64 else None


def _host(written: str) -> str:
    """The host for DNS: an address in its usual spelling, or a name in ASCII."""
    address = _literal(written)
    if address is not None:
        return str(address)
    name = _in_ascii(written).rstrip(".").lower()
    if len(name) > _LONGEST_NAME or not _NAME.fullmatch(name):
        raise _refused("it has no valid host")
    if _ODD_NUMBER.fullmatch(name.rsplit(".", 1)[-1]):
        raise _refused("its host is an oddly written address")
    return name


def _in_ascii(name: str) -> str:
    if name.isascii():
        return name
    import idna  # noqa: PLC0415 - large tables, for few names

    try:
        return idna.encode(name, uts46=True).decode()
    except UnicodeError:
        raise _refused("it has no valid host") from None


def _path(parts: SplitResult) -> str:
    """Path and query as they are sent, without the fragment."""
    query = f"?{quote(parts.query, safe=_KEPT_AS_WRITTEN)}" if parts.query else ""
    return quote(parts.path or "/", safe=_KEPT_AS_WRITTEN.replace("?", "")) + query


def _literal(host: str) -> IpAddress | None:
    """An IP address literal. One with a zone (fe80::1%eth0) names a local interface, so it is none."""
    try:
        return None if "%" in host else ipaddress.ip_address(host)
    except ValueError:
        return None


def _refused(reason: str) -> UrlNotAllowed:
    return UrlNotAllowed(reason, message=f"This URL may not be fetched: {reason}.")
