"""A request is known again only if it brings the very same thing in the very same place; and not all are remembered."""

from pathlib import Path

import pytest

from dogubako.contract.errors import AuthenticationError
from dogubako.gate import authentication, oauth
from dogubako.gate.api_keys import KeyStore
from dogubako.gate.authentication import KeyAuthentication

from .authorization_server import AuthorizationServer
from .sheds import key_in
from .token_gate import taking_tokens

Headers = list[tuple[bytes, bytes]]


def own(value: str) -> tuple[bytes, bytes]:
    return (b"x-api-key", value.encode())


def bearer(value: str) -> tuple[bytes, bytes]:
    return (b"authorization", value.encode())


MISPLACED = [
    pytest.param([own("{key}")], [bearer("{key}")], id="without its scheme"),
    pytest.param([bearer("Bearer {key}")], [own("Bearer {key}")], id="with a scheme that does not belong there"),
    pytest.param([own("{key}"), own("{key}")], [own("{key}x-api-key{key}")], id="two that became one"),
]


@pytest.mark.parametrize(("good", "bad"), MISPLACED)
def test_who_was_let_in_is_not_known_by_the_same_bytes_elsewhere(tmp_path: Path, good: Headers, bad: Headers) -> None:
    key, gate = key_in(tmp_path, "ann", "read"), KeyAuthentication(KeyStore(tmp_path))

    assert gate.authenticate_cached(filled(good, key)).name == "ann"
    with pytest.raises(AuthenticationError):
        gate.authenticate_cached(filled(bad, key))


def filled(headers: Headers, key: str) -> Headers:
    return [(name, value.replace(b"{key}", key.encode())) for name, value in headers]


def test_a_key_that_is_written_in_ever_new_ways_is_not_remembered_in_all_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(authentication, "_MOST_REMEMBERED", 3)
    key, gate = key_in(tmp_path, "ann", "read"), KeyAuthentication(KeyStore(tmp_path))
    names = {gate.authenticate_cached([bearer(f"Bearer {' ' * blanks}{key}")]).name for blanks in range(10)}

    assert names == {"ann"}
    assert 1 <= len(gate._remembered) <= 3


async def test_not_all_tokens_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oauth, "_MOST_REMEMBERED", 3)
    server = AuthorizationServer()
    token = server.token()
    async with taking_tokens(server) as gate:
        names = {(await gate.authenticate([bearer(f"Bearer {' ' * blanks}{token}")])).name for blanks in range(10)}

    assert names == {"somebody"}
    assert 1 <= len(gate._remembered) <= 3
