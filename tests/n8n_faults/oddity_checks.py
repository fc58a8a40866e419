"""Checkers of statements about what is odd before a failure or in a success: empty answers, pages, groups, numbers."""

import json
import re
from datetime import UTC, datetime

from .fact_view import View, has_value, is_shown, states, told
from .recorded_facts import values_at, values_in
from .report_statements import Shown


@states("reads <F>, which the item does not have")
def reads_in_vain(view: View, path: str) -> str | None:
    items = view.given()
    name = path.strip("[]'")
    # A field whose own name has a dot is not what `a.b` reads.
    if items and path == name and all(values_at(item.json, name) and name not in item.json for item in items):
        return f"all items have it: {told(items, name)}"
    return None


@states("^<F> has (?!one$|no (?!fields))<L>(?=$|, so |, and the )")
def part_has_fields(view: View, path: str, names: str) -> str | None:
    held = [one for _, _, item in view.everything() for one in values_at(item.json, path)]
    start = names.removesuffix(", …")
    keys = [", ".join(map(str, one)) or "no fields" for one in held if isinstance(one, dict)]
    return None if not held or any(one.startswith(start) for one in keys) else f"it has {keys[:2]}"


@states("it gave out an empty item")
def gave_empty_item(view: View) -> str | None:
    return None if any(item.json == {} for item in view.out(view.node)) else "no item of it is empty"


@states("it gave out <F> as an empty object")
def gave_empty_object(view: View, path: str) -> str | None:
    held = [one for item in view.out(view.node) for one in values_at(item.json, path)]
    return None if {} in held else f"it is {held[:2]}"


@states("and <F> is not valid JSON: <V>, from <N>")
def no_json(view: View, path: str, shown: Shown, node: str) -> str | None:
    texts = [one for item in view.out(node) for one in values_at(item.json, path) if is_shown(shown, one)]
    if not texts:
        return f"no item of {node!r} has that: {told(view.out(node), path)}"
    try:
        json.loads(texts[0])
    except ValueError:
        return None
    return "it is valid JSON"


@states(r"answer is page <D> of <D>")
def page_of(view: View, page: int, last: int) -> str | None:
    numbers = values_in(view.out(view.node)[-1].json)
    return None if page in numbers and last in numbers else f"the last answer has {numbers[:9]}"


@states("its paging made <D> requests, and all answers are the same")
def same_pages(view: View, count: int) -> str | None:
    answers = [item.json for item in view.out(view.node)]
    return None if len(answers) == count and all(one == answers[0] for one in answers) else "they differ"


@states(r"answer names a further page \(<F>: <V>\)")
def further_page(view: View, name: str, shown: Shown) -> str | None:
    return None if has_value(view.out(view.node), name, shown) else "no answer has that"


@states("it splits by <F>, and <V> and <V> differ only in capitals or spaces")
def alike(view: View, path: str, one: Shown, other: Shown) -> str | None:
    if not all(has_value(view.given(), path, each) for each in (one, other)):
        return f"no item has that: {told(view.given(), path)}"
    first, second = (" ".join(each.text.split()).casefold() for each in (one, other))
    return None if first == second or one.is_cut or other.is_cut else "they differ in more"


@states("it makes <D> items, one of every combination of <D> from <N> and <D> from <N>")
def combined(view: View, made: int, one: int, first: str, other: int, second: str) -> str | None:
    counts = len(view.out(view.node)), len(view.out(first)), len(view.out(second))
    return None if counts == (made, one, other) else f"{counts}"


@states("<F> is <D>, made from <V>: its leading 0 is lost")
def zero_lost(view: View, path: str, number: int, shown: Shown) -> str | None:
    made = [one for item in view.out(view.node) for one in values_at(item.json, path)]
    read = [one for item in view.given() for one in values_in(item.json)]
    return None if number in made and shown.text in read and shown.text[0] == "0" else f"it is {made[:3]}"


@states("its code runs once for each of <D> items, and gave out <D>")
def dropped_by_code(view: View, given: int, passed: int) -> str | None:
    counts = len(view.given()), len(view.out(view.node))
    return None if counts == (given, passed) else f"{counts}"


@states("it sends <F> as <V>, a text, made from <F>, which is <V>")
def sent_as_text(view: View, name: str, sent: Shown, path: str, held: Shown) -> str | None:
    if sent.type != "string" or held.type not in ("number", "boolean"):
        return f"sent as {sent.type}, held as {held.type}"
    return None if has_value(view.given(), path, held) else f"no item has that: {told(view.given(), path)}"


@states("what its code gets from <F>, which is <V>", "it cannot calculate with <F>, which is <V>")
def read_by_code(view: View, path: str, shown: Shown) -> str | None:
    return None if has_value(view.spoken_of(), path, shown) else "no item that it was given has that"


@states("^item <D> has no value in <F>; the other")
def unlike_others(view: View, index: int, names: str) -> str | None:
    home, failing, keys = view.home(view.statement.failing), view.statement.failing, names.split(", ")
    for run in range(len(home.runs.get(failing or "", ()))):
        given = [item.json for item in home.received(failing, run)]
        having = [all(one.get(key) not in (None, "") for key in keys) for one in given]
        if len(having) > 1 and having == [number != index for number in range(len(having))]:
            return None
    return "in no run of it"


@states("it compares <V> and <V> as texts, not as <W>")
def compared_as_texts(view: View, one: Shown, other: Shown, kind: str) -> str | None:
    if not any(view.has_anywhere(each) for each in (one, other)):
        return "no item has one of them"
    if kind == "numbers" and (float(one.text) < float(other.text)) is (one.text < other.text):
        return "as numbers they have the same order"
    return None


