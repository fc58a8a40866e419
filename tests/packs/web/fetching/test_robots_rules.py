"""The rules of a robots.txt, line by line."""

import pytest

from dogubako.packs.web.pages.robots_rules import read_rules


@pytest.mark.parametrize(
    ("rules", "path", "allowed"),
    [
        pytest.param("Disallow: /a\nAllow: /a/b", "/a/b/c", True, id="the longer one allows"),
        pytest.param("Allow: /a\nDisallow: /a/b", "/a/b/c", False, id="the longer one forbids"),
        pytest.param("Disallow: /a\nAllow: /a", "/a", True, id="equally long"),
        pytest.param("Disallow: /a$", "/ab", True, id="the end is meant"),
        pytest.param("Disallow: /a$", "/a", False, id="the end is reached"),
        pytest.param("Disallow: /*.pdf$", "/x.pdf/y.pdf", False, id="a star may cover much"),
        pytest.param("Disallow: /*.pdf$", "/x.pdf?download", True, id="something after the end"),
        pytest.param("Disallow: /*/x/*/y", "/1/x/2/3/y/4", False, id="many stars"),
        pytest.param("Disallow: /*/x/*/y", "/1/y/2/x", True, id="in the wrong order"),
        pytest.param("Disallow: /aa*a$", "/aa", True, id="the pieces do not overlap"),
        pytest.param("Disallow: *", "/", False, id="only a star"),
        pytest.param("Disallow: /?", "/?q=1", False, id="a query"),
        pytest.param("Disallow: /道具", "/%E9%81%93%E5%85%B7", False, id="Japanese"),
        pytest.param("Crawl-delay: 5\nSitemap: /s\nnonsense", "/", True, id="other lines"),
    ],
)
def test_the_longest_pattern_that_fits_decides(rules: str, path: str, allowed: bool) -> None:
    assert read_rules(f"User-agent: *\n{rules}", "dogubako").allow(path) is allowed


def test_rules_made_to_be_slow_are_read_at_once() -> None:
    names = "User-agent: *\n" * 20_000
    stars = "Disallow: /" + "a*" * 100_000 + "b$\n"
    rules = read_rules(names + "Disallow: /a\n" * 20_000 + stars, "dogubako")

    assert rules.allow("/" + "b" * 8_000)
    assert not rules.allow("/" + "a" * 8_000)
