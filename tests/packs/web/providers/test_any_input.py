"""Whatever an engine sends, its reader answers or raises one of our own errors."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dogubako.contract.errors import DogubakoError
from dogubako.packs.web.models import Found, Hit, Query
from dogubako.packs.web.providers.duckduckgo import read_instant_answer
from dogubako.packs.web.providers.duckduckgo_pages import ResultPage, read_html_page, read_lite_page
from dogubako.packs.web.providers.json_apis import read_brave_answer, read_searxng_answer

from .written import (
    AD_TARGET,
    EOF_RESULT,
    SHELL,
    ad,
    challenge,
    empty_2025,
    empty_2026,
    html_page,
    lite_ad,
    lite_row,
    next_form,
    organic,
    wrapped,
)

KEYS = (
    "results web query url title content description unresponsive_engines more_results_available Answer AbstractText "
    "RelatedTopics Topics Text Name FirstURL Infobox label value result"
)

anything = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(2**60), 2**60), st.floats(allow_nan=False), st.text(max_size=8)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.sampled_from(KEYS.split()), inner, max_size=5)
    ),
    max_leaves=25,
)
json_bytes = st.one_of(st.binary(max_size=200), anything.map(msgspec.json.encode))
addresses = st.one_of(
    st.text(max_size=30),
    st.text(max_size=30).map(wrapped),
    st.sampled_from(["http://[", "https://[::1", "http://a:b:c/", "//", wrapped(AD_TARGET), "http://\u2100.test/"]),
)
pieces = st.one_of(
    st.text(max_size=30),
    addresses.map(lambda href: organic(1, href=href)),
    addresses.map(ad),
    addresses.map(lambda href: lite_row(1, href=href)),
    addresses.map(lite_ad),
    st.text(max_size=10).map(lambda offset: next_form(10, s=offset)),
    st.sampled_from(
        [EOF_RESULT, SHELL, challenge(), empty_2025(), empty_2026(), "<table><tr>", "</div>", "<a class=result-link>"]
    ),
)
pages = st.one_of(st.text(max_size=300), st.lists(pieces, max_size=8).map(lambda parts: html_page(*parts)))


def read_or_told(reader: Callable[[Any], Any], given: Any) -> Any:
    """What the reader says, or nothing when it raises as agreed; everything else fails the test."""
    try:
        return reader(given)
    except DogubakoError:
        return None


def usable(hit: Hit) -> bool:
    return hit.url.startswith(("http://", "https://")) and "\n" not in hit.title + hit.snippet


@pytest.mark.parametrize("reader", [read_html_page, read_lite_page])
@given(body=pages)
def test_any_page_is_read_or_refused(reader: Callable[[str], ResultPage], body: str) -> None:
    page = read_or_told(reader, body)

    assert page is None or all(usable(hit) for hit in page.hits)


@given(body=json_bytes)
def test_any_bytes_are_an_instant_answer_or_refused(body: bytes) -> None:
    answer = read_or_told(read_instant_answer, body)

    assert answer is None or isinstance(answer.abstract + answer.answer + answer.definition, str)


@pytest.mark.parametrize("reader", [read_searxng_answer, read_brave_answer])
@given(body=json_bytes)
def test_any_bytes_are_results_or_refused(reader: Callable[[bytes, Query], Found], body: bytes) -> None:
    found = read_or_told(lambda given: reader(given, Query(text="thing", count=3)), body)

    assert found is None or (len(found.hits) <= 3 and all(usable(hit) for hit in found.hits))


@pytest.mark.parametrize(
    ("reader", "body"),
    [
        pytest.param(read_html_page, html_page(*(organic(n) for n in range(2_000))), id="html"),
        pytest.param(read_lite_page, html_page("<table>", *(lite_row(n) for n in range(2_800))), id="lite"),
    ],
)
def test_a_page_of_a_megabyte_is_read_as_far_as_anybody_reads(reader: Callable[[str], ResultPage], body: str) -> None:
    assert len(body) > 1_000_000
    assert len(reader(body).hits) == 100


@pytest.mark.parametrize("reader", [read_html_page, read_lite_page])
@pytest.mark.parametrize("opening", ["<div class='web-result'>", "<table><tr><td>", "<b>", "<a class='result-link'>"])
def test_a_deeply_nested_page_is_refused(reader: Callable[[str], ResultPage], opening: str) -> None:
    with pytest.raises(DogubakoError):
        reader(opening * 3_000)
