"""An authorization server changes its keys and their address while we run: nobody has to restart anything."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

from tests.doors.processes import PATIENCE, WORKBENCH, serving
from tests.doors.waiting import until

from .issuer_service import IssuerService, issuing


class Door:
    """Our server, as somebody with tokens sees it."""

    def __init__(self, http: httpx2.Client, issuer: IssuerService) -> None:
        self._http = http
        self._issuer = issuer

    def knock(self, kid: str = "first", sub: str = "somebody") -> httpx2.Response:
        return self._http.get("/v1/tools", headers=self._issuer.bearer(kid=kid, sub=sub))


@contextmanager
def taking_tokens(folder: Path, **settings: str) -> Iterator[tuple[IssuerService, Door]]:
    with issuing() as issuer:
        chosen = {**issuer.settings(), **{key: f"{issuer.origin}{path}" for key, path in settings.items()}}
        with (
            serving(WORKBENCH, folder=folder, settings=chosen) as server,
            httpx2.Client(base_url=server.url(), timeout=PATIENCE, trust_env=False) as http,
        ):
            yield issuer, Door(http, issuer)


@pytest.mark.slow
def test_keys_that_moved_to_another_address_are_found_there(tmp_path: Path) -> None:
    with taking_tokens(tmp_path) as (issuer, door):
        before = door.knock()
        issuer.move_to("/elsewhere/keys")
        issuer.keys.clear()
        issuer.add("second")
        after = door.knock("second")
        withdrawn = door.knock("first", "somebody else")

    assert (before.status_code, after.status_code, withdrawn.status_code) == (200, 200, 401)


@pytest.mark.slow
async def test_a_configured_address_of_keys_stays_what_it_is(tmp_path: Path) -> None:
    with taking_tokens(tmp_path, DOGUBAKO_OAUTH_JWKS_URL="/keys") as (issuer, door):
        before = door.knock()
        issuer.move_to("/elsewhere/keys")
        issuer.add("second")
        after = door.knock("second")
        descriptions = issuer.asked["/.well-known/oauth-authorization-server"]
        issuer.move_to("/keys")
        await until(lambda: door.knock("second").status_code == 200, "the keys are back at their address")

    assert (before.status_code, after.status_code, descriptions) == (200, 502, 0)
    assert after.headers["retry-after"] == "5"


@pytest.mark.slow
def test_a_key_that_appeared_a_moment_ago_opens_at_once(tmp_path: Path) -> None:
    with taking_tokens(tmp_path) as (issuer, door):
        before = door.knock()
        issuer.add("second", "ES256")
        at_once = door.knock("second")
        # Also a key with which a token was signed before it was shown.
        early = door.knock("third")
        issuer.add("third")
        later = door.knock("third")

    assert (before.status_code, at_once.status_code) == (200, 200)
    assert (early.status_code, later.status_code) == (401, 200)


@pytest.mark.slow
async def test_invented_key_ids_are_bounded_and_keep_no_good_token_out(tmp_path: Path) -> None:
    with taking_tokens(tmp_path) as (issuer, door):
        door.knock()
        before = issuer.asked["/keys"]
        strangers = [door.knock(f"invented {number}") for number in range(40)]
        asked = issuer.asked["/keys"] - before
        issuer.add("second")
        good = door.knock("second")
        await until(lambda: door.knock("second").status_code == 200, "the good token is let in")

    assert {answer.status_code for answer in strangers} == {401, 502}
    assert all(1 <= int(answer.headers["retry-after"]) <= 5 for answer in strangers if answer.status_code == 502)
    # Six at once and one every five seconds: the machine may be slow.
    assert 6 <= asked < 20
    assert good.status_code in (200, 502)
