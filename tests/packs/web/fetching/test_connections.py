"""Whom we talk to: names in Host and TLS, certificates, cookies, hosts that an operator allowed, proxies."""

import asyncio
from pathlib import Path

import pytest

from dogubako.contract.errors import HttpError, UrlNotAllowed
from tests.certificates import CertificateAuthority

from .conftest import Visiting
from .names import Resolver
from .places import Guest, always, answer, free_port, serving
from .proxies import proxying

pytestmark = pytest.mark.usefixtures("a_public_web")


@pytest.fixture(autouse=True)
def public_names(resolver: Resolver) -> None:
    for name in ("one.example.com", "two.example.com"):
        resolver.names.answer(name, ["127.0.0.2"])
    resolver.names.answer("private.example.com", ["127.0.0.1"])


async def test_the_server_is_told_the_name_and_who_we_are(visiting: Visiting) -> None:
    async with serving(always(answer())) as place, visiting(user_agent="dogubako/test") as visitor:
        page = await visitor.visit(f"http://One.example.com.:{place.port}/a%20b?c=d#e")

    assert place.paths == ["/a%20b?c=d"]
    assert place.header("host") == [f"one.example.com:{place.port}"]
    assert place.header("user-agent") == ["dogubako/test"]
    assert page.url == f"http://one.example.com:{place.port}/a%20b?c=d"


async def test_tls_is_spoken_with_the_name_and_its_certificate(
    visiting: Visiting, authority: CertificateAuthority
) -> None:
    tls = authority.tls_for("one.example.com")
    async with serving(always(answer()), tls=tls) as place, visiting(ca_bundle=authority.bundle) as visitor:
        page = await visitor.visit(f"https://one.example.com:{place.port}/")

    assert (page.status, place.greeted) == (200, ["one.example.com"])
    assert place.header("host") == [f"one.example.com:{place.port}"]


@pytest.mark.parametrize(
    ("host", "trusted"),
    [
        pytest.param("two.example.com", True, id="a certificate for another name"),
        pytest.param("127.0.0.2", True, id="a certificate for a name, not for the address"),
        pytest.param("one.example.com", False, id="an authority that nobody knows"),
    ],
)
async def test_a_wrong_certificate_ends_the_visit(
    visiting: Visiting, authority: CertificateAuthority, host: str, trusted: bool
) -> None:
    settings = {"ca_bundle": authority.bundle} if trusted else {}
    tls = authority.tls_for("one.example.com")
    async with serving(always(answer(b"secret")), tls=tls) as place, visiting(**settings) as visitor:
        with pytest.raises(HttpError, match="its certificate is not valid") as failed:
            await visitor.visit(f"https://{host}:{place.port}/")

    assert (place.heads, failed.value.transient) == ([], False)


async def test_a_connection_whose_certificate_is_for_one_name_is_not_used_for_another(
    visiting: Visiting, authority: CertificateAuthority
) -> None:
    tls = authority.tls_for("one.example.com")
    async with serving(always(answer()), tls=tls) as place, visiting(ca_bundle=authority.bundle) as visitor:
        await visitor.visit(f"https://one.example.com:{place.port}/")
        with pytest.raises(HttpError, match="its certificate is not valid"):
            await visitor.visit(f"https://two.example.com:{place.port}/")

    assert place.header("host") == [f"one.example.com:{place.port}"]


