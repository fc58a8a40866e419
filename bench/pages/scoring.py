"""Score the Markdown of a page against what is true about it."""

import re
from collections.abc import Iterable
from typing import Final

from bench.pages.corpus_page import CorpusPage

CATEGORIES: Final = ("links", "encodings", "code", "lists", "tables", "clean")

_FENCED: Final = re.compile(r"^([ \t>]*)(`{3,})([^\n`]*)\n(.*?)^\1\2[ \t]*$", re.MULTILINE | re.DOTALL)
_ITEM: Final = re.compile(r"^([ \t]*)([-*+]|\d+[.)])[ \t]+(.*?)[ \t]*$")
_ESCAPE: Final = re.compile(r"\\([\\`*_{}\[\]()#+\-.!|>~])")
_PIPE: Final = re.compile(r"(?<!\\)\|")


def score(page: CorpusPage, text: str) -> dict[str, float]:
    """A number between 0 and 1 for each category that the page has."""
    scores: dict[str, float] = {}
    if page.links:
        scores["links"] = _share(_has_link(text, label, url) for label, url in page.links)
    if page.texts:
        scores["encodings"] = _share(_plain(one) in _plain(text) for one in page.texts)
    if page.code:
        blocks = [(match[3].strip(), _dedented(match[4], match[1])) for match in _FENCED.finditer(text)]
        scores["code"] = _mean(_code_score(blocks, language, code) for language, code in page.code)
    if page.items:
        scores["lists"] = _list_score(page, text)
    if page.rows:
        found = [_cells(line) for line in text.split("\n") if "|" in line]
        scores["tables"] = _share([_plain(cell) for cell in row] in found for row in page.rows)
    if page.noise:
        scores["clean"] = _share(one not in text for one in page.noise)
    return scores


def _has_link(text: str, label: str, url: str) -> bool:
    """Whether the label is linked to the address, as an inline link or a picture's link."""
    wanted = _plain(label).rstrip("*`")
    for match in re.finditer(re.escape(f"]({url}") + r"(?:\)| \")", text):
        before = _plain(text[max(0, match.start() - 400) : match.start()]).rstrip("*`")
        if before.endswith(wanted) or re.search(r"!\[" + re.escape(wanted) + r"\]\([^)]*\)$", before):
            return True
    return False


def _code_score(blocks: list[tuple[str, str]], language: str, code: str) -> float:
    """Half for the text, line by line, half for the language."""
    for named, text in blocks:
        if text.strip("\n") == code.strip("\n"):
            return 1.0 if named == language else 0.5
    return 0.0


def _list_score(page: CorpusPage, text: str) -> float:
    found: list[tuple[int, str, str]] = []
    for line in text.split("\n"):
        match = _ITEM.match(line)
        if match:
            marker = "-" if match[2] in "-*+" else match[2].replace(")", ".")
            found.append((len(match[1].expandtabs(4)), marker, _plain(match[3])))
    right = 0
    stack: list[int] = []
    position = 0
    for depth, marker, item in page.items:
        for index in range(position, len(found)):
            indent, named, written = found[index]
            if (named, written) == (marker, _plain(item)):
                deeper = depth == 0 or (len(stack) >= depth and indent > stack[depth - 1])
                stack = [*stack[:depth], indent]
                right += deeper
                position = index + 1
                break
    return right / len(page.items)


def _cells(line: str) -> list[str]:
    inner = line.strip().lstrip("> ")
    inner = inner.removeprefix("|").removesuffix("|") if not inner.endswith("\\|") else inner.removeprefix("|")
    return [_plain(cell.strip()) for cell in _PIPE.split(inner)]


def _plain(text: str) -> str:
    """The text without escapes and with single spaces: tools differ in both, and both are right."""
    return " ".join(_ESCAPE.sub(r"\1", text).replace("<br/>", "<br>").replace("<br />", "<br>").split())


def _dedented(text: str, prefix: str) -> str:
    return "\n".join(line.removeprefix(prefix) for line in text.rstrip("\n").split("\n"))


def _share(right: Iterable[bool]) -> float:
    return _mean(float(one) for one in right)


def _mean(numbers: Iterable[float]) -> float:
    values = list(numbers)
    return sum(values) / len(values)
