"""Addresses that only this network, or nobody, can reach: written into the URL, behind a name, behind a redirect."""

import pytest

from dogubako.contract.errors import UrlNotAllowed
from dogubako.outbound.public_addresses import destination, require_public

from .conftest import Visiting
from .names import Resolver
from .places import answer, by_path, serving

NOT_PUBLIC = [
    pytest.param("127.0.0.1", id="loopback"),
    pytest.param("127.255.255.254", id="the other end of loopback"),
    pytest.param("0.0.0.0", id="unspecified"),
    pytest.param("0.1.2.3", id="this network"),
    pytest.param("10.0.0.1", id="private, ten"),
    pytest.param("172.16.0.1", id="private, the first of 172"),
    pytest.param("172.31.255.255", id="private, the last of 172"),
    pytest.param("192.168.1.1", id="private, a router"),
    pytest.param("169.254.0.1", id="link-local"),
    pytest.param("169.254.169.254", id="cloud metadata"),
    pytest.param("169.254.170.2", id="container credentials"),
    pytest.param("100.64.0.1", id="carrier-grade NAT"),
    pytest.param("100.100.100.200", id="metadata behind carrier-grade NAT"),
    pytest.param("168.63.129.16", id="the host of a virtual machine"),
    pytest.param("192.0.0.192", id="metadata among protocol assignments"),
    pytest.param("192.0.0.8", id="protocol assignments"),
    pytest.param("192.0.2.1", id="documentation, one"),
    pytest.param("198.51.100.7", id="documentation, two"),
    pytest.param("203.0.113.9", id="documentation, three"),
    pytest.param("198.18.0.1", id="benchmark"),
    pytest.param("198.19.255.255", id="the last of benchmark"),
    pytest.param("192.88.99.1", id="old relay"),
    pytest.param("224.0.0.1", id="multicast"),
    pytest.param("239.255.255.250", id="multicast, discovery of devices"),
    pytest.param("240.0.0.1", id="reserved"),
    pytest.param("255.255.255.255", id="broadcast"),
    pytest.param("::", id="unspecified v6"),
    pytest.param("::1", id="loopback v6"),
    pytest.param("fe80::1", id="link-local v6"),
    pytest.param("fec0::1", id="site-local"),
    pytest.param("fc00::1", id="unique local"),
    pytest.param("fd00:ec2::254", id="cloud metadata v6"),
    pytest.param("fd20:ce::254", id="another cloud's metadata v6"),
    pytest.param("ff02::1", id="multicast v6"),
    pytest.param("ff0e::1", id="multicast v6, everywhere"),
    pytest.param("100::1", id="discarded"),
    pytest.param("2001:db8::1", id="documentation v6"),
    pytest.param("3fff::1", id="newer documentation v6"),
    pytest.param("2001:2::1", id="benchmark v6"),
    pytest.param("2001:10::1", id="identifiers"),
    pytest.param("5f00::1", id="segment routing"),
    pytest.param("4000::1", id="not given to anybody"),
    pytest.param("::ffff:127.0.0.1", id="mapped loopback"),
    pytest.param("::ffff:169.254.169.254", id="mapped metadata"),
    pytest.param("::ffff:10.0.0.1", id="mapped private"),
    pytest.param("::127.0.0.1", id="compatible loopback"),
    pytest.param("::10.0.0.1", id="compatible private"),
    pytest.param("::8.8.8.8", id="compatible at all"),
    pytest.param("::ffff:0:127.0.0.1", id="translated loopback"),
    pytest.param("2002:7f00:1::", id="6to4 around loopback"),
    pytest.param("2002:a00:1::1", id="6to4 around private"),
    pytest.param("2002:808:808::1", id="6to4 at all"),
    pytest.param("2001:0:7f00:1::", id="Teredo with a private server"),
    pytest.param("2001:0:808:808:0:0:80ff:fffe", id="Teredo around loopback"),
    pytest.param("64:ff9b::127.0.0.1", id="NAT64 around loopback"),
    pytest.param("64:ff9b::a9fe:a9fe", id="NAT64 around metadata"),
    pytest.param("64:ff9b:1::808:808", id="NAT64 of this network"),
]


@pytest.mark.parametrize("address", NOT_PUBLIC)
async def test_an_address_written_into_the_url_is_refused(visiting: Visiting, address: str) -> None:
    host = f"[{address}]" if ":" in address else address
    async with visiting() as visitor:
        for scheme in ("http", "https"):
            with pytest.raises(UrlNotAllowed, match="its host is not on the public web"):
                await visitor.visit(f"{scheme}://{host}:8080/")


@pytest.mark.parametrize("address", NOT_PUBLIC)
async def test_a_name_that_leads_to_the_address_is_refused(
    visiting: Visiting, resolver: Resolver, address: str
) -> None:
    resolver.names.answer("alone.example.com", [address])
    resolver.names.answer("among.example.com", ["93.184.215.14", address, "2606:2800:21f:cb07::1"])
    async with visiting() as visitor:
        for name in ("alone", "among"):
            with pytest.raises(UrlNotAllowed, match="its host is not on the public web"):
                await visitor.visit(f"https://{name}.example.com/")


@pytest.mark.usefixtures("a_public_web")
async def test_a_redirect_to_any_of_the_addresses_is_refused(visiting: Visiting, resolver: Resolver) -> None:
    addresses = [str(param.values[0]) for param in NOT_PUBLIC]
    urls = [f"http://[{address}]/" if ":" in address else f"http://{address}/" for address in addresses]
    answers = {f"/{number}": answer(status=302, location=url) for number, url in enumerate(urls)}
    resolver.names.answer("public.example.com", ["127.0.0.2"])
    async with serving(by_path(answers)) as place, visiting() as visitor:
        for number in range(len(urls)):
            with pytest.raises(UrlNotAllowed):
                await visitor.visit(f"http://public.example.com:{place.port}/{number}")

    assert place.paths == list(answers)


@pytest.mark.parametrize(
    "address",
    [
        pytest.param("93.184.215.14", id="v4"),
        pytest.param("1.1.1.1", id="a short one"),
        pytest.param("172.32.0.1", id="just after private"),
        pytest.param("100.128.0.1", id="just after carrier-grade NAT"),
        pytest.param("192.0.1.1", id="just after protocol assignments"),
        pytest.param("223.255.255.255", id="just before multicast"),
        pytest.param("2606:4700::1111", id="v6"),
        pytest.param("2001:4860:4860::8888", id="v6 near the tunnels"),
        pytest.param("::ffff:93.184.215.14", id="mapped"),
        pytest.param("64:ff9b::93.184.215.14", id="NAT64"),
    ],
)
def test_an_address_of_the_public_web_is_let_through(address: str) -> None:
    assert require_public([address]) == address


def test_an_address_with_a_zone_is_refused_wherever_it_comes_from() -> None:
    for address in ("fe80::1%eth0", "2606:4700::1111%eth0"):
        with pytest.raises(UrlNotAllowed):
            require_public([address])
    for url in ("http://[fe80::1%25eth0]/", "http://[2606:4700::1111%eth0]/"):
        with pytest.raises(UrlNotAllowed):
            destination(url)


def test_what_is_no_address_at_all_is_refused() -> None:
    for text in ("", "example.com", "127.1", "1.2.3.4.5", "::g"):
        with pytest.raises(UrlNotAllowed):
            require_public([text])
