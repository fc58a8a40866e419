"""Redirects: followed by us, each one checked like the first address, and not for ever."""

import pytest

from dogubako.contract.errors import DogubakoError, HttpError, UrlNotAllowed

from .conftest import Visiting
from .names import Resolver
from .places import always, answer, by_path, serving

pytestmark = pytest.mark.usefixtures("a_public_web")

ARRIVED = answer(b"arrived")


@pytest.fixture(autouse=True)
def public_names(resolver: Resolver) -> None:
    resolver.names.answer("public.example.com", ["127.0.0.2"])
    resolver.names.answer("other.example.com", ["127.0.0.3"])
    resolver.names.answer("private.example.com", ["127.0.0.1"])
    resolver.names.answer("mixed.example.com", ["127.0.0.2", "127.0.0.1"])


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize(
    "location",
    [
        pytest.param("/there", id="a path"),
        pytest.param("there", id="a relative path"),
        pytest.param("../there", id="a path above the root"),
        pytest.param("//public.example.com:{port}/there", id="without a scheme"),
        pytest.param("http://public.example.com:{port}/there", id="a whole URL"),
        pytest.param("http://PUBLIC.example.com.:{port}/there#part", id="an odd spelling"),
        pytest.param("http://other.example.com:{port}/there", id="another host"),
        pytest.param("http://127.0.0.2:{port}/there", id="an address"),
    ],
)
async def test_a_redirect_on_the_public_web_is_followed(visiting: Visiting, status: int, location: str) -> None:
    answers = {"/there": ARRIVED}
    async with (
        serving(by_path(answers)) as place,
        serving(by_path(answers), host="127.0.0.3", port=place.port) as other,
        visiting() as visitor,
    ):
        answers["/"] = answer(status=status, location=location.format(port=place.port))
        page = await visitor.visit(f"http://public.example.com:{place.port}/")

    assert page.body == b"arrived"
    assert page.url.endswith(f":{place.port}/there")
    assert len(place.heads) + len(other.heads) == 2


async def test_a_redirect_to_another_port_is_followed_there(visiting: Visiting) -> None:
    async with serving(always(ARRIVED)) as behind, visiting() as visitor:
        location = f"http://public.example.com:{behind.port}/"
        async with serving(always(answer(status=302, location=location))) as place:
            page = await visitor.visit(f"http://public.example.com:{place.port}/")

    assert (page.url, page.body) == (location, b"arrived")
    assert behind.header("host") == [f"public.example.com:{behind.port}"]


@pytest.mark.parametrize(
    "location",
    [
        pytest.param("http://127.0.0.1:{port}/", id="loopback"),
        pytest.param("//127.0.0.1:{port}/", id="loopback without a scheme"),
        pytest.param("http://private.example.com:{port}/", id="a private name"),
        pytest.param("http://mixed.example.com:{port}/", id="a name with two faces"),
        pytest.param("http://[::ffff:127.0.0.1]:{port}/", id="a mapped address"),
        pytest.param("http://[::1]:{port}/", id="v6 loopback"),
        pytest.param("http://2130706433:{port}/", id="decimal"),
        pytest.param("http://127.1:{port}/", id="short"),
        pytest.param("http://0x7f.1:{port}/", id="hexadecimal"),
        pytest.param("http://169.254.169.254/latest/meta-data/", id="metadata"),
        pytest.param("http://user@127.0.0.1:{port}/", id="a user"),
        pytest.param("http://public.example.com@127.0.0.1:{port}/", id="a host as user"),
        pytest.param("http:\\\\127.0.0.1:{port}\\", id="backslashes after a scheme"),
        pytest.param("file:///etc/passwd", id="file"),
        pytest.param("ftp://127.0.0.1:{port}/", id="ftp"),
        pytest.param("gopher://127.0.0.1:{port}/_", id="gopher"),
        pytest.param("data:text/html,hello", id="data"),
        pytest.param("javascript:alert(1)", id="javascript"),
        pytest.param("http://", id="no host"),
        pytest.param("http://127.0.0.1:99999/", id="a bad port"),
        pytest.param("http://[::1", id="half a bracket"),
    ],
)
async def test_a_redirect_off_the_public_web_reaches_nobody(visiting: Visiting, location: str) -> None:
    answers: dict[str, bytes] = {}
    async with (
        serving(by_path(answers)) as public,
        serving(always(answer(b"secret")), host="127.0.0.1", port=public.port) as private,
        visiting() as visitor,
    ):
        answers["/"] = answer(status=302, location=location.format(port=public.port))
        with pytest.raises(DogubakoError) as refused:
            await visitor.visit(f"http://public.example.com:{public.port}/")

    assert isinstance(refused.value, UrlNotAllowed | HttpError)
    assert private.connections == 0


