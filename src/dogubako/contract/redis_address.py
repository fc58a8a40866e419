"""Addresses of a Redis: of one server, of a cluster, and of the Sentinels that know which server is the master.

They read like those of the `limits` library and of other tools: `redis://`, `redis+cluster://a:6379,b:6379` and
`redis+sentinel://a:26379,b:26379/master/0`; `rediss` instead of `redis` means TLS.
"""

import re
from dataclasses import dataclass, field
from typing import Final, Literal
from urllib.parse import urlsplit

RedisKind = Literal["server", "cluster", "sentinel"]

_SCHEME: Final = re.compile(r"(rediss?)(?:\+(cluster|sentinel))?")
_SERVER_PORT: Final = 6379
_SENTINEL_PORT: Final = 26379
_FORMS: Final = (
    "must be an address like redis://user:password@host:6379/0, redis+cluster://host:6379,host:6379 or "
    "redis+sentinel://host:26379,host:26379/master/0; rediss for TLS"
)
_ONE_HOST: Final = "must name one host; several are an address of redis+cluster:// or redis+sentinel://"
_NO_MASTER: Final = "must end with the name of the master that Sentinel watches, and may name a database after it"
_NO_DATABASE: Final = "must name no database: a cluster has only one"


@dataclass(frozen=True, kw_only=True)
class RedisAddress:
    """Where a Redis is. It may hold a password: show `place`."""

    kind: RedisKind
    nodes: tuple[tuple[str, int], ...]
    # The address of the first node alone, with user, database and options, as the client library reads it.
    url: str = field(repr=False)
    master: str = ""

    @property
    def place(self) -> str:
        """The address for people, without a password."""
        nodes = ", ".join(f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host, port in self.nodes)
        return {"server": nodes, "cluster": f"cluster {nodes}", "sentinel": f"{self.master}, by Sentinel {nodes}"}[
            self.kind
        ]


def parse_redis_address(text: str) -> RedisAddress:
    """Read an address. A ValueError says what is wrong and does not repeat it."""
    try:
        parts = urlsplit(text)
    except ValueError:
        raise ValueError(_FORMS) from None
    scheme = _SCHEME.fullmatch(parts.scheme)
    if scheme is None:
        raise ValueError(_FORMS)
    kind: RedisKind = "cluster" if scheme[2] == "cluster" else "sentinel" if scheme[2] else "server"
    user, at, hosts = parts.netloc.rpartition("@")
    nodes = tuple(_node(one, _SENTINEL_PORT if kind == "sentinel" else _SERVER_PORT) for one in hosts.split(","))
    if kind == "server" and len(nodes) > 1:
        raise ValueError(_ONE_HOST)
    path = parts.path.strip("/")
    master, _, database = path.partition("/") if kind == "sentinel" else ("", "", path)
    if kind == "sentinel" and not master:
        raise ValueError(_NO_MASTER)
    if kind == "cluster" and database not in ("", "0"):
        raise ValueError(_NO_DATABASE)
    first = hosts.split(",")[0]
    query = f"?{parts.query}" if parts.query else ""
    return RedisAddress(kind=kind, nodes=nodes, url=f"{scheme[1]}://{user}{at}{first}/{database}{query}", master=master)


def _node(text: str, usual_port: int) -> tuple[str, int]:
    try:
        parts = urlsplit(f"//{text}")
        host, port = parts.hostname, parts.port
    except ValueError:
        raise ValueError(_FORMS) from None
    if not host or port == 0:
        raise ValueError(_FORMS)
    return host, port or usual_port
