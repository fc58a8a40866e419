"""How long a result page of a megabyte keeps us."""

import time
from typing import Final

from bench.machine import say
from bench.results import Measure
from dogubako.packs.web.providers.duckduckgo_pages import read_html_page
from dogubako_sandbox.web.result_pages import Results, html_page
from dogubako_sandbox.web.sites import DOCUMENTS

SIZE: Final = 1_000_000
_LOOKS: Final = 15


def measure() -> list[Measure]:
    """The median of some looks at a page that is far larger than any real one."""
    page = _large_page()
    times: list[float] = []
    for _ in range(_LOOKS):
        began = time.perf_counter()
        read_html_page(page)
        times.append((time.perf_counter() - began) * 1000)
    found = Measure(what="reading a result page of 1 MB", unit="ms", values=tuple(times), at_most=50)
    say(f"{found.what}: {found.value:.1f} ms")
    return [found]


def _large_page() -> str:
    documents = list(DOCUMENTS)
    while True:
        results = Results(query="all", region="", start=0, documents=documents, total=len(documents), wrapped=True)
        page = html_page(results)
        if len(page) >= SIZE:
            return page
        documents *= 2
