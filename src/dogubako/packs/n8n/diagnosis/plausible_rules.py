"""Quiet rules for wrong results that look plausible: another day, another order, the same answer again and again."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final
from zoneinfo import ZoneInfo, available_timezones

from dogubako.packs.n8n.diagnosis.elements import plain_paths
from dogubako.packs.n8n.diagnosis.references import texts
from dogubako.packs.n8n.diagnosis.scene import Cause, RunPlace, Scene
from dogubako.packs.n8n.diagnosis.shown import shown_path, shown_value
from dogubako.packs.n8n.formatters.flow import Input, Place
from dogubako.packs.n8n.formatters.truncation import is_absent, value_at

_MOST_ITEMS: Final = 200
_MOST_PATHS: Final = 50
_MOST_FIELDS: Final = 12
_MOST_BEFORE: Final = 4
_MOST_SHOWN: Final = 5
_FEWEST_SORTED: Final = 2
_FEWEST_KEYS: Final = 3
_MAKES_DATES: Final = ("set", "code", "dateTime")
_NO_LETTER = re.compile(r"[\W_]")
_SORTS = re.compile(r"\.sort\(\s*\)")
_LONGEST_READ: Final = 12_000
_QUOTED = re.compile(r"""['"`]([A-Za-z年月日/. -]{5,20}+)['"`]""")
_MONTH: Final = r"[\w$.]{1,60}\.get(?:UTC)?Month\(\)"
_MONTH_GIVEN = re.compile(
    r"(?:Date\.UTC|new Date)\(\s{0,9}[\w$.]{1,40}+\s{0,9},\s{0,9}(m{1,2}|mon|month|mes|mois|monat|月)\s{0,9},"
)
_LESS_ONE = re.compile(r"-\s{0,9}1\b|--")
# In a template, as a text of its own, or joined with one. `getMonth() + 1` in brackets is a number.
_FROM_ZERO = re.compile(
    rf"\$\{{\s{{0,9}}{_MONTH}\s{{0,9}}\}}|String\(\s{{0,9}}{_MONTH}\s{{0,9}}\)|{_MONTH}\s{{0,9}}\+\s{{0,9}}['\"`]"
)
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_WITH_OFFSET = re.compile(r"(\d{4}-\d\d-\d\d)[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?[+-]\d\d:?\d\d")

_IN_UTC = re.compile(r"(\d{4}-\d\d-\d\d)T\d\d:\d\d:\d\d(?:\.\d{1,6})?Z")
_ZONE = re.compile(r"[A-Z][A-Za-z]{2,20}/[A-Za-z_/-]{3,40}")
_MOST_SOURCES: Final = 10
# Where seconds of our time end up if they are taken for milliseconds, and how many there are since 2001, until 2065.
_BEGINNING: Final = "1970-01-"
_SECONDS: Final = (1_000_000_000, 3_000_000_000)


def day_in_utc(scene: Scene) -> Cause | None:
    """A day that was taken from a time in UTC, where the time itself is written with an offset and on another day."""
    for at in scene.first_runs:
        for place in list(scene.outputs(at))[:_MOST_ITEMS] if scene.kind(at.node) in _MAKES_DATES else ():
            made, source = scene.json(place), next(iter(scene.parents(place)), None)
            days = _days(made) if source is not None else {}
            if source is not None and (elsewhere := _other_day(scene, source, days)) is not None:
                return Cause(node=at.node, problem=elsewhere, place=place, walk=(place,), certain=False)
            for path, written in _times(scene.json(source), _WITH_OFFSET) if days and source is not None else ():
                here, there = written[:10], _utc_day(written)
                name = next((one for one, day in days.items() if day == there != here), None)
                if name is not None:
                    time = f"{shown_path(path)}, which is {shown_value(written)}"
                    problem = f"{name} is {shown_value(there)}: of {time}, that is the day in UTC, and not {here}"
                    return Cause(node=at.node, problem=problem, place=place, walk=(place,), certain=False)
    return None


def _other_day(scene: Scene, source: Place, days: Mapping[str, str]) -> str | None:
    """A day that was cut out of a time in UTC, and that is another one in a time zone which the data name."""
    zones = _zones(scene) if days else {}
    for path, written in _times(scene.json(source), _IN_UTC) if zones else ():
        name = next((one for one, day in days.items() if day == written[:10]), None)
        for zone, told in zones.items() if name is not None else ():
            day = datetime.fromisoformat(written).astimezone(ZoneInfo(zone)).date().isoformat()
            if day != written[:10]:
                time = f"{shown_path(path)}, which is {shown_value(written)}"
                is_utc = f"{name} is {shown_value(written[:10])}: of {time}, that is the day in UTC"
                return f"{is_utc}, and {told} it is {day}"
    return None


