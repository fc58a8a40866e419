"""Fixtures: a name server, an authority, addresses that stand for the public web, and a watch over all sockets."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest
import structlog.testing

from dogubako.outbound import public_addresses as addresses
from dogubako.outbound.http import trusted
from dogubako.outbound.public_addresses import IpAddress, is_public
from dogubako.packs.web.pages import fetch as fetch_module
from dogubako.packs.web.pages.fetch import Visitor, visitor
from dogubako.packs.web.settings import WebSettings
from tests.certificates import CertificateAuthority

from .dialling import only_loopback
from .names import Resolver, name_server

# Every other address, 127.0.0.1 among them, is judged by the real rule.
PUBLIC: Final = frozenset({"127.0.0.2", "127.0.0.3"})

# Reading the certificates of all authorities takes longer than most of these tests.
TRUSTED_ONCE: Final = cache(trusted)

Visiting = Callable[..., AbstractAsyncContextManager[Visitor]]


@pytest.fixture(autouse=True)
def nothing_leaves_this_machine() -> Iterator[None]:
    with only_loopback(), structlog.testing.capture_logs():
        yield


@pytest.fixture
def a_public_web(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two addresses of this machine count as public, so that there is somewhere to go."""

    def judged(address: IpAddress) -> bool:
        return str(address) in PUBLIC or is_public(address)

    monkeypatch.setattr(addresses, "is_public", judged)


@pytest.fixture
async def resolver() -> AsyncIterator[Resolver]:
    async with name_server() as resolver:
        yield resolver


@pytest.fixture
def visiting(resolver: Resolver, monkeypatch: pytest.MonkeyPatch) -> Visiting:
    """A visitor who looks names up at our name server; settings are given by name."""
    monkeypatch.setattr(fetch_module, "trusted", TRUSTED_ONCE)

    def open_one(**settings: Any) -> AbstractAsyncContextManager[Visitor]:
        return visitor(WebSettings(**settings), resolve=resolver)

    return open_one


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> CertificateAuthority:
    folder: Path = tmp_path_factory.mktemp("authority")
    return CertificateAuthority(folder)
