"""URLs that are no pages: other schemes, odd spellings, hidden hosts, and the few that only look odd."""

import pytest

from dogubako.contract.errors import UrlNotAllowed
from dogubako.outbound.public_addresses import destination

from .conftest import Visiting
from .names import Resolver

SCHEME = "only http and https are fetched"
INVALID = "it is not a valid URL"
HOST = "it has no valid host"
ODD = "its host is an oddly written address"
USER = "it holds a user name or password"

REFUSED = [
    pytest.param("file:///etc/passwd", SCHEME, id="file"),
    pytest.param("file://localhost/etc/passwd", SCHEME, id="file with a host"),
    pytest.param("FILE:///etc/passwd", SCHEME, id="FILE"),
    pytest.param("ftp://example.com/", SCHEME, id="ftp"),
    pytest.param("gopher://example.com:6379/_INFO", SCHEME, id="gopher"),
    pytest.param("dict://example.com:11211/stats", SCHEME, id="dict"),
    pytest.param("data:text/html,<p>hello", SCHEME, id="data"),
    pytest.param("javascript:alert(1)", SCHEME, id="javascript"),
    pytest.param("ws://example.com/", SCHEME, id="websocket"),
    pytest.param("jar:http://example.com!/", SCHEME, id="jar"),
    pytest.param("view-source:http://example.com/", SCHEME, id="view-source"),
    pytest.param("//example.com/", SCHEME, id="no scheme"),
    pytest.param("example.com", SCHEME, id="a bare name"),
    pytest.param("/etc/passwd", SCHEME, id="a path"),
    pytest.param("", SCHEME, id="nothing"),
    pytest.param("http:", HOST, id="only a scheme"),
    pytest.param("http://", HOST, id="no host"),
    pytest.param("http:///path", HOST, id="an empty host"),
    pytest.param("http:example.com", HOST, id="no slashes"),
    pytest.param("http:/example.com", HOST, id="one slash"),
    pytest.param("http://:80/", HOST, id="only a port"),
    pytest.param("http://./", HOST, id="a dot"),
    pytest.param("http://?q=1", HOST, id="only a query"),
    pytest.param("http://#example.com", HOST, id="only a fragment"),
    pytest.param("http://example..com/", HOST, id="an empty label"),
    pytest.param("http://.example.com/", HOST, id="a leading dot"),
    pytest.param("http://-example.com/", HOST, id="a leading dash"),
    pytest.param(f"http://{'a' * 64}.com/", HOST, id="a long label"),
    pytest.param(f"http://{'a.' * 130}com/", HOST, id="a long name"),
    pytest.param("http://exa mple.com/", HOST, id="a space in the name"),
    pytest.param("http://exa%6dple.com/", HOST, id="percent-encoded name"),
    pytest.param("http://%31%32%37.0.0.1/", HOST, id="percent-encoded digits"),
    pytest.param("http://127.0.0.1%00.example.com/", HOST, id="percent-encoded nothing"),
    pytest.param("http://exam^ple.com/", HOST, id="a circumflex"),
    pytest.param("http://example.com\\.evil.example/", HOST, id="a backslash in the name"),
    pytest.param("http:\\\\127.0.0.1\\", HOST, id="backslashes for slashes"),
    pytest.param("http://example.com\\@127.0.0.1/", USER, id="a backslash before the at sign"),
    pytest.param("http://127.0.0.1\\@example.com/", USER, id="a backslash after the address"),
    pytest.param("http://user@example.com/", USER, id="a user"),
    pytest.param("http://user:password@example.com/", USER, id="a user and password"),
    pytest.param("http://@example.com/", USER, id="an empty user"),
    pytest.param("http://:@example.com/", USER, id="an empty user and password"),
    pytest.param("http://example.com@127.0.0.1/", USER, id="a host as user"),
    pytest.param("http://127.0.0.1:80@example.com/", USER, id="an address as user"),
    pytest.param("http://exa\tmple.com/", INVALID, id="a tab in the name"),
    pytest.param("http://exa\nmple.com/", INVALID, id="a line break in the name"),
    pytest.param("ht\ntp://example.com/", INVALID, id="a line break in the scheme"),
    pytest.param("http://example.com/\r\nHost: other", INVALID, id="a header in the path"),
    pytest.param("http://example.com/\x00", INVALID, id="a zero byte"),
    pytest.param("http://example.com/\x85a", INVALID, id="another line break"),
    pytest.param("http://example.com/\ud800", INVALID, id="half a character"),
    pytest.param("http://example.com:99999/", INVALID, id="a large port"),
    pytest.param("http://example.com:-1/", INVALID, id="a negative port"),
    pytest.param("http://example.com:0/", INVALID, id="port zero"),
    pytest.param("http://example.com:eighty/", INVALID, id="a port in letters"),
    pytest.param("http://example.com:80:80/", INVALID, id="two ports"),
    pytest.param("http://example.com:８０/", INVALID, id="a full-width port"),
    pytest.param("http://::1/", INVALID, id="v6 without brackets"),
    pytest.param("http://[::1/", INVALID, id="half a bracket"),
    pytest.param("http://[::1]example.com/", INVALID, id="a name after brackets"),
    pytest.param("http://example.com[::1]/", INVALID, id="a name before brackets"),
    pytest.param("http://[]/", INVALID, id="nothing in brackets"),
    pytest.param(f"http://example.com/{'a' * 9_000}", INVALID, id="too long"),
    pytest.param("http://2130706433/", ODD, id="decimal"),
    pytest.param("http://017700000001/", ODD, id="octal"),
    pytest.param("http://0x7f000001/", ODD, id="hexadecimal"),
    pytest.param("http://0X7F000001/", ODD, id="hexadecimal in capitals"),
    pytest.param("http://0x/", ODD, id="hexadecimal nothing"),
    pytest.param("http://0x7f.0.0.1/", ODD, id="hexadecimal first part"),
    pytest.param("http://127.0.0.0x1/", ODD, id="hexadecimal last part"),
    pytest.param("http://0177.0.0.1/", ODD, id="octal first part"),
    pytest.param("http://127.1/", ODD, id="short"),
    pytest.param("http://127.0.1/", ODD, id="less short"),
    pytest.param("http://0/", ODD, id="zero"),
    pytest.param("http://127.0.0.1./", ODD, id="a dot at the end"),
    pytest.param("http://127.0.0.001/", ODD, id="zeros in front"),
    pytest.param("http://1.2.3.4.5/", ODD, id="five parts"),
    pytest.param("http://256.256.256.256/", ODD, id="parts too large"),
    pytest.param("http://１２７.０.０.１/", ODD, id="full-width digits"),
    pytest.param("http://127。0。0。1/", ODD, id="ideographic dots"),
    pytest.param("http://①②⑦.⓪.⓪.①/", ODD, id="digits in circles"),
    pytest.param("http://𝟏𝟐𝟕.𝟎.𝟎.𝟏/", ODD, id="mathematical digits"),
    pytest.param("http://\u200b/", HOST, id="an invisible name"),
    pytest.param("http://exam\u2100ple.com/", INVALID, id="a sign that hides a slash"),
    pytest.param("http://exa\u202emple.com/", HOST, id="a name that changes direction"),
    pytest.param("http://xn--\u3002/", HOST, id="an empty name in ASCII"),
]


