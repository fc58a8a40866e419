"""What counts as a host name of ours, and as a page of ours."""

import pytest

from dogubako.contract.errors import AuthorizationError
from dogubako.transports.http.hosts import HostGuard

_HERE = b"localhost:3000"


def allows(guard: HostGuard, host: bytes, origin: bytes = b"") -> bool:
    try:
        guard.check({"headers": [(b"host", host), (b"origin", origin)]})
    except AuthorizationError:
        return False
    return True


HOSTS = [
    pytest.param(b"localhost", True, id="localhost"),
    pytest.param(b"LocalHost:3000", True, id="in capitals"),
    pytest.param(b"127.0.0.1:3000", True, id="an address"),
    pytest.param(b"203.0.113.9", True, id="an address of others, which nobody can rebind"),
    pytest.param(b"[::1]:3000", True, id="an address of six"),
    pytest.param(b"box.example:65535", True, id="one that was allowed"),
    pytest.param(b"my_box", True, id="one with an underscore that was allowed"),
    pytest.param(b"", False, id="none"),
    pytest.param(b":3000", False, id="only a port"),
    pytest.param(b"evil.example@localhost", False, id="a user before it"),
    pytest.param(b"evil.example:3000@localhost:3000", False, id="a user and a password before it"),
    pytest.param(b"localhost#.evil.example", False, id="a fragment"),
    pytest.param(b"localhost/.evil.example", False, id="a path"),
    pytest.param(b"localhost?.evil.example", False, id="a query"),
    pytest.param(b"localhost\\.evil.example", False, id="a backslash"),
    pytest.param(b"localhost:abc", False, id="a port of letters"),
    pytest.param(b"localhost:", False, id="an empty port"),
    pytest.param(b"localhost:3000:3000", False, id="two ports"),
    pytest.param(b"localhost:123456", False, id="a port with too many digits"),
    pytest.param(b"localhost, evil.example", False, id="two names"),
    pytest.param(b" localhost", False, id="a blank before it"),
    pytest.param(b"localhost\n", False, id="a line end behind it"),
    pytest.param(b"//localhost", False, id="slashes before it"),
    pytest.param("localhost:３０００".encode(), False, id="digits of another script"),
    pytest.param("ｌocalhost".encode(), False, id="a wide letter"),
    pytest.param(b"[::1", False, id="half an address"),
    pytest.param(b"::1", False, id="an address of six without brackets"),
    pytest.param(b"[127.0.0.1]", False, id="an address of four in brackets"),
    pytest.param(b"[::1%lo]", False, id="an address with a zone"),
    pytest.param(b"[localhost]", False, id="a name in brackets"),
    pytest.param(b"0x7f000001", False, id="an address in hexadecimal"),
    pytest.param(b"127.1", False, id="half of the numbers"),
]


@pytest.mark.parametrize(("host", "allowed"), HOSTS)
def test_a_host_is_a_name_of_ours_or_an_address_and_maybe_a_port(host: bytes, allowed: bool) -> None:
    guard = HostGuard("127.0.0.1", ["Box.example", "my_box"])

    assert allows(guard, host) is allowed


