"""Checkers of statements about values: what a field is, who made it, and what the other items have."""

import re
from typing import Final

from .fact_view import View, endings, has_value, is_shown, states, told
from .recorded_facts import Item, dumped, squeezed, texts_in, values_at, values_in
from .report_statements import Shown

NULL: Final = Shown("null", "null", False)
_LEAST_SHOWN: Final = 3


@states("<F>(?: of <N>)? is <V>")
def value_is_there(view: View, path: str, _other: str | None, shown: Shown) -> str | None:
    if path.endswith(" there"):
        return None if view.has_anywhere(shown) else "no item has this value"
    items = view.spoken_of()
    if any(has_value(items, one, shown) for one in endings(path)):
        return None
    return f"no item that is spoken of has that: {told(items, path)}"


@states('well-formed XML: the & in "<L>" is not written as &amp;')
def bare_ampersand(view: View, near: str) -> str | None:
    texts = [one for _, _, item in view.everything() for one in values_in(item.json) if isinstance(one, str)]
    return None if any(near in one and re.search(r"&(?!#?\w+;)", near) for one in texts) else "no text has that"


@states("its answer for this item reports an error: <T>")
def error_reported(view: View, message: str) -> str | None:
    said = [dumped(item.json) for item in view.out(view.node)]
    return None if any(squeezed(message.partition("…")[0]) in one for one in said) else "no answer says so"


@states("^<F> is <V>", "^<F> is null")
def shown_item_has_it(view: View, path: str, shown: Shown = NULL) -> str | None:
    """The item that a report shows beside a problem is the one that has the value."""
    part = view.statement.part
    is_first = view.statement.whole.startswith(view.statement.text)
    is_other = " is " in path or part.get("nodeName") != view.node
    if "runIndex" not in part or not is_first or is_other:
        return None
    place = (part["runIndex"], part["outputIndex"], part.get("itemIndex"))
    items = [one for one in view.out(view.node) if (one.run, one.output, one.index) == place]
    return None if not items or has_value(items, path, shown) else f"that item has {told(items, path)}"


@states(r"(?:\(|; )<W> is <V>, (?:made in|as|from) <N>(?! (?:received it )?as )")
def value_of_a_part(view: View, path: str, shown: Shown, node: str) -> str | None:
    items = [*view.out(node), *view.given(node)]
    return None if has_value(items, path, shown) else f"{node!r} has {told(items, path)}"


@states("<V>, (?:made in <N>|as <N> received it) as <W>(?=$| by|;|\\)| \\()")
def value_under_another_name(view: View, shown: Shown, *places: str) -> str | None:
    node, path = [one for one in places if one]
    return None if has_value(view.out(node), path, shown) else f"{node!r} has {told(view.out(node), path)}"


@states("<V>, (?:made in|from) <N>(?! (?:by|and))", "which is <V>, as <N> received it")
def value_from_node(view: View, shown: Shown, node: str) -> str | None:
    found = any(is_shown(shown, value) for item in view.out(node) for value in values_in(item.json))
    return None if found else f"{node!r} gave out no such value"


