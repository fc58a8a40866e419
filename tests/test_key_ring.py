"""A ring of keys: the first one seals, all of them open, and what a dropped one sealed is refused."""

import time
from base64 import urlsafe_b64encode
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Final

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from dogubako.contract.credentials import Credential
from dogubako.gate.authentication import NoAuthentication
from dogubako.gate.credential_vault import CredentialVault
from dogubako.key_ring import KeyRing, RingCipher, RingKey, key_id_of
from dogubako.outbound.redis_cache import RedisCache
from dogubako.settings import Settings
from dogubako.transports.console.session import PendingSignIn, Sessions
from tests.redis_server import INSTALLED, redis_server
from tests.shared_redis import PATIENT

OLD: Final = b"the old key, which is long enough for everything"
NEW: Final = b"the new key, which is long enough for everything"
# The steps of docs/scale.md.
STEPS: Final = ([OLD], [OLD, NEW], [NEW, OLD], [NEW])


def cipher(*secrets: bytes, purpose: bytes = b"test") -> RingCipher:
    return RingCipher(KeyRing(secrets), purpose)


@pytest.mark.parametrize(("here", "there"), [(0, 1), (1, 2), (2, 3)])
def test_processes_one_step_apart_understand_each_other(here: int, there: int) -> None:
    one, other = cipher(*STEPS[here]), cipher(*STEPS[there])

    assert other.open(b"name", one.seal(b"name", b"value")) == b"value"
    assert one.open(b"name", other.seal(b"name", b"value")) == b"value"


def test_what_a_dropped_key_sealed_is_refused() -> None:
    sealed = cipher(OLD).seal(b"name", b"value")

    assert key_id_of(sealed) == KeyRing([OLD]).sealing.id
    assert cipher(NEW).open(b"name", sealed) is None


@pytest.mark.parametrize("changed", [b"", b"short", bytes(40)])
def test_what_nobody_sealed_is_refused(changed: bytes) -> None:
    own = cipher(NEW, OLD)

    assert own.open(b"name", changed) is None
    assert own.open(b"name", own.seal(b"name", b"value")[:4] + changed) is None


def test_a_value_opens_under_its_name_and_for_its_purpose_only() -> None:
    sealed = cipher(NEW).seal(b"name", b"value")

    assert cipher(NEW).open(b"another", sealed) is None
    assert cipher(NEW, purpose=b"another").open(b"name", sealed) is None


def test_keys_are_derived_as_rfc_5869_says() -> None:
    expected = HKDF(SHA256(), 32, None, b"purpose").derive(OLD)

    assert RingKey(OLD).derive(b"purpose") == expected


def test_the_id_of_a_key_is_no_part_of_what_it_seals_with() -> None:
    key = RingKey(OLD)

    assert key.id_bytes not in key.secret and key.id_bytes not in key.derive(b"test")


def test_a_key_that_is_named_twice_counts_once() -> None:
    assert len(KeyRing([OLD, NEW, OLD]).keys) == 2


def test_the_settings_name_the_key_that_seals_first() -> None:
    settings = Settings(request_state_key=NEW.decode(), request_state_keys_old=[OLD.decode()])

    ring = KeyRing.of(settings)
    assert ring is not None and ring.ids == KeyRing([NEW, OLD]).ids
    assert KeyRing.of(Settings()) is None


def sessions(folder: Path, *secrets: bytes) -> Sessions:
    first, *others = (secret.decode() for secret in secrets)
    settings = Settings(data_dir=folder, request_state_key=first, request_state_keys_old=others)
    return Sessions(settings, NoAuthentication())


def test_the_console_knows_cookies_and_forms_of_the_old_key_until_it_is_dropped(tmp_path: Path) -> None:
    before, during, after = (sessions(tmp_path, *step) for step in (STEPS[0], STEPS[2], STEPS[3]))
    session = before.visitor()
    cookie, token = before.seal(session), before.csrf_token(session)

    assert (during.open(cookie), during.check_csrf(session, token)) == (session, True)
    assert (after.open(cookie), after.check_csrf(session, token)) == (None, False)
    # Forms of a page that a process with the new key made, sent to one with the old key.
    assert sessions(tmp_path, *STEPS[1]).check_csrf(session, during.csrf_token(session))


def test_one_kind_of_cookie_is_not_taken_for_the_other(tmp_path: Path) -> None:
    own = sessions(tmp_path, NEW)
    session = own.visitor()

    assert own.open_pending(own.seal(session)) is None
    assert session.until > time.time() and PendingSignIn.__name__ != type(session).__name__


def test_credentials_that_were_stored_before_keys_had_ids_still_open() -> None:
    key, nonce = HKDF(SHA256(), 32, None, b"dogubako credentials of callers").derive(OLD), bytes(12)
    plain = b'{"key":"of ann","login":""}'
    stored = urlsafe_b64encode(nonce + AESGCM(key).encrypt(nonce, plain, b"key-1\nredmine")).decode()

    assert CredentialVault(lambda: OLD).open("key-1", "redmine", stored) == Credential(key="of ann")
    assert CredentialVault(lambda: NEW, lambda: OLD).open("key-1", "redmine", stored) == Credential(key="of ann")
    assert CredentialVault(lambda: NEW).open("key-1", "redmine", stored) is None


@pytest.mark.skipif(not INSTALLED, reason="needs redis-server")
async def test_a_cached_value_of_an_old_key_is_found_and_deleted_until_the_key_is_dropped(tmp_path: Path) -> None:
    async with redis_server(tmp_path) as url, AsyncExitStack() as stack:
        rings = [KeyRing(step) for step in (STEPS[0], STEPS[2], STEPS[3])]
        before, during, after = [RedisCache(url + PATIENT, lambda ring=ring: ring) for ring in rings]  # type: ignore[misc]
        for cache in (before, during, after):
            stack.push_async_callback(cache.aclose)
        await before.put("test", b"of the old key")
        found = await during.get("test"), await after.get("test")
        await during.delete("test")

        assert found == (b"of the old key", None)
        assert await before.get("test") is None