def _zones(scene: Scene) -> dict[str, str]:
    """The time zones that the workflow is set to, or that its items name."""
    zones: dict[str, str] = {}
    own = (scene.execution.workflow.settings or {}).get("timezone")
    if isinstance(own, str) and own in available_timezones():
        zones[own] = f"in {own}, the time zone of the workflow,"
    for at in scene.first_runs[:_MOST_SOURCES]:
        for place in list(scene.outputs(at))[:_MOST_SOURCES]:
            for _, path in zip(range(_MOST_PATHS), plain_paths(scene.json(place)), strict=False):
                value = scene.value(place, path)
                if isinstance(value, str) and _ZONE.fullmatch(value) and value in available_timezones():
                    zones.setdefault(value, f"in {value}, which '{at.node}' gives as {shown_path(path)},")
    return zones


def _days(data: Any) -> dict[str, str]:
    held = data.items() if isinstance(data, Mapping) else ()
    return {str(key): one for key, one in held if isinstance(one, str) and _DAY.fullmatch(one)}


def _times(data: Any, form: re.Pattern[str]) -> Iterator[tuple[tuple[str, ...], str]]:
    for _, path in zip(range(_MOST_PATHS), plain_paths(data), strict=False):
        value: Any = data
        for step in path:
            value = value[int(step)] if isinstance(value, list) else value[step]
        if isinstance(value, str) and form.fullmatch(value):
            yield path, value


def _utc_day(written: str) -> str | None:
    try:
        return datetime.fromisoformat(written).astimezone(UTC).date().isoformat()
    except (ValueError, OverflowError):
        return None


def seconds_as_milliseconds(scene: Scene) -> Cause | None:
    """A day in January 1970 that was made of a number of seconds: it was read as milliseconds."""
    for at in scene.first_runs:
        for place in list(scene.outputs(at))[:_MOST_ITEMS] if scene.kind(at.node) in _MAKES_DATES else ():
            made, source = scene.json(place), next(iter(scene.parents(place)), None)
            held = made.items() if isinstance(made, Mapping) and source is not None else ()
            days = {str(key): one[:10] for key, one in held if isinstance(one, str) and one.startswith(_BEGINNING)}
            for path, number in _seconds(scene.json(source)) if days and source is not None else ():
                name = next((one for one, day in days.items() if day == _day_of(number / 1000)), None)
                if name is not None:
                    read = f"{shown_path(path)}, which is {number}, is read as milliseconds"
                    problem = f"{name} is {shown_value(made[name])}: {read}; as seconds it is {_day_of(number)}"
                    return Cause(node=at.node, problem=problem, place=place, walk=(place,), certain=False)
    return None


def _seconds(data: Any) -> Iterator[tuple[tuple[str, ...], int]]:
    """Numbers that are seconds of our time."""
    for _, path in zip(range(_MOST_PATHS), plain_paths(data), strict=False):
        value = value_at(data, path)
        if isinstance(value, int) and _SECONDS[0] <= value < _SECONDS[1]:
            yield path, value


def _day_of(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).date().isoformat()


def joined_out_of_order(scene: Scene) -> Cause | None:
    """A merge by position of two lists that have the same keys in another order."""
    return _out_of_order(scene, "their keys", lambda one, other, _: _are_one_key(one, other))


def joined_with_others(scene: Scene) -> Cause | None:
    """A merge by position of two lists that have the same texts in another order: people may be paired on purpose."""
    return _out_of_order(scene, "the same texts", lambda _one, _other, values: _words(values))


def _out_of_order(scene: Scene, what: str, belong: Callable[[str, str, list[Any]], bool]) -> Cause | None:
    for at in scene.first_runs:
        settings = scene.settings.get(at.node, {}) if scene.kind(at.node) == "merge" else {}
        sides = scene.inputs(at.run) if settings.get("combineBy") == "combineByPosition" else []
        if len(sides) != 2 or not 1 < len(sides[0].items) == len(sides[1].items) <= _MOST_ITEMS:
            continue
        first, second = (_columns(scene, one) for one in sides)
        apart = _sorted_apart(scene, sides) and len(sides[0].items) >= _FEWEST_KEYS
        pairs = [(one, other) for one in first for other in second if apart or belong(one, other, first[one])]
        found = [
            (one, other) for one, other in pairs if sorted(map(str, first[one])) == sorted(map(str, second[other]))
        ]
        if not found or any(first[one] == second[other] for one, other in found):
            continue
        one, other = found[0]
        row = next(number for number, value in enumerate(first[one]) if value != second[other][number])
        holders = [_holder(scene, _places(side)[row], name) for side, name in zip(sides, (one, other), strict=True)]
        keys = f"{one} {first[one][row]} from '{holders[0]}' with {other} {second[other][row]} from '{holders[1]}'"
        problem = f"it joins by position, and the two lists have {what} in another order: item {row} joins {keys}"
        place = Place(node=at.node, run=at.index, output=0, item=row)
        return Cause(node=at.node, problem=problem, place=place, walk=(place,), certain=False)
    return None


