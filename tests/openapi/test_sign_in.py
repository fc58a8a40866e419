"""Sign in at an API with a browser, and use and refresh the tokens."""

import asyncio
import base64
import hashlib
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest

from dogubako.contract.call import Caller, ToolCall
from dogubako.contract.credentials import Credential
from dogubako.gateway.definitions import DefinitionStore
from dogubako.gateway.sign_ins import SignInFailed, StoredTokens
from dogubako.openapi.connections import Connections
from dogubako.openapi.oauth import sign_in
from dogubako.openapi.schemes import with_whole_addresses
from dogubako.openapi.settings import ApiSettings

from .api_server import PetApi
from .conftest import ADDRESS, Open, sign_ins_in
from .test_calls import call, text_of

CLIENT = {"client_id": "box", "client_secret": "client-secret-123", "api_key": None}


async def browse(address: str, **answer: str) -> None:
    """A browser whose user consents at once."""
    query = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
    said = {"code": "the-code", "state": query["state"], **answer}
    async with httpx2.AsyncClient(trust_env=False) as browser:
        page = await browser.get(query["redirect_uri"], params=said)
    assert "You are signed in" in page.text


async def signed_in(api: PetApi, folder: Path, show: Any = browse, scheme: Any = None, **table: Any) -> None:
    settings = ApiSettings.model_validate({"openapi": ADDRESS, **CLIENT, **table})
    described = scheme or api.document["components"]["securitySchemes"]["person"]
    connections = Connections("pets", settings, httpx2.ASGITransport(app=api.app()), api.resolve)
    stored = StoredTokens(sign_ins_in(folder), "pets")
    try:
        await sign_in("person", with_whole_addresses(described, ADDRESS), settings, connections, stored, show)
    finally:
        await connections.aclose()


async def test_somebody_signs_in_and_calls_carry_the_token(api: PetApi, opened: Open, tmp_path: Path) -> None:
    shown: list[str] = []

    async def show(address: str) -> None:
        shown.append(address)
        await browse(address)

    async with opened(**CLIENT) as box:
        before = await call(box, "mine")
        await signed_in(api, tmp_path, show)
        after = await call(box, "mine")

    asked = {name: values[0] for name, values in parse_qs(urlsplit(shown[0]).query).items()}
    form = api.forms[0]
    challenge = base64.urlsafe_b64encode(hashlib.sha256(form["code_verifier"].encode()).digest()).decode().rstrip("=")
    assert before.code == "API_ERROR" and "dogubako services login pets" in text_of(before)
    assert after.data["you"] == "佐藤" and after.data["seen"] == "Bearer ***", "a token is not shown"
    assert (asked["kind"], asked["scope"], asked["code_challenge"]) == ("pets", "pets:read pets:write", challenge)
    assert (form["grant_type"], form["code"], form["client_id"]) == ("authorization_code", "the-code", "box")
    assert form["redirect_uri"] == asked["redirect_uri"] and form["client_secret"] == "client-secret-123"


ISSUER = {"authorization_endpoint": "http://pets.test/authorize", "token_endpoint": "http://pets.test/token"}


def _with_open_id(api: PetApi, **issuer: Any) -> None:
    """The API wants a sign-in at an issuer, whose addresses are in the issuer's own document."""
    scheme = {"type": "openIdConnect", "openIdConnectUrl": "/.well-known/openid-configuration"}
    api.document["components"]["securitySchemes"]["person"] = scheme
    api.document["paths"]["/mine"]["get"]["security"] = [{"person": ["pets:read"]}]
    api.issuer = {**ISSUER, **issuer}


