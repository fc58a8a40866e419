"""The limit of open files (RLIMIT_NOFILE): raise it at the start, and keep the connections below it."""

import resource
from contextlib import suppress
from typing import Final

from dogubako.contract.pack import HealthCheck

MOST_CONNECTIONS: Final = 2_000
# A soft limit above this helps nobody: connections are bounded, and so are calls.
_HIGHEST_SOFT_LIMIT: Final = 65_536
# Descriptors for everything that is no connection of a client: logs, upstream connections, files, pipes of workers.
_RESERVED: Final = 256
_ADVICE: Final = "Raise the hard limit of open files to {:,}: ulimit -Hn, LimitNOFILE= in systemd, --ulimit in Docker."


def raise_open_files_limit() -> None:
    """Raise the soft limit towards the hard limit. Worker processes inherit it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _highest_soft_limit(hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        # Some systems allow less than the hard limit that they name; then the soft limit stays as it is.
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def open_files_limit() -> int:
    """The soft limit that is in force."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _HIGHEST_SOFT_LIMIT if soft == resource.RLIM_INFINITY else soft


def connections_below(limit: int) -> int:
    """How many connections one process may have open under this limit of open files."""
    return min(MOST_CONNECTIONS, limit - reserved_below(limit))


def most_streams() -> int:
    """How many connections may be event streams: half of all, so that there is room for requests."""
    return connections_below(open_files_limit()) // 2


def reserved_below(limit: int) -> int:
    """How many descriptors are kept for everything that is no connection. Under a low limit it is half of them."""
    return min(_RESERVED, limit // 2)


def check_open_files() -> HealthCheck:
    """Check that the limit of open files allows enough connections, after `serve` raised the soft limit."""
    limit = _highest_soft_limit(resource.getrlimit(resource.RLIMIT_NOFILE)[1])
    most = connections_below(limit)
    message = f"{most:,} connections at once fit below the limit of {limit:,} open files."
    return HealthCheck(
        ok=most >= MOST_CONNECTIONS,
        subject="open files",
        message=message,
        advice=None if most >= MOST_CONNECTIONS else raising_advice(),
        severity="warning",
    )


def raising_advice() -> str:
    return _ADVICE.format(MOST_CONNECTIONS + _RESERVED)


def _highest_soft_limit(hard: int) -> int:
    return _HIGHEST_SOFT_LIMIT if hard == resource.RLIM_INFINITY else min(hard, _HIGHEST_SOFT_LIMIT)