@pytest.mark.parametrize(("url", "reason"), REFUSED)
async def test_the_url_is_refused_before_anybody_is_asked(
    visiting: Visiting, resolver: Resolver, url: str, reason: str
) -> None:
    async with visiting() as visitor:
        with pytest.raises(UrlNotAllowed) as refused:
            await visitor.visit(url)

    assert refused.value.message == f"This URL may not be fetched: {reason}."
    assert resolver.hosts == []


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("localhost", id="localhost"),
        pytest.param("LOCALHOST", id="capitals"),
        pytest.param("localhost.", id="a dot at the end"),
        pytest.param("a.localhost", id="below localhost"),
        pytest.param("ｌｏｃａｌｈｏｓｔ", id="full-width letters"),
        pytest.param("ⓛⓞⓒⓐⓛⓗⓞⓢⓣ", id="letters in circles"),
        pytest.param("localhost。", id="an ideographic dot at the end"),
        pytest.param("metadata.google.internal", id="a cloud's own name"),
    ],
)
async def test_names_of_this_machine_are_refused_for_where_they_lead(
    visiting: Visiting, resolver: Resolver, name: str
) -> None:
    resolver.names.answer("localhost", ["127.0.0.1", "::1"])
    resolver.names.answer("a.localhost", ["127.0.0.1"])
    resolver.names.answer("metadata.google.internal", ["169.254.169.254"])
    async with visiting() as visitor:
        with pytest.raises(UrlNotAllowed, match="its host is not on the public web"):
            await visitor.visit(f"http://{name}/")


@pytest.mark.parametrize(
    ("url", "meant"),
    [
        pytest.param(" https://example.com ", "https://example.com/", id="spaces around"),
        pytest.param("HTTPS://EXAMPLE.COM/A", "https://example.com/A", id="capitals"),
        pytest.param("https://example.com.:443/", "https://example.com/", id="the usual port, and a dot"),
        pytest.param("http://example.com:8080/a", "http://example.com:8080/a", id="another port"),
        pytest.param("http://example.com:/a", "http://example.com/a", id="no port after all"),
        pytest.param("http://example.com?a=b", "http://example.com/?a=b", id="no path"),
        pytest.param("http://example.com/a#b", "http://example.com/a", id="a fragment"),
        pytest.param("http://example.com/a b?c d", "http://example.com/a%20b?c%20d", id="spaces inside"),
        pytest.param("http://example.com/a%20b?c=%2F", "http://example.com/a%20b?c=%2F", id="encoded already"),
        pytest.param("http://example.com/道具?箱", "http://example.com/%E9%81%93%E5%85%B7?%E7%AE%B1", id="Japanese"),
        pytest.param("http://example.com/a\\b", "http://example.com/a%5Cb", id="a backslash in the path"),
        pytest.param("http://example.com//other.com/", "http://example.com//other.com/", id="two slashes"),
        pytest.param("http://example.com/?u=http://u@h/", "http://example.com/?u=http://u@h/", id="a URL inside"),
        pytest.param("http://道具箱.jp/", "http://xn--h6q624hy6m.jp/", id="a Japanese name"),
        pytest.param("http://faß.de/", "http://xn--fa-hia.de/", id="a name that older rules send elsewhere"),
        pytest.param("http://_a.b_c.example.com/", "http://_a.b_c.example.com/", id="underscores"),
        pytest.param("http://1.example.com/", "http://1.example.com/", id="a number as label"),
        pytest.param("http://[2606:4700:0::1111]/", "http://[2606:4700::1111]/", id="v6"),
        pytest.param("http://[2606:4700::1111]:81/", "http://[2606:4700::1111]:81/", id="v6 with a port"),
    ],
)
def test_a_url_has_one_spelling(url: str, meant: str) -> None:
    assert destination(url).url == meant
    assert destination(meant).url == meant
