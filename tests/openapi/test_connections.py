"""Requests go to the address that was checked, and servers that only a description names are public."""

from typing import Any

import httpx2
import pytest

from dogubako.contract.errors import UrlNotAllowed
from dogubako.openapi import connections
from dogubako.openapi.connections import Connections, PublicTransport
from dogubako.openapi.settings import ApiSettings
from dogubako.outbound.http import Operation

from .api_server import PetApi
from .conftest import KEY, Open
from .test_calls import call, text_of

PUBLIC = "93.184.216.34"
STRANGER = {"servers": [{"url": "http://other.test/v1"}]}


async def test_a_name_server_that_changes_its_answer_after_the_check_is_not_asked_again(
    api: PetApi, opened: Open
) -> None:
    api.document |= STRANGER
    api.addresses["other.test"] = [PUBLIC, "127.0.0.1"]
    async with opened() as box:
        result = await call(box, "list_pets")

    request = api.requests[0]
    assert result.code == "OK" and request.scope["server"][0] == PUBLIC, "connected to what was checked"
    assert request.headers["host"] == "other.test" and request.headers["x-pets-key"] == KEY


async def test_an_answer_that_turns_private_later_is_refused(
    api: PetApi, opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "_FRESH_SECONDS", 0.0)
    api.document |= STRANGER
    api.addresses["other.test"] = [PUBLIC, "10.0.0.1"]
    async with opened() as box:
        first, second = await call(box, "list_pets"), await call(box, "list_pets")

    assert (first.code, second.code, len(api.requests)) == ("OK", "URL_NOT_ALLOWED", 1)
    assert "allow_private" in text_of(second)


async def test_a_public_address_of_the_settings_has_to_stay_public(
    api: PetApi, opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "_FRESH_SECONDS", 0.0)
    # Once to see that it is public, once for the description, and then for the call.
    api.addresses["pets.test"] = [PUBLIC, PUBLIC, "169.254.169.254"]
    async with opened() as box:
        result = await call(box, "list_pets")

    assert result.code == "URL_NOT_ALLOWED" and api.requests == []


async def test_a_reference_to_a_document_beside_the_description_is_guarded_as_well(
    api: PetApi, opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "_FRESH_SECONDS", 0.0)
    api.document["paths"]["/far"] = {"$ref": "http://pets.test/v1/pets"}
    api.addresses["pets.test"] = [PUBLIC, PUBLIC, "169.254.169.254"]
    async with opened() as box:
        assert box.apis is not None
        state = box.apis.named("pets").state

    assert state.name == "unreachable" and "public web" in state.reason and api.requests == []


async def test_a_secret_is_not_sent_to_a_private_token_address(api: PetApi, opened: Open) -> None:
    flow = api.document["components"]["securitySchemes"]["oauth"]["flows"]["clientCredentials"]
    flow["tokenUrl"] = "http://tokens.test/token"
    async with opened(auth={"oauth": "client:hush-hush-secret"}) as box:
        result = await call(box, "expired")

    assert result.code == "URL_NOT_ALLOWED" and api.tokens == 0


async def test_the_certificate_has_to_be_that_of_the_name() -> None:
    seen: list[httpx2.Request] = []

    class Recording(httpx2.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            seen.append(request)
            return httpx2.Response(200)

    async def resolve(host: str, port: int) -> list[str]:
        return ["2606:2800:220:1::1"]

    transport: Any = PublicTransport(Recording(), resolve, httpx2.ConnectError)
    async with httpx2.AsyncClient(transport=transport) as client:
        await client.get("https://pets.example.com:8443/v1?x=1")

    assert str(seen[0].url) == "https://[2606:2800:220:1::1]:8443/v1?x=1"
    assert seen[0].extensions["sni_hostname"] == "pets.example.com"
    assert seen[0].headers["host"] == "pets.example.com:8443"


async def test_names_that_share_an_address_share_no_connection() -> None:
    async def resolve(host: str, port: int) -> list[str]:
        return [PUBLIC]

    settings = ApiSettings(openapi="https://pets.example.com/openapi.json")
    found = Connections("pets", settings, httpx2.MockTransport(lambda _: httpx2.Response(200)), resolve)
    try:
        assert await found.to("https://pets.example.com/a") is await found.to("https://PETS.example.com/b")
        assert await found.to("https://pets.example.com/") is not await found.to("https://other.example.com/")
        with pytest.raises(UrlNotAllowed):
            await (await found.to("http://127.1/")).request("GET", "http://127.1/", Operation(name="look"))
    finally:
        await found.aclose()
