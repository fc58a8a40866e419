"""Quiet rules for numbers of items that the data contradict: one page of several, one round of a loop, a key twice."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from math import ceil
from typing import Any, Final

from dogubako.packs.n8n.diagnosis.javascript import ParseError
from dogubako.packs.n8n.diagnosis.join_keys import key_values, merge_keys
from dogubako.packs.n8n.diagnosis.replay.statements import parse_script
from dogubako.packs.n8n.diagnosis.replay.syntax import Tree
from dogubako.packs.n8n.diagnosis.scene import CODE_TYPES, Cause, Scene
from dogubako.packs.n8n.diagnosis.shown import shown_value
from dogubako.packs.n8n.formatters.flow import Place
from dogubako.packs.n8n.formatters.truncation import is_absent

_MOST_ITEMS: Final = 200
_MOST_ROUNDS: Final = 5
_NEXT: Final = ("next", "nextPage", "next_page", "nextPageToken", "next_cursor", "nextCursor", "next_url", "nextLink")
_PAGE: Final = ("page", "currentPage", "current_page", "pageNumber")
_PAGES: Final = ("pages", "totalPages", "total_pages", "pageCount", "page_count", "lastPage", "last_page")
_MORE: Final = ("hasMore", "has_more", "hasNext", "has_next", "hasNextPage", "moreItemsAvailable", "truncated")
_MOST_FIELDS: Final = 20
_FEWEST_ROWS: Final = 3
_MOST_PAGES: Final = 1_000
_LONGEST_CODE: Final = 12_000
_DEEPEST_TREE: Final = 40
_SHORTEST_TEXT: Final = 4


def more_pages(scene: Scene) -> Cause | None:
    """A request whose last answer says that there is more, or whose pages are all the same."""
    for at in scene.first_runs:
        settings = scene.settings.get(at.node, {}) if scene.kind(at.node) == "httpRequest" else None
        if settings is None or len(scene.execution.runs[at.node]) > 1:
            continue
        paged = "pagination" in repr(settings.get("options"))
        places = list(scene.outputs(at))[:_MOST_ITEMS]
        if not paged and len(places) > 1 and _says_more(scene.json(places[-1])) is None:
            # It asked several times, and the last answer is the end.
            continue
        places = places if paged else places[:1]
        answers = [scene.json(place) for place in places]
        if paged and len(answers) > 1 and _has_rows(answers[0]) and all(one == answers[0] for one in answers):
            problem = f"its paging made {len(answers)} requests, and all answers are the same"
            return Cause(node=at.node, problem=problem, place=places[0], certain=False)
        if answers and (sign := _says_more(answers[-1]) or (None if paged else _pages_told(answers[-1]))) is not None:
            ends = f"last answer {sign}, and its paging ends there"
            told = ends if paged else f"answer {sign}, and it does not ask for more"
            return Cause(node=at.node, problem=f"its {told}", place=places[-1], certain=False)
    return None


def _has_rows(data: Any) -> bool:
    """Whether an answer is a page: n8n makes items of one that is itself a list."""
    return isinstance(data, Mapping) and any(isinstance(one, list) and one for one in data.values())


def _says_more(data: Any) -> str | None:
    """The sign by which an answer says so, also where it lies beside the rows."""
    holders = [data, *data.values()] if isinstance(data, Mapping) else []
    for holder in [one for one in holders if isinstance(one, Mapping)]:
        for key in _NEXT:
            if holder.get(key) not in (None, "", False):
                return f"names a further page ({key}: {shown_value(holder[key])})"
        at, last = (next((holder[key] for key in keys if key in holder), None) for keys in (_PAGE, _PAGES))
        if isinstance(at, int) and isinstance(last, int) and 0 < at < last and _has_rows(data):
            return f"is page {at} of {last}"
        sign = next((one for one in _MORE if holder.get(one) is True), None)
        if sign is not None:
            return f"says that there is more ({sign}: true)"
    return None


def _pages_told(data: Any) -> str | None:
    """The same in numbers, whatever they are called."""
    return _counted_pages(data) or _pages_by_stem(data)


def _counted_pages(data: Any) -> str | None:
    """Numbers that only pages explain: a list of 10 beside 23 and 3, where 23 are just 3 pages of 10."""
    held = list(data.items())[:_MOST_FIELDS] if isinstance(data, Mapping) else []
    lists = [(name, one) for name, one in held if isinstance(one, list) and len(one) >= _FEWEST_ROWS]
    counts = [(name, one) for name, one in held if isinstance(one, int) and not isinstance(one, bool)]
    for name, rows in lists if len(lists) == 1 else ():
        for total, whole in counts:
            for last, pages in counts:
                if whole > len(rows) and pages > 1 and total != last and ceil(whole / len(rows)) == pages:
                    return f"has {len(rows)} elements in {name} beside {total}: {whole} and {last}: {pages}"
    return None


def _pages_by_stem(data: Any) -> str | None:
    """Two numbers of which one says which of the other this is, as their names share: seite 1, seitenGesamt 3."""
    held = list(data.items())[:_MOST_FIELDS] if isinstance(data, Mapping) and _has_rows(data) else []
    counts = [(str(name), one) for name, one in held if isinstance(one, int) and not isinstance(one, bool)]
    for name, at in counts:
        for other, last in counts:
            stem = name.casefold()[: max(_SHORTEST_TEXT, len(name) - 1)]
            alike = len(name) >= _SHORTEST_TEXT and other != name and stem in other.casefold()
            if alike and 1 == at < last <= _MOST_PAGES:
                return f"has {name} {at} beside {other} {last}"
    return None


def ends_in_first_round(scene: Scene) -> Cause | None:
    """Code whose loop returns in its first round, whatever it finds: the other elements are never looked at."""
    for at in scene.first_runs:
        code = scene.settings.get(at.node, {}).get("jsCode") if scene.kind(at.node) == "code" else None
        given, made = scene.execution.items_given_to(at.run), at.run.items_out
        if not isinstance(code, str) or "for" not in code or not made:
            continue
        line = next((one for one, works in _returning_loops(code[:_LONGEST_CODE]) if works or made < given), None)
        if line is not None:
            count = f"it was given {given} item{'s' if given > 1 else ''} and gives out {made}"
            problem = f"{count}: its code returns inside of its loop (line {line}), so that ends in its first round"
            return Cause(node=at.node, problem=problem, certain=False)
    return None


def _returning_loops(code: str) -> Iterator[tuple[int, bool]]:
    """The lines of returns on which every round of a loop over elements ends, and whether it does something before."""
    try:
        waiting = [(parse_script(code), 0)]
    except ParseError:
        return
    while waiting:
        tree, depth = waiting.pop()
        waiting += [(one, depth + 1) for one in tree.parts if one is not None and depth < _DEEPEST_TREE]
        body = tree.parts[-1] if tree.kind in ("for", "for-of", "for-in") and tree.parts else None
        if body is not None and body.kind == "block":
            last = body.parts[-1] if body.parts else None
            if last is not None and last.kind == "return" and not _leaves_round(body):
                yield last.line, any(one is not None and one.kind == "expression" for one in body.parts)


def _leaves_round(tree: Tree) -> bool:
    """Whether a round may go on with the next one before its end."""
    return any(
        one is not None and (one.kind == "continue" or (one.kind not in ("function", "arrow") and _leaves_round(one)))
        for one in tree.parts
    )


def joined_twice(scene: Scene) -> Cause | None:
    """A merge by a key that is there several times in a list in which keys are else unique: it gives items twice."""
    for at in scene.first_runs:
        settings = scene.settings.get(at.node, {}) if scene.kind(at.node) == "merge" else {}
        keys, sides = merge_keys(settings), scene.inputs(at.run)
        if keys is None or len(sides) != 2 or max(len(one.items) for one in sides) > _MOST_ITEMS:
            continue
        held = [key_values(scene, side, key) for side, key in zip(sides, keys, strict=True)]
        for here, other in ((0, 1), (1, 0)):
            counts = Counter(map(repr, held[other]))
            twice = [one for one in held[here] if counts[repr(one)] > 1 and not is_absent(one) and one is not None]
            rare = sum(count > 1 for count in counts.values()) <= sum(count == 1 for count in counts.values())
            unique = len(set(map(repr, held[here]))) == len(held[here])
            if twice and rare and unique and at.run.items_out > len(held[here]):
                is_there = f"{keys[other]} {shown_value(twice[0])} is there {counts[repr(twice[0])]} times"
                made = f"it makes {at.run.items_out} items of the {len(held[here])} of '{sides[here].node}'"
                problem = f"{made}: {is_there} in those of '{sides[other].node}'"
                return Cause(node=at.node, problem=problem, certain=False)
    return None


def equal_items(scene: Scene) -> Cause | None:
    """A merge that appends lists of which both have an item that is the same in all fields."""
    for at in scene.first_runs:
        settings = scene.settings.get(at.node, {}) if scene.kind(at.node) == "merge" else None
        sides = scene.inputs(at.run) if settings is not None and settings.get("mode", "append") == "append" else []
        if len(sides) != 2 or not all(1 < len(one.items) <= _MOST_ITEMS for one in sides):
            continue
        first, second = (
            [
                scene.json(Place(node=side.node, run=side.run, output=side.output, item=number))
                for number in range(len(side.items))
            ]
            for side in sides
        )
        both = [one for one in first if one in second and _is_record(one)]
        if both and len(both) < max(len(first), len(second)):
            them = "an item that is" if len(both) == 1 else f"{len(both)} items that are"
            shown = ", ".join(f"{name} {shown_value(value)}" for name, value in list(both[0].items())[:2])
            problem = f"both of its inputs have {them} the same in all fields, such as {shown}: it gives each twice"
            return Cause(node=at.node, problem=problem, certain=False)
    return None


def _is_record(data: Any) -> bool:
    """Whether an item can be known again by a text."""
    return isinstance(data, Mapping) and any(
        isinstance(one, str) and len(one) >= _SHORTEST_TEXT for one in data.values()
    )


def one_for_each_round(scene: Scene) -> Cause | None:
    """Code in a loop that gives out one item for each round of several."""
    for name, runs in scene.execution.runs.items():
        given = [scene.execution.items_given_to(run) for run in runs[:_MOST_ROUNDS]]
        several = len(given) > 1 and scene.kind(name) in CODE_TYPES and max(given) > 1
        if several and all(len(run.outputs[0] or ()) == 1 for run in runs[:_MOST_ROUNDS] if run.outputs):
            counts = f"{', '.join(map(str, given[:-1]))} and {given[-1]} items"
            problem = f"it was given {counts} in its {len(given)} rounds, and gives out one item for each round"
            return Cause(node=name, problem=problem, certain=False)
    return None


COUNT_RULES: Final[tuple[Callable[[Scene], Cause | None], ...]] = (
    more_pages,
    ends_in_first_round,
    joined_twice,
)