async def test_an_own_authority_is_trusted_besides_those_of_this_machine(
    visiting: Visiting, authority: CertificateAuthority, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The file that OpenSSL reads by default stands for the authorities of this machine."""
    tls = authority.tls_for("one.example.com")
    other = CertificateAuthority(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.bundle))
    async with serving(always(answer()), tls=tls) as place, visiting(ca_bundle=other.bundle) as visitor:
        assert (await visitor.visit(f"https://one.example.com:{place.port}/")).status == 200


async def test_cookies_are_neither_kept_nor_shown_to_neighbours(visiting: Visiting) -> None:
    setting = answer(set_cookie="session=secret; Path=/")
    async with serving(always(setting)) as place, visiting() as visitor:
        for name in ("one", "two", "one"):
            await visitor.visit(f"http://{name}.example.com:{place.port}/")

    assert (len(place.heads), place.header("cookie")) == (3, [])


async def test_visits_at_the_same_time_keep_their_names_apart(
    visiting: Visiting, authority: CertificateAuthority
) -> None:
    async def echo(guest: Guest) -> None:
        await guest.say(answer(next(line for line in guest.head.split("\r\n") if line.startswith("Host")).encode()))

    tls = authority.tls_for("one.example.com", "two.example.com")
    async with serving(echo, tls=tls) as place, visiting(ca_bundle=authority.bundle) as visitor:
        names = [f"{name}.example.com:{place.port}" for name in ("one", "two") * 5]
        pages = await asyncio.gather(*(visitor.visit(f"https://{name}/") for name in names))

    assert [page.body.decode() for page in pages] == [f"Host: {name}" for name in names]
    assert sorted(place.greeted) == sorted(name.partition(":")[0] for name in names)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_a_host_that_an_operator_allowed_is_read_although_it_is_private(visiting: Visiting, host: str) -> None:
    async with (
        serving(always(answer(b"intern")), host="127.0.0.1") as place,
        visiting(allowed_hosts="wiki.intern, 127.0.0.1, LocalHost") as visitor,
    ):
        page = await visitor.visit(f"http://{host}:{place.port}/")

    assert (page.body, place.header("host")) == (b"intern", [f"{host}:{place.port}"])


@pytest.mark.parametrize(
    "url",
    [
        pytest.param("http://private.example.com:{port}/", id="another name of the same machine"),
        pytest.param("http://localhost.example.com:{port}/", id="a name that begins like it"),
        pytest.param("http://localhost@127.0.0.1:{port}/", id="as user"),
        pytest.param("http://127.0.0.1:{port}/?localhost", id="in the query"),
        pytest.param("http://[::ffff:127.0.0.1]:{port}/", id="a mapped address"),
    ],
)
async def test_allowing_one_host_allows_no_other(visiting: Visiting, resolver: Resolver, url: str) -> None:
    resolver.names.answer("localhost.example.com", ["127.0.0.1"])
    async with (
        serving(always(answer(b"secret")), host="127.0.0.1") as place,
        visiting(allowed_hosts="localhost") as visitor,
    ):
        with pytest.raises(UrlNotAllowed):
            await visitor.visit(url.format(port=place.port))

    assert place.connections == 0


async def test_a_proxy_is_sent_to_the_checked_address_and_tls_stays_with_the_name(
    visiting: Visiting, authority: CertificateAuthority
) -> None:
    tls = authority.tls_for("one.example.com")
    async with (
        serving(always(answer(b"through")), tls=tls) as place,
        proxying() as proxy,
        visiting(proxy=f"http://127.0.0.1:{proxy.port}", ca_bundle=authority.bundle) as visitor,
    ):
        page = await visitor.visit(f"https://one.example.com:{place.port}/")

    assert (page.body, place.greeted) == (b"through", ["one.example.com"])
    assert proxy.lines == [f"CONNECT 127.0.0.2:{place.port} HTTP/1.1"]


async def test_a_proxy_for_plain_pages_is_sent_to_the_checked_address_too(visiting: Visiting) -> None:
    async with (
        serving(always(answer(b"through"))) as place,
        proxying() as proxy,
        visiting(proxy=f"http://127.0.0.1:{proxy.port}") as visitor,
    ):
        page = await visitor.visit(f"http://one.example.com:{place.port}/a")

    assert page.body == b"through"
    assert proxy.lines == [f"GET http://127.0.0.2:{place.port}/a HTTP/1.1"]
    assert place.header("host") == [f"one.example.com:{place.port}"]


async def test_a_proxy_is_told_an_address_that_it_understands(visiting: Visiting, resolver: Resolver) -> None:
    resolver.names.answer("both.example.com", ["2606:4700::1111", "127.0.0.2"])
    async with (
        serving(always(answer())) as place,
        proxying() as proxy,
        visiting(proxy=f"http://127.0.0.1:{proxy.port}") as visitor,
    ):
        await visitor.visit(f"http://both.example.com:{place.port}/")

    assert proxy.lines == [f"GET http://127.0.0.2:{place.port}/ HTTP/1.1"]


async def test_a_proxy_is_never_asked_for_a_private_address(visiting: Visiting) -> None:
    onward = answer(status=302, location="http://private.example.com/")
    async with (
        serving(always(onward)) as place,
        proxying() as proxy,
        visiting(proxy=f"http://127.0.0.1:{proxy.port}") as visitor,
    ):
        for url in ("http://private.example.com/", f"http://one.example.com:{place.port}/"):
            with pytest.raises(UrlNotAllowed):
                await visitor.visit(url)

    assert proxy.lines == [f"GET http://127.0.0.2:{place.port}/ HTTP/1.1"]


async def test_a_server_that_nobody_answers_for_is_worth_a_second_try(visiting: Visiting) -> None:
    with free_port() as port:
        async with visiting() as visitor:
            with pytest.raises(HttpError) as failed:
                await visitor.visit(f"http://one.example.com:{port}/")

    assert failed.value.transient