async def test_a_private_address_after_some_public_ones_is_still_refused(visiting: Visiting) -> None:
    answers = {"/": answer(status=302, location="/2"), "/2": answer(status=301, location="/3")}
    async with (
        serving(by_path(answers)) as public,
        serving(always(answer(b"secret")), host="127.0.0.1", port=public.port) as private,
        visiting() as visitor,
    ):
        answers["/3"] = answer(status=307, location=f"http://private.example.com:{public.port}/")
        with pytest.raises(UrlNotAllowed):
            await visitor.visit(f"http://public.example.com:{public.port}/")

    assert (public.paths, private.connections) == (["/", "/2", "/3"], 0)


async def test_a_circle_has_an_end(visiting: Visiting) -> None:
    async with serving(always(answer(status=302, location="/"))) as place, visiting() as visitor:
        with pytest.raises(HttpError, match="it redirects too often"):
            await visitor.visit(f"http://public.example.com:{place.port}/")

    assert len(place.heads) == 6


@pytest.mark.parametrize(
    "headers", [pytest.param({}, id="no location"), pytest.param({"location": ""}, id="an empty location")]
)
async def test_a_redirect_to_nowhere_is_a_page(visiting: Visiting, headers: dict[str, str]) -> None:
    async with serving(always(answer(b"moved", 302, **headers))) as place, visiting() as visitor:
        page = await visitor.visit(f"http://public.example.com:{place.port}/")

    assert (page.status, page.body) == (302, b"moved")


async def test_five_redirects_are_followed_and_a_sixth_is_not(visiting: Visiting) -> None:
    answers = {f"/{number}": answer(status=302, location=f"/{number + 1}") for number in range(6)}
    async with serving(by_path({**answers, "/6": ARRIVED})) as place, visiting() as visitor:
        page = await visitor.visit(f"http://public.example.com:{place.port}/1")
        with pytest.raises(HttpError, match="it redirects too often"):
            await visitor.visit(f"http://public.example.com:{place.port}/0")

    assert page.body == b"arrived"


async def test_the_body_of_a_redirect_is_not_waited_for(visiting: Visiting) -> None:
    endless = answer(b"", status=302, location="/there", content_length="1000000000")
    async with serving(by_path({"/": endless, "/there": ARRIVED})) as place, visiting() as visitor:
        page = await visitor.visit(f"http://public.example.com:{place.port}/")

    assert page.body == b"arrived"


async def test_backslashes_stay_on_the_same_server(visiting: Visiting) -> None:
    answers: dict[str, bytes] = {}
    async with (
        serving(by_path(answers)) as public,
        serving(always(answer(b"secret")), host="127.0.0.1", port=public.port) as private,
        visiting() as visitor,
    ):
        answers["/"] = answer(status=302, location=f"\\\\127.0.0.1:{public.port}\\")
        page = await visitor.visit(f"http://public.example.com:{public.port}/")

    assert (page.status, private.connections) == (404, 0)
    assert public.paths == ["/", f"/%5C%5C127.0.0.1:{public.port}%5C"]
