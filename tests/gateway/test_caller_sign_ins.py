"""Sign-ins of callers: each with an account of its own, in a browser that proves whose it is, asked for by a URL."""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from html import unescape
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import httpx2

# Loaded here: it sets variables for a moment, and the search index would load it beside the next test.
import numpy  # noqa: F401
import pytest

from dogubako.app import Toolbox
from dogubako.contract.call import Caller, ToolCall, ToolResult
from dogubako.contract.conversation import URL_ELICITATION, ElicitResult, InputAnswer, InputRequests, UrlRequest
from dogubako.gate.api_keys import KeyStore
from dogubako.gate.credential_vault import CredentialVault
from dogubako.gateway import upstream_calls
from dogubako.gateway.definitions import Definitions, DefinitionStore
from dogubako.gateway.servers import Servers, ServerSources
from dogubako.gateway.sign_in_flows import PAGE, RETURN_PAGE, SignInFlows
from dogubako.gateway.sign_in_stores import FileSignIns
from dogubako.gateway.sign_ins import SignIns
from dogubako.gateway.upstream import Upstream
from dogubako.settings import Sources
from dogubako.transports.console.routes import ROUTES
from tests.console.browser import Browser, browsing, text_of
from tests.doors.connections import listening

from .boxes import offering, tool
from .fake_oauth import FakeOAuth
from .test_sign_in import browse
from .upstreams import FakeClient

pytestmark = pytest.mark.anyio

BASE: Final = "http://127.0.0.1:3000"
URL_ONLY: Final = frozenset({URL_ELICITATION})


def sign_ins(folder: Path) -> SignIns:
    return SignIns(FileSignIns(DefinitionStore(folder), lambda: CredentialVault(lambda: b"k" * 32)))


@dataclass
class World:
    """A toolbox before a server that wants OAuth."""

    app: FakeOAuth
    box: Toolbox
    folder: Path
    browser: Browser
    keys: dict[str, str]

    def caller(self, name: str) -> Caller:
        key = KeyStore(self.folder).find(self.keys[name])
        assert key is not None
        return Caller(name=name, id=key.id, scopes=frozenset(key.scopes))

    async def call(self, name: str, conversation: Any = None, **more: Any) -> ToolResult:
        call = ToolCall(name="echo", parameters={"text": name}, caller=self.caller(name), door="rest", **more)
        if conversation is not None:
            call = ToolCall(
                name="echo", parameters={"text": name}, caller=call.caller, door="http", conversation=conversation
            )
        return await self.box.pipeline.handle(call)

    async def sign_in(self, name: str, finish_as: str | None = None) -> str:
        """Sign in as this caller in a browser, and come back as this one or another. What the last page says."""
        await self.browser.sign_in(self.keys[name])
        await self.browser.get(f"{PAGE}/fake")
        begun = await self.browser.post(f"{PAGE}/fake")
        link = re.search(r'href="(http://127[^"]+/authorization[^"]+)"', begun.body.decode())
        assert link, text_of(begun)
        async with httpx2.AsyncClient(trust_env=False) as client:
            consent = await client.get(unescape(link[1]))
        back = urlsplit(consent.headers["location"])
        assert f"{back.scheme}://{back.netloc}{back.path}" == f"{BASE}{RETURN_PAGE}"
        if finish_as is not None:
            await self.browser.sign_in(self.keys[finish_as])
        cookies = dict(self.browser.cookies)
        # A browser that comes from another site sends no strict cookie; our page sends it on, with the cookie.
        self.browser.cookies.clear()
        bridge = await self.browser.get(f"{back.path}?{back.query}")
        assert not self.browser.cookies
        self.browser.cookies = cookies
        onwards = re.search(r'content="0;url=([^"]+)"', bridge.body.decode())
        assert onwards
        last = await self.browser.get(unescape(onwards[1]))
        return text_of(await self.browser.get(last.headers["location"]) if last.status == 303 else last)

    def tokens_of_calls(self) -> list[str]:
        pairs = zip(self.app.server.methods, self.app.server.headers, strict=True)
        return [headers.get("authorization", "") for method, headers in pairs if method == "tools/call"]


