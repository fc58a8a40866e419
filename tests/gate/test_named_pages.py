"""Pages that an operator named may use REST, others may not; and nobody opens tools to every page by accident."""

from pathlib import Path
from typing import Any

import pytest

from dogubako.transports.http.app import HttpApp
from tests.doors import messages
from tests.doors.asgi import Client, Visit, opened
from tests.doors.processes import run, serving

from .callers import Keyring
from .guarded import guarded_box
from .sheds import SHED, key_in, shed_in

NAMED = {"cors_enabled": True, "cors_origin": ("https://app.example",)}
ALL = {"cors_enabled": True, "cors_origin": ("*",)}
NONE: dict[str, Any] = {}

ORIGINS = [
    pytest.param(NAMED, "https://app.example", True, id="the named page"),
    pytest.param(NAMED, "https://evil.example", False, id="a page that was not named"),
    pytest.param(NAMED, "http://app.example", False, id="the named page without TLS"),
    pytest.param(NAMED, "https://app.example.evil.example", False, id="a page that begins like it"),
    pytest.param(NAMED, "null", False, id="a page from nowhere"),
    pytest.param(NAMED, "http://127.0.0.1:3000", True, id="our own page"),
    pytest.param(NAMED, None, True, id="no page at all"),
    pytest.param(ALL, "https://evil.example", True, id="any page where all are let in"),
    pytest.param(NONE, "https://evil.example", False, id="any page without CORS"),
]


async def _put(client: Client, marker: Path, headers: dict[str, str]) -> Visit:
    body = {"name": "put", "parameters": {"text": "was here", "marker": str(marker)}}
    return await client.request(
        "POST", "/v1/tools/call", headers={"content-type": "application/json", **headers}, body=body
    )


@pytest.mark.parametrize("auth", ["off", "keys"])
@pytest.mark.parametrize(("cors", "origin", "allowed"), ORIGINS)
async def test_a_page_calls_tools_over_rest_only_where_it_is_let_in(
    tmp_path: Path, auth: str, cors: dict[str, Any], origin: str | None, allowed: bool
) -> None:
    headers = {"x-api-key": key_in(tmp_path, "ann", "admin")} if auth == "keys" else {}
    headers |= {"origin": origin} if origin else {}
    async with opened(HttpApp(shed_in(tmp_path, auth=auth, **cors))) as client:
        called = await _put(client, tmp_path / "marker", headers)
        listed = await client.request("GET", "/v1/tools", headers=headers)
        switched = await client.request(
            "PATCH", "/v1/tools/look", headers={"content-type": "application/json", **headers}, body={"enabled": True}
        )

    answers = (called, listed, switched)
    assert [visit.status for visit in answers] == [200 if allowed else 403] * 3
    assert (tmp_path / "marker").exists() is allowed
    if not allowed:
        assert [visit.json["error"] for visit in answers] == ["This origin is not allowed."] * 3
        assert not any("access-control-allow-origin" in visit.headers for visit in answers)


@pytest.mark.parametrize("origin", ["https://evil.example", "null"])
async def test_all_pages_are_let_into_rest_and_not_into_mcp(keyring: Keyring, origin: str) -> None:
    async with opened(HttpApp(guarded_box(keyring.folder, CORS_ENABLED="true"))) as client:
        headers = {**messages.modern_headers("tools/list"), "origin": origin, **keyring.header("admin")}
        visit = await client.request("POST", "/mcp", headers=headers, body=messages.request("tools/list"))

    assert (visit.status, visit.json["error"]) == (403, "This origin is not allowed.")


OPEN = {"CORS_ENABLED": "true", "CORS_ORIGIN": "*"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("settings", "words"),
    [
        pytest.param(OPEN, (), id="all pages"),
        pytest.param({"CORS_ENABLED": "true"}, (), id="all pages, by default"),
        pytest.param({**OPEN, "CORS_ORIGIN": "https://app.example,*"}, (), id="all pages among others"),
        pytest.param(OPEN, ("--workers", "2"), id="all pages, with workers"),
    ],
)
def test_without_authentication_not_every_page_is_let_in(
    tmp_path: Path, settings: dict[str, str], words: tuple[str, ...]
) -> None:
    ended = run("serve", "--port", "0", *words, folder=tmp_path, settings=settings)

    assert ended.returncode == 2 and "Traceback" not in ended.stderr
    said = ended.stderr.splitlines()[-1]
    assert "CORS_ORIGIN is *" in said and "authentication is off" in said and "--allow-unauthenticated" in said


@pytest.mark.slow
@pytest.mark.parametrize(
    ("settings", "words"),
    [
        pytest.param(OPEN, ("--allow-unauthenticated",), id="said out loud"),
        pytest.param({**OPEN, "CORS_ORIGIN": "https://app.example"}, (), id="named pages"),
        pytest.param({**OPEN, "DOGUBAKO_AUTH": "keys"}, (), id="with keys"),
    ],
)
def test_what_is_meant_starts(tmp_path: Path, settings: dict[str, str], words: tuple[str, ...]) -> None:
    own = {"DOGUBAKO_DATA_DIR": str(tmp_path / "data"), **settings}
    with serving(SHED, folder=tmp_path, words=words, settings=own) as server:
        assert server.url().startswith("http://127.0.0.1:")
