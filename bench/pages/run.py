"""Read the corpus with fetch_page, trafilatura and markitdown in one run, and write docs/pages.md.

.venv/bin/python -m bench.pages.run [--check] [--peers PYTHON]
"""

import argparse
import asyncio
import base64
import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final, cast

import httpx2
import structlog

from bench.pages.corpus_code import CODE_PAGES
from bench.pages.corpus_encodings import ENCODING_PAGES
from bench.pages.corpus_links import LINK_PAGES
from bench.pages.corpus_lists import LIST_PAGES
from bench.pages.corpus_page import CorpusPage
from bench.pages.corpus_tables import TABLE_PAGES
from bench.pages.held_back_structure import HELD_BACK_STRUCTURE
from bench.pages.held_back_text import HELD_BACK_TEXT
from bench.pages.report import Results, written
from dogubako.contract.pack import Host
from dogubako.packs.web.pack import WEB
from dogubako.packs.web.pages.parts import PagePart, PartWanted
from dogubako.packs.web.settings import WebSettings

ROOT: Final = Path(__file__).parents[2]
CORPUS: Final = (*LINK_PAGES, *ENCODING_PAGES, *CODE_PAGES, *LIST_PAGES, *TABLE_PAGES)
HELD_BACK: Final = (*HELD_BACK_TEXT, *HELD_BACK_STRUCTURE)


async def read_with_ours(pages: tuple[CorpusPage, ...]) -> list[str]:
    """Fetch every page through the pack: request, headers, worker process."""

    served = pages[0]

    def answer(_: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, headers={"content-type": served.content_type}, content=served.body)

    host = cast("Host", SimpleNamespace(transport=httpx2.MockTransport(answer)))
    texts = []
    async with WEB.connect(WebSettings(robots=False), host) as connection:
        client = await connection.opened()
        for served in pages:
            _, part = await client.page(PartWanted(url=served.url, length=100_000))
            assert isinstance(part, PagePart), served.name
            texts.append(part.text)
    return texts


def read_with_peers(pages: tuple[CorpusPage, ...], python: str) -> dict[str, list[str]]:
    sent = [
        {"body": base64.b64encode(page.body).decode(), "content_type": page.content_type, "url": page.url}
        for page in pages
    ]
    script = Path(__file__).with_name("peer_readers.py")
    done = subprocess.run([python, str(script)], input=json.dumps(sent), capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    texts: dict[str, list[str]] = json.loads(done.stdout)
    return texts


def measured(pages: tuple[CorpusPage, ...], python: str) -> Results:
    texts: dict[str, Any] = {"dogubako": asyncio.run(read_with_ours(pages)), **read_with_peers(pages, python)}
    return Results(pages=pages, texts=texts)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--peers", default=str(ROOT / ".venv-pages" / "bin" / "python"))
    options.add_argument("--held-back", action="store_true", help="also the second set, which nobody tunes for")
    options.add_argument("--show", default="", help="print what each tool made of the page of this name")
    arguments = options.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(30))
    results = measured(CORPUS, arguments.peers)
    others = measured(HELD_BACK, arguments.peers) if arguments.held_back else None
    for one in (results, others) if others else (results,):
        print(one.summary())
        print("\n".join(one.imperfect()))
        print("\n".join(one.worse()) or "no page is worse than the better of the two")
        if arguments.show:
            print(one.shown(arguments.show))
    if others is not None:
        (ROOT / "docs" / "pages.md").write_text(written(results, others), encoding="utf-8")


if __name__ == "__main__":
    main()
