"""Who may write `keys.json` swaps, changes and invents stored credentials: none of them opens for anybody else."""

import os
from base64 import urlsafe_b64decode, urlsafe_b64encode
from itertools import product
from typing import Final

import pytest

from dogubako.contract.credentials import Credential
from dogubako.gate.credential_vault import CredentialVault

from .conftest import Tally

pytestmark = pytest.mark.attack

_SECRET: Final = os.urandom(32)
_OWNERS: Final = [
    *product(("a1b2c3d4", "ffffffff", ""), ("redmine", "n8n", "redmine.hq")),
    ("a1b2c3d4\nredmine", "n8n"),
]


def _vault(secret: bytes = _SECRET) -> CredentialVault:
    return CredentialVault(lambda: secret)


def test_changed_credentials(tally: Tally) -> None:
    vault = _vault()
    sealed = vault.seal("a1b2c3d4", "redmine", Credential(key="key-of-one-person", login="anna"))
    data = urlsafe_b64decode(sealed)
    for at in range(len(data)):
        for mask in (0x01, 0x80, 0xFF):
            changed = urlsafe_b64encode(data[:at] + bytes([data[at] ^ mask]) + data[at + 1 :]).decode()
            tally.check(vault.open("a1b2c3d4", "redmine", changed) is None, f"byte {at} was changed")
        cut = urlsafe_b64encode(data[:at]).decode()
        tally.check(vault.open("a1b2c3d4", "redmine", cut) is None, f"cut after {at} bytes")
    for odd in ("", "A", "é", "\x00", "=" * 1_000, "A" * 1_000_000, sealed + sealed, sealed[::-1]):
        tally.check(vault.open("a1b2c3d4", "redmine", odd) is None, f"{odd[:20]!r} opened")
    for other in (b"", b"x", os.urandom(32), _SECRET[:-1], _SECRET + b"\0"):
        tally.check(_vault(other).open("a1b2c3d4", "redmine", sealed) is None, "opened with another key")


def test_swapped_credentials(tally: Tally) -> None:
    vault = _vault()
    sealed = {owner: vault.seal(*owner, Credential(key=f"key of {owner}", login="")) for owner in _OWNERS}
    for mine, theirs in product(_OWNERS, _OWNERS):
        opened = vault.open(*mine, sealed[theirs])
        if mine == theirs:
            tally.check(opened is not None and opened.key == f"key of {mine}", f"{mine} does not open")
        else:
            tally.check(opened is None, f"{mine} opened the credential of {theirs}")


def test_no_two_seals_are_alike(tally: Tally) -> None:
    vault = _vault()
    sealed = [vault.seal("a1b2c3d4", "redmine", Credential(key="the same", login="")) for _ in range(500)]
    tally.check(len({urlsafe_b64decode(one)[:12] for one in sealed}) == 500, "a nonce was used twice")
