"""Clients for one Redis, for a cluster, and for the master that Sentinel knows.

All three have the same commands, scripts, pipelines and subscriptions. What differs: a cluster wants all keys of one
command in one slot, and the other two may have to ask several nodes before they know where to go.
"""

from typing import Any, Final

from dogubako.contract.redis_address import RedisAddress
from dogubako.outbound.redis_cache import OPERATION_SECONDS, connection_options

# One operation is a command, and may be a connection and a script that has to be sent first.
_MOST_COMMANDS: Final = 3
_SENTINEL_PREFIX: Final = "sentinel_"


def redis_client(address: RedisAddress, **options: Any) -> Any:
    """A client for this address; `options` come before those of the address. ValueError if one of those is none.

    ImportError where the client library, an optional dependency, is not installed.
    """
    from redis import asyncio as redis  # noqa: PLC0415

    given = {**connection_options(), **_options_in(address), **options}
    if address.kind == "cluster":
        nodes = [redis.cluster.ClusterNode(host, port) for host, port in address.nodes]
        # All our keys are in one slot, so it does not matter whether somebody serves the others.
        return redis.RedisCluster(startup_nodes=nodes, require_full_coverage=False, **given)
    if address.kind == "sentinel":
        return _master(address, given)
    client = redis.from_url(address.url, **connection_options())
    # The address may name a timeout, which counts for short operations only.
    client.connection_pool.connection_kwargs.update(options)
    return client


def operation_limit(address: RedisAddress) -> float:
    """Seconds that one operation may take, also if it finds all nodes but the last one dead."""
    configured = _options_in(address).get("socket_timeout")
    seconds = OPERATION_SECONDS if configured is None else float(configured)
    return seconds * (_MOST_COMMANDS + len(address.nodes) - 1)


def _master(address: RedisAddress, given: dict[str, Any]) -> Any:
    from redis import asyncio as redis  # noqa: PLC0415

    # Sentinels have users of their own, or none.
    own = {
        name.removeprefix(_SENTINEL_PREFIX): value for name, value in given.items() if name.startswith(_SENTINEL_PREFIX)
    }
    options = {name: value for name, value in given.items() if not name.startswith(_SENTINEL_PREFIX)}
    own |= {name: value for name, value in options.items() if name.startswith(("socket_", "ssl", "retry"))}
    sentinel: Any = redis.Sentinel
    return sentinel(address.nodes, sentinel_kwargs=own, **options).master_for(address.master)


def _options_in(address: RedisAddress) -> dict[str, Any]:
    """User, database, TLS and options of an address, without its host."""
    from redis.asyncio.connection import SSLConnection, parse_url  # noqa: PLC0415

    found = dict(parse_url(address.url))
    if found.pop("connection_class", None) is SSLConnection:
        found["ssl"] = True
    return {name: value for name, value in found.items() if name not in ("host", "port", "path")}
