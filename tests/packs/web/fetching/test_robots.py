"""What a site asks of robots: honoured on every address of the way, and never made up."""

import pytest

from dogubako.contract.errors import HttpError, Timeout, UrlNotAllowed
from dogubako.packs.web.pages import fetch as fetch_module
from dogubako.packs.web.pages.fetch import Visitor
from dogubako.packs.web.pages.robots import Robots
from tests.packs.web.in_process import PARSER

from .conftest import Visiting
from .names import Resolver
from .places import Guest, always, answer, by_path, serving

pytestmark = pytest.mark.usefixtures("a_public_web")

AGENT = "dogubako (tool server for AI agents)"
PAGE = answer(b"page")
FORBIDDEN = "the site's robots.txt does not allow it"


def robots_of(visitor: Visitor) -> Robots:
    return Robots(visitor, AGENT, PARSER)


def plain(text: str) -> bytes:
    return answer(text.encode(), content_type="text/plain")


@pytest.fixture(autouse=True)
def public_names(resolver: Resolver) -> None:
    resolver.names.answer("one.example.com", ["127.0.0.2"])
    resolver.names.answer("two.example.com", ["127.0.0.3"])
    resolver.names.answer("private.example.com", ["127.0.0.1"])


@pytest.mark.parametrize(
    "robots",
    [
        pytest.param(plain(""), id="empty"),
        pytest.param(plain("User-agent: *\nDisallow:"), id="nothing is forbidden"),
        pytest.param(plain("User-agent: *\nDisallow: /other"), id="something else is forbidden"),
        pytest.param(plain("User-agent: *\nDisallow: /\nUser-agent: dogubako\nAllow: /"), id="we are welcome"),
        pytest.param(plain("User-agent: agents\nDisallow: /"), id="a word of our introduction is not our name"),
        pytest.param(answer(b"<html>no such file</html>", 404), id="404"),
        pytest.param(answer(b"", 403), id="403"),
        pytest.param(answer(b"\xff\xfe\x00Disallow: /"), id="not text"),
    ],
)
async def test_a_page_that_nobody_forbids_is_fetched(visiting: Visiting, robots: bytes) -> None:
    async with serving(by_path({"/robots.txt": robots, "/page": PAGE})) as place, visiting() as visitor:
        page = await visitor.visit(f"http://one.example.com:{place.port}/page", permit=robots_of(visitor).require)

    assert (page.body, place.paths) == (b"page", ["/robots.txt", "/page"])


@pytest.mark.parametrize(
    "robots",
    [
        pytest.param("User-agent: *\nDisallow: /", id="everybody"),
        pytest.param("user-AGENT: Dogubako\ndisALLOW: /page", id="us, in other letters"),
        pytest.param("\ufeffUser-agent: a\nUser-agent: *\nDisallow: /p # why", id="two names and a comment"),
        pytest.param("User-agent: *\r\nDisallow: /*ge$\r\n", id="a pattern"),
        pytest.param("User-agent: *\nDisallow: /%70age", id="encoded"),
        pytest.param("User-agent: *\nDisallow: /page\n" + "# filling\n" * 100_000, id="huge"),
    ],
)
async def test_a_forbidden_page_is_not_asked_for(visiting: Visiting, robots: str) -> None:
    async with serving(by_path({"/robots.txt": plain(robots), "/page": PAGE})) as place, visiting() as visitor:
        with pytest.raises(UrlNotAllowed, match=FORBIDDEN) as refused:
            await visitor.visit(f"http://one.example.com:{place.port}/page", permit=robots_of(visitor).require)

    assert place.paths == ["/robots.txt"]
    assert "WEB_ROBOTS" in (refused.value.hint or "")


async def test_a_site_is_asked_once(visiting: Visiting) -> None:
    async with serving(by_path({"/robots.txt": plain("User-agent: *\nDisallow: /no")})) as place, visiting() as visitor:
        robots = robots_of(visitor)
        await robots.require(f"http://one.example.com:{place.port}/a")
        await robots.require(f"http://ONE.example.com:{place.port}/b")
        with pytest.raises(UrlNotAllowed):
            await robots.require(f"http://one.example.com:{place.port}/no")

    assert place.paths == ["/robots.txt"]


async def test_a_redirect_to_a_forbidden_page_is_not_followed(visiting: Visiting) -> None:
    two = by_path({"/robots.txt": plain("User-agent: *\nDisallow: /"), "/page": PAGE})
    answers: dict[str, bytes] = {}
    async with (
        serving(by_path(answers)) as first,
        serving(two, host="127.0.0.3", port=first.port) as second,
        visiting() as visitor,
    ):
        answers["/page"] = answer(status=302, location=f"http://two.example.com:{first.port}/page")
        with pytest.raises(UrlNotAllowed, match=FORBIDDEN):
            await visitor.visit(f"http://one.example.com:{first.port}/page", permit=robots_of(visitor).require)

    assert second.paths == ["/robots.txt"]


async def test_rules_that_moved_are_read_where_they_are(visiting: Visiting) -> None:
    answers = {
        "/robots.txt": answer(status=301, location="/rules"),
        "/rules": plain("User-agent: *\nDisallow: /page"),
    }
    async with serving(by_path(answers)) as place, visiting() as visitor:
        with pytest.raises(UrlNotAllowed, match=FORBIDDEN):
            await robots_of(visitor).require(f"http://one.example.com:{place.port}/page")


async def test_rules_that_moved_to_a_private_address_are_not_fetched(visiting: Visiting) -> None:
    answers: dict[str, bytes] = {}
    async with (
        serving(by_path(answers)) as public,
        serving(always(plain("")), host="127.0.0.1", port=public.port) as private,
        visiting() as visitor,
    ):
        answers["/robots.txt"] = answer(status=302, location=f"http://private.example.com:{public.port}/robots.txt")
        with pytest.raises(UrlNotAllowed, match="not on the public web"):
            await robots_of(visitor).require(f"http://one.example.com:{public.port}/page")

    assert private.connections == 0


@pytest.mark.parametrize(("status", "passing"), [(500, False), (503, True)])
async def test_a_site_that_cannot_say_is_asked_again_next_time(visiting: Visiting, status: int, passing: bool) -> None:
    answers = {"/robots.txt": answer(b"", status)}
    async with serving(by_path(answers)) as place, visiting() as visitor:
        robots = robots_of(visitor)
        with pytest.raises(HttpError, match=f"status {status} for robots.txt") as failed:
            await robots.require(f"http://one.example.com:{place.port}/page")
        answers["/robots.txt"] = plain("")
        await robots.require(f"http://one.example.com:{place.port}/page")

    assert failed.value.transient is passing


async def test_a_site_that_is_not_there_is_not_said_to_forbid_anything(
    visiting: Visiting, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def silence(guest: Guest) -> None:
        await guest.gone_within(60)

    async with serving(silence) as place, visiting() as visitor:
        robots = robots_of(visitor)
        with pytest.raises(HttpError, match="its host was not found"):
            await robots.require("http://nowhere.example.com/")
        monkeypatch.setattr(fetch_module, "VISIT_SECONDS", 0.1)
        with pytest.raises(Timeout):
            await robots.require(f"http://one.example.com:{place.port}/page")


@pytest.mark.parametrize(
    "url", ["http://[::1", "file:///etc/passwd", "http://user@one.example.com/", "", "http://\ud800/"]
)
async def test_what_is_no_url_is_refused_like_everywhere(visiting: Visiting, url: str) -> None:
    async with visiting() as visitor:
        with pytest.raises(UrlNotAllowed):
            await robots_of(visitor).require(url)
