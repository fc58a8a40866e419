"""A misspelt name is answered with names that the caller may see, and with no others."""

from typing import Any

import pytest

from dogubako.transports.http.app import HttpApp
from tests.doors.asgi import Client, Visit, opened

from .callers import KINDS, NONE_OF_OURS, Keyring, Kind
from .guarded import guarded_box
from .methods import ERAS
from .speaking import Speaker

NO_IDEA = "tools/list or `dogubako tools list` has the names."

# As they are, and as somebody writes them in a hurry.
MISSPELT = {
    "destroy_redmine": "destroy_redmin",
    "write_redmine": "wirte_redmine",
    "read_n8n": "read_n8m",
    "ask_colour": "ask_color",
}
every_kind = pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.tools], ids=lambda kind: kind.scope)
WAYS = (*ERAS, "call_tool", "describe_tool", "REST", "REST, looking", "REST, switching")


async def _hint(client: Client, way: str, name: str, credentials: dict[str, str]) -> str:
    if way in ERAS:
        speaker = await Speaker(client, credentials, "2025" if way == "2025" else "2026").open()
        return str((await speaker.call(name))["error"]["data"]["hint"])
    if way in ("call_tool", "describe_tool"):
        arguments: dict[str, Any] = {"name": name} | ({"arguments": {}} if way == "call_tool" else {})
        answer = await Speaker(client, credentials, "2026").call(way, arguments)
        return str(answer["_meta"]["hint"])
    return str((await _rest(client, way, name, credentials)).json["hint"])


async def _rest(client: Client, way: str, name: str, credentials: dict[str, str]) -> Visit:
    headers = {"content-type": "application/json", **credentials}
    if way == "REST":
        return await client.request("POST", "/v1/tools/call", headers=headers, body={"name": name})
    if way == "REST, looking":
        return await client.request("GET", f"/v1/tools/{name}", headers=headers)
    return await client.request("PATCH", f"/v1/tools/{name}", headers=headers, body={"enabled": False})


def _proposed(hint: str) -> set[str]:
    assert hint == NO_IDEA or hint.startswith("Did you mean ")
    return set() if hint == NO_IDEA else set(hint.removeprefix("Did you mean ").removesuffix("?").split(" or "))


@every_kind
@pytest.mark.parametrize("way", WAYS)
async def test_only_tools_that_the_caller_may_see_are_proposed(
    web: Client, keyring: Keyring, way: str, kind: Kind
) -> None:
    for name, misspelt in MISSPELT.items():
        proposed = _proposed(await _hint(web, way, misspelt, keyring.header(kind)))
        assert proposed <= kind.sees, misspelt
        assert (name in proposed) == (name in kind.sees), misspelt


@pytest.mark.parametrize("way", [*ERAS, "REST", "REST, looking", "REST, switching"])
async def test_who_may_see_nothing_is_told_nothing(web: Client, keyring: Keyring, way: str) -> None:
    hints = [await _hint(web, way, misspelt, keyring.header(NONE_OF_OURS)) for misspelt in MISSPELT.values()]

    assert hints == [NO_IDEA] * len(MISSPELT)


@pytest.mark.parametrize("way", [*ERAS, "call_tool", "describe_tool", "REST"])
async def test_a_tool_that_cannot_be_called_now_is_not_proposed(keyring: Keyring, way: str) -> None:
    box = guarded_box(keyring.folder)
    box.registry.disable("write_redmine")
    async with opened(HttpApp(box)) as client:
        hint = await _hint(client, way, "write_redmin", keyring.header("admin"))

    assert "write_redmine" not in _proposed(hint) and "write_n8n" in _proposed(hint)


async def test_on_a_read_only_server_nothing_is_proposed_that_writes(keyring: Keyring) -> None:
    async with opened(HttpApp(guarded_box(keyring.folder, DOGUBAKO_READ_ONLY="true"))) as client:
        hint = await _hint(client, "2026", "write_redmin", keyring.header("admin"))

    assert _proposed(hint) == {"read_redmine"}