@states(r"^<F> is <V>: \+ joins texts and does not add them(?:, from <F>, <V>)?")
def joined_texts(view: View, path: str, made: Shown, source: str | None, part: Shown | None) -> str | None:
    if not has_value(view.out(view.node), path, made):
        return f"no item has that: {told(view.out(view.node), path)}"
    if source is None or part is None:
        return None
    kept = part.text in made.text and has_value(view.spoken_of(), source, part)
    return None if kept else f"no part of it: {told(view.given(), source)}"


@states("it gathers items in a list, whose elements have <F>$")
def gathers(view: View, name: str) -> str | None:
    lists = [one for item in view.out(view.node) for one in values_in(item.json) if isinstance(one, list)]
    inner = [part for one in lists for part in one if isinstance(part, dict)]
    return None if any(name in one for one in inner) else "no list of it has that"


@states("^item <D> before it has the same <F>: <V>")
def has_the_same(view: View, index: int, path: str, shown: Shown) -> str | None:
    given = view.given(view.statement.failing)
    return None if index < len(given) and has_value([given[index]], path, shown) else told(given, path)


@states(r"<F>\.length is <D>, from <N>")
def length_is(view: View, path: str, count: int, node: str) -> str | None:
    name = path.rpartition(" ")[2]
    held = [one for item in view.out(node) for one in values_at(item.json, name)]
    return None if any(isinstance(one, (list, str)) and len(one) == count for one in held) else f"it is {held[:2]}"


@states("it made this item out of <D>,")
def made_of_several(view: View, count: int) -> str | None:
    sizes = [len(item.paired) for item in view.out(view.node) if isinstance(item.paired, list)]
    return None if count in sizes else f"its items are made of {sizes[:9]}"


@states("^<F> is <V>: of <F>, which is <V>, that is the day in UTC, and not <W>")
def day_in_utc(view: View, name: str, day: Shown, path: str, time: Shown, here: str) -> str | None:
    written = datetime.fromisoformat(time.text)
    if written.astimezone(UTC).date().isoformat() != day.text or written.date().isoformat() != here:
        return f"{time.text} is on other days"
    given, made = has_value(view.given(), path, time), has_value(view.out(view.node), name, day)
    return None if given and made else "no item has that"


@states("item <D> joins <W> <L> from <N> with <W> <L> from <N>$")
def joined_by_position(
    view: View, row: int, one: str, value: str, first: str, other: str, found: str, second: str
) -> str | None:
    for node, name, told_value in ((first, one, value), (second, other, found)):
        held = [values_at(item.json, name) for item in view.out(node) if item.index == row]
        if [told_value] not in [[str(part) for part in each] for each in held]:
            return f"item {row} of {node!r} has {held}"
    return None


@states("it asks once for each of its <D> items, each time the same, so it gives out the same <D> items <D> times")
def asked_for_each(view: View, given: int, each: int, times: int) -> str | None:
    made = [item.json for item in view.out(view.node)]
    same = all(one == made[number % each] for number, one in enumerate(made[: each * times]))
    return None if given == times and len(made) >= each * times and same else f"{len(made)} items"


@states(r"^<F> is <L>, because <T> (?:is a text|are texts): \+ joins and does not add")
def joined_in_expression(view: View, name: str, value: str, parts: str) -> str | None:
    made = {str(one) for item in view.out(view.node) for one in values_at(item.json, name)}
    if value not in made:
        return f"it gave out {made}"
    for path, text in re.findall(r"(\S+) '([^']*)'", parts):
        held = [one for item in view.spoken_of() for one in values_at(item.json, path.rpartition(").")[2] or path)]
        if text not in held:
            return f"{path} is {held[:3]}"
    return None


@states("its code catches an error \\(line <D>\\): <F> is not there$")
def caught(view: View, line: int, path: str) -> str | None:
    code = str(view.execution.settings(view.node).get("jsCode"))
    if "catch" not in code or len(code.split("\n")) < line:
        return "it catches nothing there"
    lacking = [item for item in view.given() if not values_at(item.json, path)]
    return None if lacking else f"all items have {path}"


@states("it appends its inputs, and <D> items of <N> were made from items of <N>, which it appends as well")
def appended_twice(view: View, count: int, made: str, source: str) -> str | None:
    sources = view.execution.sources(view.node or "")
    if not {made, source} <= sources:
        return f"it was given items by {sorted(sources)}"
    originals = [item.json for item in view.out(source)]
    again = [item for item in view.out(made) if any(one.items() <= item.json.items() for one in originals)]
    return None if len(again) >= count else f"{len(again)} of them"


@states("it reads <F>, which is in none of its items")
def in_none_of_its_items(view: View, path: str) -> str | None:
    having = [item for item in view.given() if values_at(item.json, path)]
    return f"items have it: {told(having, path)}" if having else None


@states("it looks for <V>, among keys such as <V>(: they differ only in)?")
def sought_in_a_map(view: View, wanted: Shown, key: Shown, *only: str) -> str | None:
    if wanted == key or (only and only[0] and wanted.text.strip().casefold() != key.text.strip().casefold()):
        return "they differ otherwise"
    # A number that is looked up as the key of an object is a text there.
    known = (wanted, key, wanted._replace(type="number"))
    return None if any(map(view.has_anywhere, known)) else "no item has one of them"