def _sorted_apart(scene: Scene, sides: Sequence[Input]) -> bool:
    """Whether a Sort node is on the way of one side only: equal values are keys then, whatever their names are."""
    ways = [{side.node, *scene.leading_from(side.node)} for side in sides]
    return any(scene.kind(name) == "sort" for name in ways[0] ^ ways[1])


def _places(side: Input) -> list[Place]:
    return [Place(node=side.node, run=side.run, output=side.output, item=one) for one in range(len(side.items))]


def _columns(scene: Scene, side: Input) -> dict[str, list[Any]]:
    """The fields that all items of an input have, with values that all differ."""
    rows = [_with_fields_before(scene, place) for place in _places(side)]
    if not all(isinstance(row, Mapping) for row in rows):
        return {}
    names = [
        str(name) for name in list(rows[0])[:_MOST_FIELDS] if all(isinstance(row.get(name), (str, int)) for row in rows)
    ]
    columns = {name: [row[name] for row in rows] for name in names}
    return {name: held for name, held in columns.items() if len(set(map(str, held))) == len(held)}


def _with_fields_before(scene: Scene, place: Place) -> Any:
    """An item with the fields of those that it was made from: a key may have been dropped on the way."""
    held = [scene.json(one) for one in reversed(scene.walk(place)[:_MOST_BEFORE])]
    if not isinstance(held[-1], Mapping):
        return None
    return {key: value for one in held if isinstance(one, Mapping) for key, value in one.items()}


def _holder(scene: Scene, place: Place, name: str) -> str:
    """The node that gave out the item in which this field is: this one, or one that it was made from."""
    having = (one.node for one in scene.walk(place) if not is_absent(scene.value(one, (name,))))
    return next(having, place.node)


def _words(values: list[Any]) -> bool:
    """Whether these are texts that are no numbers: two lists of the same ones are keys, whatever their names are."""
    return all(isinstance(one, str) and not one.isdecimal() and len(one) > 1 for one in values)


def _are_one_key(one: str, other: str) -> bool:
    """Whether two names say that they hold the same key: id and id, id and order_id, order and orderId."""
    first, second = (_NO_LETTER.sub("", name).casefold() for name in (one, other))
    shorter, longer = sorted((first, second), key=len)
    return longer.endswith(shorter) or longer.removesuffix("id") == shorter


def appended_twice(scene: Scene) -> Cause | None:
    """A merge that appends items to those that they were made from, so that they come twice."""
    for at in scene.first_runs:
        settings = scene.settings.get(at.node, {}) if scene.kind(at.node) == "merge" else None
        sides = scene.inputs(at.run) if settings is not None and settings.get("mode", "append") == "append" else []
        if len(sides) > 1 and (source := _same_items(scene, sides[0], sides[1])) is not None:
            count = len(sides[0].items)
            made = f"both have the same {count} items, which come from '{source}'"
            problem = f"it appends its inputs '{sides[0].node}' and '{sides[1].node}', and {made}: each comes twice"
            place = Place(node=at.node, run=at.index, output=0, item=0)
            return Cause(node=at.node, problem=problem, place=place, walk=(place,), certain=False)
        for side, other in [(one, each) for one in sides for each in sides if one is not each]:
            twice = [place for place in _places(side)[:_MOST_ITEMS] if _is_made_from(scene, place, other)]
            if twice:
                made = f"{len(twice)} items of '{side.node}' were made from items of '{other.node}'"
                problem = f"it appends its inputs, and {made}, which it appends as well"
                return Cause(node=at.node, problem=problem, place=twice[0], walk=(twice[0],), certain=False)
    return None


def _same_items(scene: Scene, one: Input, other: Input) -> str | None:
    """The node from which two inputs have the same items, if they do."""
    left, right = _places(one)[:_MOST_ITEMS], _places(other)[:_MOST_ITEMS]
    if not left or [scene.json(place) for place in left] != [scene.json(place) for place in right]:
        return None
    ways = [scene.walk(place) for place in (left[0], right[0])]
    return next((place.node for place in ways[0] if place in ways[1]), None)


