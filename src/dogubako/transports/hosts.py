"""Which host names and which web pages may talk to us: the guard against DNS rebinding."""

import ipaddress
from collections.abc import Sequence
from functools import lru_cache
from urllib.parse import urlsplit

from dogubako.contract.errors import AuthorizationError

_LOOPBACK_NAMES = frozenset({"localhost"})
_ANY_ADDRESS = frozenset({"0.0.0.0", "::", ""})  # noqa: S104 - compared with, never bound to


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a server that is bound to `host`."""
    if host in _LOOPBACK_NAMES:
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class HostGuard:
    """Allows our own names, plain addresses, and what the operator listed."""

    def __init__(self, bound_to: str, allowed: Sequence[str] = (), origins: Sequence[str] = ()) -> None:
        self._names = _LOOPBACK_NAMES | {name.lower() for name in allowed} | ({bound_to.lower()} - _ANY_ADDRESS)
        # "*" lets any page read REST answers; it never opens /mcp.
        self._origins = frozenset(origins) - {"*"}
        # The same few names come with every request.
        self._host_allowed = lru_cache(maxsize=1_000)(self._judge_host)
        self._origin_allowed = lru_cache(maxsize=1_000)(self._judge_origin)

    def check(self, host: bytes, origin: bytes, *, any_origin: bool = False) -> None:
        """Raise AuthorizationError for a name that is not ours or a page that is not allowed."""
        if not self._host_allowed(host):
            raise AuthorizationError(
                "This host name is not allowed.", hint="An operator can add it to DOGUBAKO_ALLOWED_HOSTS."
            )
        if origin and not any_origin and not self._origin_allowed(origin):
            raise AuthorizationError(
                "This origin is not allowed.", hint="An operator can add it to CORS_ORIGIN, or serve it from here."
            )

    def _judge_host(self, host: bytes) -> bool:
        return self._allowed(f"//{host.decode('latin-1')}")

    def _judge_origin(self, origin: bytes) -> bool:
        page = origin.decode("latin-1")
        return page in self._origins or (page.startswith(("http://", "https://")) and self._allowed(page))

    def _allowed(self, url: str) -> bool:
        try:
            name = (urlsplit(url).hostname or "").lower()
        except ValueError:
            return False
        return name in self._names or _is_address(name)


def _is_address(name: str) -> bool:
    """A plain address cannot be rebound: it is not looked up."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