@states("made in <N> by <T>")
def stands_in_settings(view: View, node: str, written: str) -> str | None:
    """The first half of what is shown is enough: behind it may stand what was read, or another line."""
    there = squeezed(" ".join(texts_in(view.home(node).settings(node))))
    shown = squeezed(re.split(r"… \[|,? \(| with |, where its leading", written)[0])
    return None if shown[: max(len(shown) // 2, _LEAST_SHOWN)] in there else f"{node!r} has no {shown}"


@states(r"<F> is (?:null|empty)(?=$|, |:| and)")
def is_nothing(view: View, path: str) -> str | None:
    items = view.spoken_of()
    held = [values_at(item.json, one) for item in items for one in endings(path)]
    is_empty = " is empty" in view.statement.text
    found = any((is_empty and not one) or any(value in (None, "", []) for value in one) for one in held)
    return None if found else f"items have {told(items, path)}"


@states(r"^<F> is ['\"]<T>['\"](?=$|:)")
def text_is_there(view: View, path: str, text: str) -> str | None:
    held = [one for item in view.out(view.node) for one in values_at(item.json, path)]
    beginning = squeezed(re.split(r"… \[", text)[0])
    found = any(isinstance(one, str) and one and beginning.startswith(squeezed(one)[:60]) for one in held)
    return None if found else f"it gave out {told(view.out(view.node), path)}"


@states(r": <W> is an (?:object|array), so name one of its fields")
def object_with_fields(view: View, path: str) -> str | None:
    read = [one for item in view.given() for one in values_at(item.json, path)]
    held = read or [one for _, _, item in view.everything() for one in values_at(item.json, path)]
    return None if any(isinstance(one, (dict, list)) and one for one in held) else f"{path} has no fields: {held}"


@states("^the other (?:item|element) has <V> there")
def other_has(view: View, shown: Shown) -> str | None:
    return others_have(view, 1, shown)


@states("^the other <D> (?:item|element)s have values such as <V> there")
def others_have(view: View, count: int, shown: Shown) -> str | None:
    """All the others have a value, or none of them has one."""
    wanted = _path_of(view.statement.whole)
    bad = view.statement.part.get("itemIndex")
    groups = [(bad, one) for one in _outputs(view.out(view.node))] + _elements(view, wanted)
    for position, group in groups:
        others = [one for number, one in enumerate(group) if number != position]
        held = [values_at(one, wanted[len(before) :]) for before, one in others]
        alike = [one for one in held if one and (one[0] is None) == (shown.type == "null")]
        fits = len(group) == count + 1 and len(alike) >= len(held) - (position is None)
        if fits and any(is_shown(shown, one[0]) for one in alike):
            return None
    return f"{view.node!r} has {told(view.out(view.node), wanted, 8)}"


def _path_of(problem: str) -> str:
    """The field that a problem is about."""
    lacking = re.match(r"(?:item \d+ of it|([^;, ]+)) has no ([^;]+);", problem)
    if lacking:
        return f"{lacking[1]}.{lacking[2]}" if lacking[1] else lacking[2]
    named = re.match("(.+?) (?:is|comes) ", problem)
    return named[1] if named else ""


def _outputs(items: list[Item]) -> list[list[tuple[str, object]]]:
    places = {(item.run, item.output) for item in items}
    return [[("", item.json) for item in items if (item.run, item.output) == place] for place in sorted(places)]


def _elements(view: View, path: str) -> list[tuple[int | None, list[tuple[str, object]]]]:
    """The elements of the list in which a value lies, with what of the path they stand for."""
    number = re.search(r"\.(\d+)(?=\.|$)", path)
    if number is None:
        return []
    lists = [one for item in view.out(view.node) for one in values_at(item.json, path[: number.start()])]
    before, bad = path[: number.end() + 1], int(number[1])
    return [(bad, [(before, one) for one in held]) for held in lists if isinstance(held, list)]


@states(r"its expression <L>(?:… \[[\d,]+ more characters\])? (?:gives nothing or fails|chooses that)")
def expression_stands_there(view: View, written: str) -> str | None:
    there = squeezed(" ".join(texts_in(view.execution.settings(view.node))))
    if view.execution.is_disabled(view.node):
        return "the node is disabled, so no expression of it was evaluated"
    return None if squeezed(written) in there else "no such expression stands there"


@states("its answer came as text, not as JSON")
def came_as_text(view: View) -> str | None:
    for item in view.out(view.node):
        if isinstance(item.json, dict) and len(item.json) == 1 and isinstance(next(iter(item.json.values())), str):
            return None
    return f"its answer is JSON: {[item.json for item in view.out(view.node)][:1]}"


@states("it received an HTML page instead of JSON")
def html_page(view: View) -> str | None:
    data = [item.json for item in view.out(view.node)] + view.execution.errors()
    page = re.compile(r"<(?:!doctype|html|body|head)", re.IGNORECASE)
    return None if any(page.search(text) for one in data for text in texts_in(one)) else "no HTML"


@states("<W> from <N>: <V>")
def key_from(view: View, path: str, node: str, shown: Shown) -> str | None:
    items = [*view.out(node), *view.given()]
    return None if has_value(items, path, shown) else f"{node!r} has {told(view.out(node), path)}"


@states("<N> took that over <V> of <N>")
def given_up_by_a_merge(view: View, merge: str, shown: Shown, node: str) -> str | None:
    given = any(is_shown(shown, one) for item in view.out(node) for one in values_in(item.json))
    return None if given and node in view.execution.sources(merge) else f"{node!r} gave {merge!r} no such value"


@states("its code put that over <V>")
def given_up_by_code(view: View, shown: Shown) -> str | None:
    return None if view.has_anywhere(shown) else "no item has this value"


@states("all its <D> items are the same")
def are_the_same(view: View, count: int) -> str | None:
    groups = [[one for _, one in group] for group in _outputs(view.out(view.node))]
    alike = any(len(group) == count and all(one == group[0] for one in group) for group in groups)
    return None if alike else f"it gave out {[len(group) for group in groups]} items that differ, or another number"
