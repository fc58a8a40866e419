"""Which host names and which web pages may talk to us: the guard against DNS rebinding."""

import ipaddress
from collections.abc import Sequence
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
        self._seen: dict[tuple[str, str], bool] = {}

    def check(self, host: str, origin: str | None, *, any_origin: bool = False) -> None:
        """Raise AuthorizationError for a name that is not ours or a page that is not allowed."""
        if not self._host_allowed(host):
            raise AuthorizationError(
                "This host name is not allowed.", hint="An operator can add it to DOGUBAKO_ALLOWED_HOSTS."
            )
        if origin and not any_origin and origin not in self._origins and not self._origin_allowed(origin):
            raise AuthorizationError(
                "This origin is not allowed.", hint="An operator can add it to CORS_ORIGIN, or serve it from here."
            )

    def _host_allowed(self, host: str) -> bool:
        return self._known("host", host, f"//{host}")

    def _origin_allowed(self, origin: str) -> bool:
        return self._known("origin", origin, origin if origin.startswith(("http://", "https://")) else "//")

    def _known(self, kind: str, value: str, url: str) -> bool:
        key = (kind, value)
        if key not in self._seen:
            if len(self._seen) > 1_000:
                self._seen.clear()
            self._seen[key] = self._allowed(url)
        return self._seen[key]

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
