"""Search results and instant answers as Markdown."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from dogubako.packs.web.models import Found, InstantAnswer, Query, Topic

_SPECIAL = str.maketrans({"[": r"\[", "]": r"\]", "\n": " ", "\r": " "})
# An address stands between angle brackets; nobody may write their way out of them.
_IN_ADDRESS = str.maketrans({"<": "%3C", ">": "%3E", " ": "%20", "\t": "%09", "\n": "%0A", "\r": "%0D"})


def result_blocks(query: Query, found: Found) -> list[str]:
    """Numbered results, best first, with the source named at the end."""
    first = (query.page - 1) * query.count + 1
    blocks = [_hit(number, one.title, one.url, one.snippet) for number, one in enumerate(found.hits, first)]
    more = f" More: page {query.page + 1}." if found.more else ""
    return [*blocks, *(f"*{note}*" for note in found.notes), f"Source: {found.source}.{more}"]


def instant_blocks(answer: InstantAnswer) -> list[str]:
    blocks = [f"# {answer.heading}"] if answer.heading else []
    if answer.answer:
        blocks.append(f"**Answer:** {answer.answer}")
    if answer.abstract:
        blocks.append(f"{answer.abstract}{_source(answer.abstract_source, answer.abstract_url)}")
    if answer.definition:
        blocks.append(f"**Definition:** {answer.definition}{_source(answer.definition_source, answer.definition_url)}")
    if answer.facts:
        blocks.append("\n".join(f"- {label}: {value}" for label, value in answer.facts))
    return [*blocks, *_topic_blocks(answer.topics), "Source: DuckDuckGo Instant Answers."]


def _hit(number: int, title: str, url: str, snippet: str) -> str:
    head = f"{number}. [{(title or url).translate(_SPECIAL)}](<{url.translate(_IN_ADDRESS)}>)"
    return f"{head}\n   {snippet}" if snippet else head


def _source(name: str, url: str) -> str:
    if not name and not url:
        return ""
    return f" ([{name or url}](<{url.translate(_IN_ADDRESS)}>))" if url else f" ({name})"


def _topic_blocks(topics: Sequence[Topic]) -> Iterator[str]:
    for group, members in groupby(topics, key=lambda topic: topic.group):
        lines = [
            f"- [{one.text.translate(_SPECIAL)}](<{one.url.translate(_IN_ADDRESS)}>)" if one.url else f"- {one.text}"
            for one in members
        ]
        yield "\n".join([f"**{group or 'Related'}**", *lines])