@pytest.mark.parametrize(
    ("said", "scope"),
    [
        ({}, "openid pets:read offline_access"),
        ({"scopes_supported": ["openid", "offline_access"]}, "openid pets:read offline_access"),
        ({"scopes_supported": ["openid"]}, "openid pets:read"),
    ],
)
async def test_an_issuer_of_openid_connect_says_where_to_sign_in(
    said: dict[str, Any], scope: str, api: PetApi, opened: Open, tmp_path: Path
) -> None:
    _with_open_id(api, **said)
    shown: list[str] = []

    async def show(address: str) -> None:
        shown.append(address)
        await browse(address)

    async with opened(**CLIENT) as box:
        before = await call(box, "mine")
        assert box.apis is not None
        scheme = box.apis.named("pets").definitions.capabilities["securitySchemes"]["person"]
        await signed_in(api, tmp_path, show, scheme)
        after = await call(box, "mine")
        api.tokens += 1
        refreshed = await call(box, "mine")

    asked = {name: values[0] for name, values in parse_qs(urlsplit(shown[0]).query).items()}
    assert "dogubako services login pets" in text_of(before)
    assert shown[0].startswith("http://pets.test/authorize?") and asked["scope"] == scope
    assert (after.data["you"], refreshed.code) == ("佐藤", "OK")
    assert [one["grant_type"] for one in api.forms] == ["authorization_code", "refresh_token"]


@pytest.mark.parametrize(
    ("issuer", "reason"),
    [
        ({"token_endpoint": None}, "no addresses"),
        ({"authorization_endpoint": "javascript:alert(1)"}, "no addresses"),
        ({"token_endpoint": "http://inside.test/token"}, "not on the public web"),
        ({"scopes_supported": "none", "token_endpoint": 7}, "no addresses"),
    ],
)
async def test_an_issuer_cannot_have_the_secret_sent_anywhere(
    issuer: dict[str, Any], reason: str, api: PetApi, tmp_path: Path
) -> None:
    _with_open_id(api, **issuer)
    with pytest.raises(SignInFailed, match=reason):
        await signed_in(api, tmp_path)

    assert api.forms == []


async def test_tokens_are_stored_encrypted_and_forgotten_with_the_service(api: PetApi, tmp_path: Path) -> None:
    await signed_in(api, tmp_path)
    stored = b"".join(path.read_bytes() for path in (tmp_path / "servers").iterdir())
    assert stored and b"token-1" not in stored and b"refresh-1" not in stored

    sign_ins = sign_ins_in(tmp_path)
    DefinitionStore(tmp_path).forget("pets")
    assert sign_ins.changed_at("pets") == 0


async def test_an_ended_token_is_refreshed_once_for_many_calls(api: PetApi, opened: Open, tmp_path: Path) -> None:
    api.lifetime = 1
    await signed_in(api, tmp_path)
    api.lifetime = 3600
    # It ends at once, because tokens are renewed before their end; one second is the least.
    await asyncio.sleep(1.1)
    async with opened(**CLIENT) as box:
        results = await asyncio.gather(*(call(box, "mine") for _ in range(5)))

    assert {one.code for one in results} == {"OK"}
    assert [one["grant_type"] for one in api.forms] == ["authorization_code", "refresh_token"]
    assert api.forms[1]["refresh_token"] == "refresh-1"


async def test_a_refused_token_is_refreshed_and_the_new_refresh_token_is_kept(
    api: PetApi, opened: Open, tmp_path: Path
) -> None:
    await signed_in(api, tmp_path)
    async with opened(**CLIENT) as box:
        api.tokens += 1
        first = await asyncio.gather(*(call(box, "mine") for _ in range(4)))
        api.tokens += 1
        second = await call(box, "mine")
    async with opened(**CLIENT) as box:
        restarted = await call(box, "mine")

    refreshes = [one["refresh_token"] for one in api.forms if one["grant_type"] == "refresh_token"]
    assert {one.code for one in (*first, second, restarted)} == {"OK"} and refreshes == ["refresh-1", "refresh-3"]


async def test_a_refused_refresh_says_that_somebody_has_to_sign_in_again(
    api: PetApi, opened: Open, tmp_path: Path
) -> None:
    await signed_in(api, tmp_path)
    async with opened(**CLIENT) as box:
        api.tokens, api.token_status = 7, 400
        refused = await call(box, "mine")
        api.token_status = 503
        busy = await call(box, "mine")
        api.token_status = 200
        again = await call(box, "mine")

    assert refused.code == "CREDENTIAL_REQUIRED" and "services login pets" in text_of(refused)
    assert (busy.code, again.code) == ("API_ERROR", "OK")