ORIGINS = [
    pytest.param(_HERE, b"http://localhost:3000", True, id="the page is ours"),
    pytest.param(_HERE, b"http://localhost:6274", True, id="a tool of a developer"),
    pytest.param(_HERE, b"https://[::1]:5", True, id="a tool at the address of six"),
    pytest.param(_HERE, b"http://127.0.0.2", True, id="another address of this machine"),
    pytest.param(_HERE, b"https://box.example", True, id="a name that was allowed"),
    pytest.param(_HERE, b"http://198.51.100.7:8080", True, id="an address that was allowed"),
    pytest.param(_HERE, b"http://[2001:db8::7]", True, id="an address of six that was allowed"),
    pytest.param(_HERE, b"http://[2001:db8::8]", True, id="one that was allowed in brackets"),
    pytest.param(_HERE, b"https://app.example", True, id="a page that was named"),
    pytest.param(b"192.0.2.1:3000", b"http://192.0.2.1:3000", True, id="ours under an address"),
    pytest.param(b"[2001:db8::1]:3000", b"http://[2001:db8::1]:3000", True, id="ours under an address of six"),
    pytest.param(b"192.0.2.1", b"http://192.0.2.1:80", True, id="the port that is meant without one"),
    pytest.param(b"192.0.2.1:443", b"https://192.0.2.1", True, id="the port that is meant with TLS"),
    pytest.param(_HERE, b"http://203.0.113.9", False, id="an address of others"),
    pytest.param(_HERE, b"http://[2001:db8::9]", False, id="an address of six of others"),
    pytest.param(b"192.0.2.1:3000", b"http://192.0.2.1:3001", False, id="another port of an address"),
    pytest.param(b"192.0.2.1", b"http://192.0.2.2", False, id="the address next door"),
    pytest.param(_HERE, b"https://app.example:8443", False, id="another port of a page that was named"),
    pytest.param(_HERE, b"https://evil.example", False, id="a page of others"),
    pytest.param(_HERE, b"http://localhost.evil.example", False, id="one that looks like ours"),
    pytest.param(_HERE, b"http://localhost@evil.example", False, id="a user that looks like ours"),
    pytest.param(_HERE, b"http://evil.example@localhost", False, id="a user before ours"),
    pytest.param(_HERE, b"http://evil.example#@localhost", False, id="ours in a fragment"),
    pytest.param(_HERE, b"http://localhost/", False, id="a path"),
    pytest.param(_HERE, b"http://localhost:", False, id="an empty port"),
    pytest.param(_HERE, b"http://", False, id="no name"),
    pytest.param(_HERE, b"ws://localhost:3000", False, id="another scheme"),
    pytest.param(_HERE, b"localhost:3000", False, id="no scheme"),
    pytest.param(_HERE, b"null", False, id="a page from nowhere"),
    pytest.param(_HERE, b"*", False, id="the star that stands for all"),
]


@pytest.mark.parametrize(("host", "origin", "allowed"), ORIGINS)
def test_a_page_is_ours_if_it_comes_from_here_or_was_allowed(host: bytes, origin: bytes, allowed: bool) -> None:
    names = ["box.example", "198.51.100.7", "2001:db8::7", "[2001:db8::8]"]
    guard = HostGuard("127.0.0.1", names, ["https://app.example", "*"])

    assert allows(guard, host, origin) is allowed


@pytest.mark.parametrize("bound_to", ["0.0.0.0", "::", "192.0.2.1", "box.example"])
def test_where_others_can_reach_us_a_page_of_the_callers_machine_is_a_page_of_others(bound_to: str) -> None:
    guard = HostGuard(bound_to)

    assert not allows(guard, b"192.0.2.1:3000", b"http://localhost:6274")
    assert not allows(guard, b"192.0.2.1:3000", b"http://127.0.0.1:6274")
    assert allows(guard, b"192.0.2.1:3000", b"http://192.0.2.1:3000")
    # As from a container whose port was published on the machine of the caller.
    assert allows(guard, b"localhost:3000", b"http://localhost:3000")


@pytest.mark.parametrize("bound_to", ["127.0.0.1", "127.0.0.53", "::1", "localhost"])
def test_where_only_this_machine_can_reach_us_its_pages_may_ask(bound_to: str) -> None:
    guard = HostGuard(bound_to)

    assert allows(guard, b"localhost:3000", b"http://localhost:6274")
    assert allows(guard, b"127.0.0.1:3000", b"http://[::1]:6274")


def test_long_names_are_refused_before_they_are_remembered() -> None:
    name, page = "a" * 300 + ".example", "https://" + "a" * 600 + ".example"
    guard = HostGuard("127.0.0.1", [name], [page])

    # Both would be allowed if they were shorter.
    assert not allows(guard, name.encode())
    assert not allows(guard, b"localhost", page.encode())
    assert [kept.cache_info().currsize for kept in (guard._host_allowed, guard._origin_allowed)] == [1, 0]