@asynccontextmanager
async def world(folder: Path, **table: Any) -> AsyncIterator[World]:
    app = FakeOAuth(keeps_tokens=True)
    async with listening(app) as place:
        settings = Sources.only({"data_dir": folder, "auth": "keys"}).load()
        kept = sign_ins(folder)
        sources = ServerSources(
            tables={"fake": {"url": f"http://127.0.0.1:{place.port}/mcp", "pinning": "off", **table}},
            environ={},
            data_dir=folder,
            config_file=folder / "dogubako.toml",
            connect=partial(Upstream, sign_ins=kept),
            sign_ins=kept,
            flows=SignInFlows(kept, settings.browser_address),
        )
        # As the operator saw them when the server was added.
        DefinitionStore(folder).save("fake", known())
        box = Toolbox(settings, [], servers=Servers(sources))
        scopes = {"ann": "write", "ben": "write", "eve": "write", "root": "admin"}
        keys = {name: KeyStore(folder).create(name, [scope])[0] for name, scope in scopes.items()}
        async with browsing(box) as browser:
            yield World(app, box, folder, browser, keys)


def known() -> Definitions:
    return offering(*(tool(name) for name in ("echo", "wait", "cut", "silent")))


async def test_every_caller_signs_in_for_itself(tmp_path: Path) -> None:
    async with world(tmp_path, credentials="own") as here:
        pages = [await here.sign_in(name) for name in ("ann", "ben")]
        answers = [await here.call(name) for name in ("ann", "ben", "ann")]
        refused = await here.call("eve")
        tokens = here.tokens_of_calls()

    assert all("You are signed in." in page for page in pages)
    assert [one.content[0]["text"] for one in answers] == ["ann", "ben", "ann"]
    assert tokens == ["Bearer access-1", "Bearer access-2", "Bearer access-1"]
    assert refused.error is not None
    assert refused.error.code == "CREDENTIAL_REQUIRED"
    assert f"{BASE}{PAGE}/fake" in (refused.error.hint or "")


async def test_a_stored_sign_in_opens_only_for_its_caller_and_server(tmp_path: Path) -> None:
    kept = sign_ins(tmp_path)
    await kept.of("ann").write("fake", {"tokens": {"access_token": "of-ann"}})
    [path] = (tmp_path / "servers").iterdir()
    await kept.of("ben").write("fake", {})
    [other] = set((tmp_path / "servers").iterdir()) - {path}
    other.write_bytes(path.read_bytes())

    assert b"of-ann" not in path.read_bytes()
    assert kept.of("ann").read("fake") == {"tokens": {"access_token": "of-ann"}}
    assert kept.of("ben").read("fake") == {}
    assert kept.read("fake") == {}


async def test_a_browser_of_somebody_else_cannot_complete_a_sign_in(tmp_path: Path) -> None:
    async with world(tmp_path, credentials="own") as here:
        said = await here.sign_in("ann", finish_as="ben")
        answers = [await here.call(name) for name in ("ann", "ben")]

    assert "unknown or has expired" in said
    assert [one.error.code for one in answers if one.error] == ["CREDENTIAL_REQUIRED"] * 2


async def test_with_own_or_shared_only_those_who_signed_in_are_themselves(tmp_path: Path) -> None:
    async with world(tmp_path, credentials="own-or-shared") as here:
        shared = here.box.servers.sources.sign_ins
        assert shared is not None
        assert await shared.sign_in("fake", here.box.servers.packs["fake"].server, browse)
        await here.sign_in("ann")
        answers = [await here.call(name) for name in ("ann", "ben")]
        tokens = here.tokens_of_calls()

    assert [one.is_error for one in answers] == [False, False]
    assert tokens == ["Bearer access-2", "Bearer access-1"]


async def test_who_signs_out_is_refused_again(tmp_path: Path) -> None:
    async with world(tmp_path, credentials="own") as here:
        await here.sign_in("ann")
        await here.browser.post(f"{PAGE}/fake", {"out": "1"})
        refused = await here.call("ann")

    assert refused.error is not None
    assert refused.error.code == "CREDENTIAL_REQUIRED"


@pytest.mark.parametrize(("name", "status"), [("ann", 403), ("root", 200)])
async def test_the_sign_in_of_all_callers_belongs_to_administrators(tmp_path: Path, name: str, status: int) -> None:
    async with world(tmp_path) as here:
        await here.browser.sign_in(here.keys[name])

        assert (await here.browser.get(f"{PAGE}/fake")).status == status


async def test_pages_of_servers_without_sign_ins_do_not_exist(tmp_path: Path) -> None:
    async with world(tmp_path, headers={"Authorization": "Bearer x"}) as here:
        await here.browser.sign_in(here.keys["root"])

        assert (await here.browser.get(f"{PAGE}/fake")).status == 404
        assert (await here.browser.get(f"{PAGE}/other")).status == 404


