"""The rules of a robots.txt, line by line."""

import time

import pytest

from dogubako.packs.web.pages.robots import robots_allow


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
    assert robots_allow(f"User-agent: *\n{rules}".encode(), "dogubako", f"https://example.com{path}") is allowed


def test_rules_made_to_be_many_are_read_in_time() -> None:
    rules = "User-agent: *\n" * 20_000 + "Disallow: /a\n" * 20_000
    began = time.process_time()

    assert robots_allow(rules.encode(), "dogubako", "https://example.com/" + "b" * 8_000)
    assert not robots_allow(rules.encode(), "dogubako", "https://example.com/" + "a" * 8_000)
    assert time.process_time() - began < 5
