"""Real pages that people captured, where they are at hand. They are not ours and stay out of this repository."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import pytest

from dogubako.contract.errors import Blocked
from dogubako.packs.web.models import Query
from dogubako.packs.web.providers.duckduckgo import read_instant_answer
from dogubako.packs.web.providers.duckduckgo_pages import ResultPage, read_html_page, read_lite_page
from dogubako.packs.web.providers.json_apis import read_brave_answer

CAPTURES: Final = Path(__file__).parents[4].parent / "shared" / "labs" / "duckduckgo"
# By the beginning of a file's name: how many results its description counts, and whether a next page is offered.
RESULTS: Final = {
    "html/danilo-aguiar-br+": (10, True),
    "html/euske+": (10, True),
    "html/karstenes+": (29, True),
    "html/ishan-parihar+": (10, True),
    "lite/danilo-aguiar-br+": (10, True),
    "extracted/cloudwego+eino-ext-text_search_test-doc1": (10, True),
    "extracted/cloudwego+eino-ext-text_search_test-doc2": (0, False),
}


def found(*patterns: str) -> list[Path]:
    return sorted(path for pattern in patterns for path in CAPTURES.glob(pattern))


def each(files: Sequence[Path]) -> list[object]:
    """A case per file, or a single case that stands for their absence: an empty table would count as skipped."""
    cases = [pytest.param(path, id=f"{path.parent.name}/{path.name.split('+')[0]}") for path in files]
    return [*cases] or [pytest.param(None, id="no captures here")]


def read(path: Path) -> ResultPage:
    reader = read_lite_page if path.parent.name == "lite" else read_html_page
    return reader(path.read_text(encoding="utf-8"))


def expected(path: Path, page: ResultPage) -> tuple[int, bool]:
    """What is known of a capture; of one that came later, only that it is told apart from a challenge."""
    name = f"{path.parent.name}/{path.name}"
    unknown = (len(page.hits), page.next_form is not None)
    return next((value for start, value in RESULTS.items() if name.startswith(start)), unknown)


@pytest.mark.parametrize("path", each(found("html/*.html", "lite/*.html", "extracted/*.html")))
def test_a_captured_page_has_the_results_that_its_description_counts(path: Path | None) -> None:
    if path is None:
        assert not CAPTURES.exists()
        return
    page = read(path)
    count, more = expected(path, page)

    assert len(page.hits) == count
    assert (page.next_form is not None) is more
    assert all(hit.title and hit.snippet for hit in page.hits)
    assert len({hit.url for hit in page.hits}) == count
    assert not [hit.url for hit in page.hits if "duckduckgo.com" in (urlsplit(hit.url).hostname or "")]


@pytest.mark.parametrize("path", each(found("anomaly/*.html")))
@pytest.mark.parametrize("reader", [read_html_page, read_lite_page])
def test_a_captured_challenge_is_a_block(path: Path | None, reader: Callable[[str], ResultPage]) -> None:
    if path is None:
        assert not CAPTURES.exists()
        return
    with pytest.raises(Blocked):
        reader(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", each(found("ia/*.json")))
def test_a_captured_instant_answer_has_its_abstract_and_topics(path: Path | None) -> None:
    if path is None:
        assert not CAPTURES.exists()
        return
    answer = read_instant_answer(path.read_bytes())

    assert (answer.heading, answer.abstract_source, len(answer.topics)) == ("GitHub", "Wikipedia", 3)
    assert answer.abstract.startswith("GitHub is")


@pytest.mark.parametrize("path", each(found("brave/*.json")))
def test_a_captured_answer_of_brave_reads_as_plain_text(path: Path | None) -> None:
    if path is None:
        assert not CAPTURES.exists()
        return
    answer = read_brave_answer(path.read_bytes(), Query(text="Laravel", count=20))

    assert (len(answer.hits), answer.more) == (17, True)
    assert not [hit for hit in answer.hits if "<strong>" in hit.snippet or "&amp;" in hit.title + hit.snippet]


def test_every_expectation_has_its_page() -> None:
    pages = [f"{path.parent.name}/{path.name}" for path in found("*/*.html")]
    missing = [start for start in RESULTS if not any(name.startswith(start) for name in pages)]

    assert missing == ([] if CAPTURES.exists() else list(RESULTS))