@dataclass
class Opening(FakeClient):
    """A client whose user opens every page that it is asked to open, and does something there."""

    capabilities: frozenset[str] = URL_ONLY
    visit: Callable[[str], Awaitable[Any]] | None = None
    action: Any = "accept"

    async def request(self, requests: InputRequests) -> dict[str, InputAnswer]:
        await super().request(requests)
        [(key, request)] = requests.items()
        assert isinstance(request, UrlRequest)
        if self.visit is not None and self.action == "accept":
            await self.visit(request.url)
        return {key: ElicitResult(action=self.action, content={})}


async def test_a_client_that_opens_pages_is_asked_during_the_call(tmp_path: Path) -> None:
    async with world(tmp_path, credentials="own") as here:

        async def visit(url: str) -> None:
            assert url == f"{BASE}{PAGE}/fake"
            await here.sign_in("ann")

        answer = await here.call("ann", Opening(visit=visit))

    assert answer.content[0]["text"] == "ann"


async def test_a_client_that_calls_again_goes_on_after_the_sign_in(tmp_path: Path) -> None:
    async with world(tmp_path, credentials="own") as here:
        first = await here.call("ann", FakeClient(modern=True, capabilities=URL_ONLY))
        assert first.pending is not None
        [(key, asked)] = first.pending.items()
        assert isinstance(asked, UrlRequest)
        await here.sign_in("ann")
        answers: dict[str, InputAnswer] = {key: ElicitResult(action="accept", content={})}
        again = FakeClient(modern=True, capabilities=URL_ONLY, answers=answers, questions=first.pending)
        second = await here.call("ann", again)

    assert asked.url == f"{BASE}{PAGE}/fake"
    assert second.content[0]["text"] == "ann"


@pytest.mark.parametrize("modern", [False, True])
async def test_who_declines_is_told_that_nobody_signed_in(tmp_path: Path, modern: bool) -> None:
    async with world(tmp_path, credentials="own") as here:
        client: FakeClient = Opening(action="decline")
        if modern:
            asked = await here.call("ann", FakeClient(modern=True, capabilities=URL_ONLY))
            assert asked.pending is not None
            answers: dict[str, InputAnswer] = {key: ElicitResult(action="decline", content={}) for key in asked.pending}
            client = FakeClient(modern=True, capabilities=URL_ONLY, answers=answers, questions=asked.pending)
        answer = await here.call("ann", client)

    assert answer.error is not None
    assert (answer.error.code, "did not want to sign in" in answer.error.message) == ("CREDENTIAL_REQUIRED", True)


async def test_a_sign_in_that_takes_long_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upstream_calls, "WAIT_SECONDS", 0.0)
    async with world(tmp_path, credentials="own") as here:
        answer = await here.call("ann", Opening())

    assert answer.error is not None
    assert "Call again when the user has finished" in (answer.error.hint or "")


async def test_the_user_of_this_machine_signs_in_for_all_over_stdio(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        local = Opening(visit=browse)
        answer = await here.box.pipeline.handle(
            ToolCall(name="echo", parameters={"text": "a"}, door="stdio", conversation=local)
        )
        later = await here.call("ann")

    assert [one.content[0]["text"] for one in (answer, later)] == ["a", "ann"]
    assert here.tokens_of_calls() == ["Bearer access-1"] * 2


async def test_a_client_over_stdio_that_calls_again_is_asked_the_same(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        call = ToolCall(
            name="echo", door="stdio", conversation=FakeClient(modern=True, capabilities=URL_ONLY), parameters={}
        )
        first, second = [await here.box.pipeline.handle(call) for _ in range(2)]

    assert first.pending is not None
    assert first.pending == second.pending


async def test_callers_over_http_are_not_asked_to_sign_in_for_all(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        answer = await here.call("ann", Opening())

    assert answer.error is not None
    assert "dogubako servers login fake" in (answer.error.hint or "")


async def test_the_pages_are_where_the_gateway_says() -> None:
    paths = {route.path for route in ROUTES}

    assert {PAGE.removeprefix("/console") + "/{name}", RETURN_PAGE.removeprefix("/console") + "/finish"} <= paths


async def test_an_abandoned_sign_in_leaves_the_old_one(tmp_path: Path) -> None:
    async with world(tmp_path, credentials="own") as here:
        await here.sign_in("ann")
        await here.browser.post(f"{PAGE}/fake")
        answer = await here.call("ann")

    assert answer.content[0]["text"] == "ann"
    assert [
        task for task in asyncio.all_tasks() if task.get_name().startswith("sign in") and not task.cancelling()
    ] == []
