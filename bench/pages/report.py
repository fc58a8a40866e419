"""The tables of docs/pages.md."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from bench.pages.corpus_page import CorpusPage
from bench.pages.scoring import CATEGORIES, score

_OURS: Final = "dogubako"
_HEAD: Final = """# How pages are read

`fetch_page` beside [trafilatura](https://trafilatura.readthedocs.io/) and
[markitdown](https://github.com/microsoft/markitdown), on awkward pages of our own, in one run (`make bench-pages`).
A number is the mean share, in per cent, of what each page has in a category: links with the right absolute address,
strings that are decoded rightly, code with its blank lines and its language, list items with their numbers and depth,
rows of tables, and menus and footers that were left out (*clean*). `bench/pages` has the pages and their truth.
"""


@dataclass(frozen=True, kw_only=True)
class Results:
    """The texts that each tool made of the pages, and their scores."""

    pages: Sequence[CorpusPage]
    texts: Mapping[str, Sequence[str]]
    scores: dict[str, list[dict[str, float]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for tool, texts in self.texts.items():
            self.scores[tool] = [score(page, text) for page, text in zip(self.pages, texts, strict=True)]

    def worse(self) -> list[str]:
        """The pages on which ours is worse than the better of the others."""
        lines = []
        for index, page in enumerate(self.pages):
            for category, ours in self.scores[_OURS][index].items():
                best = max(self.scores[tool][index][category] for tool in self.texts if tool != _OURS)
                if ours < best - 1e-9:
                    lines.append(f"worse: {page.name}: {category}: {ours:.2f} instead of {best:.2f}")
        return lines

    def imperfect(self) -> list[str]:
        return [
            f"{page.name}: {category} {value:.0%}"
            for page, scores in zip(self.pages, self.scores[_OURS], strict=True)
            for category, value in scores.items()
            if value < 1
        ]

    def mean(self, tool: str, category: str) -> float | None:
        values = [scores[category] for scores in self.scores[tool] if category in scores]
        return 100 * sum(values) / len(values) if values else None

    def summary(self) -> str:
        """A table: a row for each category."""
        tools = list(self.texts)
        lines = [f"| category | pages | {' | '.join(tools)} |", "| --- " * (2 + len(tools)) + "|"]
        for category in CATEGORIES:
            count = sum(category in scores for scores in self.scores[_OURS])
            means = [self.mean(tool, category) for tool in tools]
            shown = " | ".join(f"{mean:.0f}" if mean is not None else "–" for mean in means)
            lines.append(f"| {category} | {count} | {shown} |")
        return "\n".join(lines)

    def by_page(self) -> str:
        """A table: a row for each page and category."""
        tools = list(self.texts)
        lines = [f"| page | category | {' | '.join(tools)} |", "| --- " * (2 + len(tools)) + "|"]
        for index, page in enumerate(self.pages):
            for category in self.scores[_OURS][index]:
                shown = " | ".join(f"{100 * self.scores[tool][index][category]:.0f}" for tool in tools)
                lines.append(f"| {page.name} | {category} | {shown} |")
        return "\n".join(lines)

    def shown(self, name: str) -> str:
        return "\n\n".join(
            f"===== {tool}: {page.name}\n{texts[index]}"
            for index, page in enumerate(self.pages)
            if page.name == name
            for tool, texts in self.texts.items()
        )


def written(corpus: Results, held_back: Results) -> str:
    """The page of the documentation."""
    return "\n".join(
        [
            _HEAD,
            f"## The corpus: {len(corpus.pages)} pages\n",
            corpus.summary(),
            "",
            _verdict(corpus),
            f"\n## Held back: {len(held_back.pages)} pages\n",
            "These pages were written before the converter was tuned, and were read only when it was done. In that",
            "first run one of them was wrong, Chinese that is declared as Latin-1 (encodings: 93); the table is after",
            "its fix.\n",
            held_back.summary(),
            "",
            _verdict(held_back),
            "\n## Page by page\n",
            corpus.by_page(),
            "\n### Held back\n",
            held_back.by_page(),
            "",
        ]
    )


def _verdict(results: Results) -> str:
    worse = results.worse()
    if not worse:
        return "On no page `fetch_page` is worse than the better of the two."
    return "\n".join(["`fetch_page` is worse than the better of the two here:\n", *(f"- {line}" for line in worse)])
