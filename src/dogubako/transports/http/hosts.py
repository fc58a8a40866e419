"""Check the `Host` and `Origin` of requests, and refuse to listen for others without authentication."""

import ipaddress
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Self

from starlette.types import Scope

from dogubako.contract.errors import AuthorizationError
from dogubako.contract.netaddr import LOOPBACK_NAMES, is_loopback
from dogubako.settings import Settings, SettingsError


def refuse_open_bind(settings: Settings) -> None:
    """Refuse to listen on a public address while authentication is off."""
    if settings.auth != "off":
        return
    if not is_loopback(settings.host):
        raise SettingsError(
            f"HOST is {settings.host}, which others can reach, and authentication is off. "
            "Use HOST=127.0.0.1, set DOGUBAKO_AUTH=keys, or say --allow-unauthenticated if that is what you want."
        )
    if settings.cors_enabled and "*" in settings.cors_origin:
        raise SettingsError(
            "CORS_ORIGIN is *, so every web page that somebody here opens could call tools, and authentication is off. "
            "Name the sites in CORS_ORIGIN, set DOGUBAKO_AUTH=keys, or say --allow-unauthenticated if that is meant."
        )


# Judgements are remembered, so what is longer than any real name is refused before that.
MOST_HOST_BYTES: Final = 255
MOST_ORIGIN_BYTES: Final = 512

_ANY_ADDRESS = frozenset({"0.0.0.0", "::", ""})  # noqa: S104 - compared with, never bound to
_USUAL_PORTS = {"http": 80, "https": 443}

_PLACE = r"(?:(?P<name>[a-z0-9._-]+)|\[(?P<six>[0-9a-f]*:[0-9a-f:.]*)\])(?::(?P<port>[0-9]{1,5}))?"
_HOST = re.compile(_PLACE, re.ASCII | re.IGNORECASE)
_ORIGIN = re.compile(f"(?P<scheme>https?)://{_PLACE}", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class _Place:
    """A name or an address, and a port if there was one. Nothing else belongs to a Host or stands behind `http://`."""

    name: str
    port: int | None

    @classmethod
    def found(cls, match: re.Match[str] | None) -> Self | None:
        if match is None or (match["six"] and not _is_address(match["six"])):
            return None
        return cls(name=(match["name"] or match["six"]).lower(), port=int(match["port"]) if match["port"] else None)


class HostGuard:
    """Checks Host and Origin (DNS rebinding): own names, plain addresses, and what the operator listed."""

    def __init__(self, bound_to: str, allowed: Sequence[str] = (), origins: Sequence[str] = ()) -> None:
        self._listed = frozenset(name.lower().strip("[]") for name in allowed)
        self._names = LOOPBACK_NAMES | self._listed | ({bound_to.lower()} - _ANY_ADDRESS)
        self._only_here = is_loopback(bound_to)
        # "*" lets any page read REST answers; it never opens /mcp.
        self._origins = frozenset(origins) - {"*"}
        # The same few names come with every request.
        self._host_allowed = lru_cache(maxsize=1_000)(self._judge_host)
        self._origin_allowed = lru_cache(maxsize=1_000)(self._judge_origin)

    def check(self, scope: Scope, *, any_origin: bool = False) -> None:
        """Raise AuthorizationError for a Host that is not ours or an Origin that is not allowed."""
        host = origin = b""
        for name, value in scope["headers"]:
            if name == b"host" and not host:
                host = value
            elif name == b"origin" and not origin:
                origin = value
        if len(host) > MOST_HOST_BYTES or not self._host_allowed(host):
            raise AuthorizationError(
                "This host name is not allowed.", hint="An operator can add it to DOGUBAKO_ALLOWED_HOSTS."
            )
        if not origin or any_origin:
            return
        if len(origin) > MOST_ORIGIN_BYTES or not self._origin_allowed(origin, host):
            raise AuthorizationError(
                "This origin is not allowed.", hint="An operator can add it to CORS_ORIGIN, or serve it from here."
            )

    def _judge_host(self, host: bytes) -> bool:
        place = _host_in(host)
        # A plain address cannot be rebound: it is not looked up.
        return place is not None and (place.name in self._names or _is_address(place.name))

    def _judge_origin(self, origin: bytes, host: bytes) -> bool:
        """Check an Origin. Unlike for a Host, a plain address is not enough."""
        page = origin.decode("latin-1")
        if page in self._origins:
            return True
        match = _ORIGIN.fullmatch(page)
        source = _Place.found(match)
        if match is None or source is None:
            return False
        if source.name in self._listed or (self._only_here and is_loopback(source.name)):
            return True
        return _is_same(source, _host_in(host), _USUAL_PORTS[match["scheme"].lower()])


def _host_in(header: bytes) -> _Place | None:
    return _Place.found(_HOST.fullmatch(header.decode("latin-1")))


def _is_same(source: _Place, own: _Place | None, usual_port: int) -> bool:
    """Whether Origin and Host name the same server. The scheme is not compared: a proxy may terminate TLS."""
    return own is not None and (source.name, source.port or usual_port) == (own.name, own.port or usual_port)


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