async def test_a_token_without_an_end_is_used_until_it_is_refused(api: PetApi, opened: Open, tmp_path: Path) -> None:
    api.lifetime = None
    await signed_in(api, tmp_path)

    assert sign_ins_in(tmp_path).read("pets")["ends"] is None


async def test_a_client_that_has_to_use_a_header_does(api: PetApi, tmp_path: Path) -> None:
    api.wants_basic = True
    await signed_in(api, tmp_path)

    pair = base64.b64encode(b"box:client-secret-123").decode()
    assert api.forms[-1]["authorization"] == f"Basic {pair}" and "client_secret" not in api.forms[-1]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ({"state": "forged"}, "another question"),
        ({"code": ""}, "another question"),
        ({"error": "access_denied", "error_description": "The person said no."}, "The person said no"),
    ],
)
async def test_an_answer_that_we_did_not_ask_for_signs_nobody_in(
    answer: dict[str, str], reason: str, api: PetApi, tmp_path: Path
) -> None:
    async def show(address: str) -> None:
        await browse(address, **answer)

    with pytest.raises(SignInFailed, match=reason):
        await signed_in(api, tmp_path, show)

    assert api.forms == [] and sign_ins_in(tmp_path).changed_at("pets") == 0


@pytest.mark.parametrize(
    ("flow", "reason"),
    [
        ({"authorizationUrl": "javascript:alert(1)", "tokenUrl": "/token"}, "no addresses"),
        ({"authorizationUrl": "/authorize"}, "no addresses"),
        ({"authorizationUrl": "/authorize", "tokenUrl": "http://inside.test/token"}, "not on the public web"),
    ],
)
async def test_a_description_cannot_have_the_secret_sent_anywhere(
    flow: dict[str, str], reason: str, api: PetApi, tmp_path: Path
) -> None:
    scheme = {"type": "oauth2", "flows": {"authorizationCode": flow}}
    with pytest.raises(SignInFailed, match=reason):
        await signed_in(api, tmp_path, scheme=scheme)

    assert api.forms == []


async def test_a_sign_in_is_not_used_for_another_service_of_the_same_name(
    api: PetApi, opened: Open, tmp_path: Path
) -> None:
    await signed_in(api, tmp_path, openapi="http://other.test/openapi.json", allow_private=True)
    async with opened(**CLIENT) as box:
        result = await call(box, "mine")

    assert result.code == "API_ERROR" and "authorization" not in api.requests[0].headers


async def test_a_changed_token_address_has_to_be_approved(api: PetApi, opened: Open) -> None:
    auth = {"oauth": "client:hush-hush-secret"}
    async with opened(pinning="on", auth=auth) as box:
        assert box.apis is not None
        box.apis.approve("pets")
        approved = await call(box, "expired")
    flows = api.document["components"]["securitySchemes"]["oauth"]["flows"]
    flows["clientCredentials"]["tokenUrl"] = "http://pets.test/elsewhere"
    async with opened(pinning="on", auth=auth) as box:
        changed = await call(box, "expired")

    assert (approved.code, changed.code) == ("OK", "TOOL_NOT_FOUND")


async def test_a_caller_with_a_key_of_its_own_uses_that_and_nobodys_sign_in(
    api: PetApi, opened: Open, tmp_path: Path
) -> None:
    await signed_in(api, tmp_path)
    caller = Caller(
        name="hanako", scopes=frozenset({"admin"}), id="1", credentials=(("pets", Credential(key="own-key-1")),)
    )
    async with opened(**CLIENT, credentials="own") as box:
        await box.pipeline.handle(ToolCall(name="mine", caller=caller, door="http"))

    assert [one.headers.get("authorization") for one in api.requests] == ["Bearer own-key-1"]
