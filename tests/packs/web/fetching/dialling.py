"""Watches every socket of this process: whatever is dialled while a test runs has to be loopback."""

import ipaddress
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

_DIALS: Final = frozenset({"socket.connect", "socket.sendto"})
# Python keeps such a hook for as long as the process lives, so there is one, and it is switched.
_watching: list[list[str]] = []


def _watch(event: str, arguments: tuple[Any, ...]) -> None:
    if not _watching or event not in _DIALS:
        return
    address = arguments[1]
    if not isinstance(address, tuple) or _is_loopback(str(address[0])):
        return
    _watching[-1].append(str(address[0]))
    raise AssertionError(f"{address[0]} is not loopback")


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return host == "localhost"


sys.addaudithook(_watch)


@contextmanager
def only_loopback() -> Iterator[list[str]]:
    """Refuses every other address, and fails at the end if there was one, even if the refusal was swallowed."""
    dialled: list[str] = []
    _watching.append(dialled)
    try:
        yield dialled
    finally:
        _watching.remove(dialled)
    assert not dialled, f"dialled: {dialled}"