def _is_made_from(scene: Scene, place: Place, other: Input) -> bool:
    """Whether an item was made from one of the other input, and still has all that this one has."""
    there, data = set(_places(other)[:_MOST_ITEMS]), scene.json(place)
    for one in scene.walk(place)[1:]:
        if len(scene.parents(one)) > 1:
            return False
        if one in there:
            held = scene.json(one)
            both = isinstance(held, Mapping) and isinstance(data, Mapping) and bool(held)
            return both and all(data.get(key) == value for key, value in held.items())
    return False


def numbers_sorted_as_texts(scene: Scene) -> Cause | None:
    """Code that sorts numbers without a function to compare them: 1200 comes before 90."""
    for at in scene.first_runs:
        code = scene.settings.get(at.node, {}).get("jsCode") if scene.kind(at.node) == "code" else None
        rows = [scene.json(place) for place in scene.outputs(at)][:_MOST_ITEMS] if isinstance(code, str) else []
        if (
            len(rows) < _FEWEST_SORTED
            or not _SORTS.search(str(code))
            or not all(isinstance(one, Mapping) for one in rows)
        ):
            continue
        for name in list(rows[0])[:_MOST_FIELDS]:
            held = [row.get(name) for row in rows]
            numbers = [one for one in held if isinstance(one, (int, float)) and not isinstance(one, bool)]
            if len(numbers) == len(held) and numbers == sorted(numbers, key=str) != sorted(numbers):
                shown = ", ".join(map(str, numbers[:_MOST_SHOWN]))
                sorts = "its code calls sort() without a function, which compares as texts"
                problem = f"{sorts}: {name} is {shown} in this order"
                return Cause(node=at.node, problem=problem, certain=False)
    return None


def asked_for_each(scene: Scene) -> Cause | None:
    """A request that is the same for all items, and whose list came once for each of them."""
    for at in scene.first_runs:
        settings = scene.settings.get(at.node, {}) if scene.kind(at.node) == "httpRequest" else {}
        given, made = scene.execution.items_given_to(at.run), at.run.items_out
        reads = any(one.startswith("=") for one in texts(settings))
        if (
            not settings
            or settings.get("method", "GET") != "GET"
            or reads
            or "pagination" in repr(settings.get("options"))
        ):
            continue
        each = made // given if given > 1 and made % given == 0 else 0
        if each > 1 and made <= _MOST_ITEMS and _is_repeated(scene, at, each):
            asks = f"it asks once for each of its {given} items, each time the same"
            problem = f"{asks}, so it gives out the same {each} items {given} times"
            return Cause(node=at.node, problem=problem, certain=False)
    return None


def months_written_otherwise(scene: Scene) -> Cause | None:
    """A date with minutes in the place of its month, or with a month that counts from 0."""
    for at in scene.first_runs:
        place = next(iter(scene.outputs(at)), None)
        for written in texts(scene.settings.get(at.node, {})) if place is not None else ():
            text = written[:_LONGEST_READ]
            form = next((one for one in map(_minutes, _QUOTED.findall(text)) if one), None)
            if form is not None:
                problem = f"it uses the date format {form}, in which mm is minutes: the month is MM"
                return Cause(node=at.node, problem=problem, place=place, certain=False)
            if (given := _MONTH_GIVEN.search(text)) is not None and not _LESS_ONE.search(text):
                problem = (
                    f"it makes a date by {given[0]}…: months count from 0 there, and {given[1]} is not made less by 1"
                )
                return Cause(node=at.node, problem=problem, place=place, certain=False)
            if (month := _FROM_ZERO.search(text)) is not None:
                problem = f"it writes {month[0].strip('+ ')} into a text: getMonth() counts from 0, so January is 0"
                return Cause(node=at.node, problem=problem, place=place, certain=False)
    return None


def _minutes(form: str) -> str | None:
    """The format, if it has a year or a day beside minutes, and no hours."""
    parts = set(_NO_LETTER.split(form))
    of_day = parts & {"yyyy", "YYYY", "yy", "dd", "DD", "d"}
    return form if "mm" in parts and of_day and not parts & {"H", "HH", "h", "hh", "ss"} else None


def _is_repeated(scene: Scene, at: RunPlace, each: int) -> bool:
    rows = [scene.json(place) for place in scene.outputs(at) if place.output == 0]
    return all(row == rows[number % each] for number, row in enumerate(rows))


PLAUSIBLE_RULES: Final[tuple[Callable[[Scene], Cause | None], ...]] = (
    joined_out_of_order,
    joined_with_others,
    appended_twice,
    asked_for_each,
    seconds_as_milliseconds,
    day_in_utc,
    months_written_otherwise,
    numbers_sorted_as_texts,
)
