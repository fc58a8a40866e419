"""Check what is read from n8n's own values and from written ones: `$('A').json`, `$now.addDays()`, `'a'.toUppercase()`.

The lists are facts of n8n 2.41: what the language, Luxon and n8n itself give to a value. n8n adds its own functions to
texts, numbers, lists and dates; one that it has for any of them is never called unknown.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from dogubako.packs.n8n.diagnosis.replay.syntax import Tree
from dogubako.packs.n8n.nodes.problems import Problem, is_likely_typo, near_names, quoted

_OF_ALL: Final = """
    constructor hasOwnProperty isPrototypeOf propertyIsEnumerable toLocaleString toString valueOf __proto__ length name
"""
_ADDED: Final = """
    abs append average base64Decode base64Encode beginningOf ceil chunk compact diffTo diffToNow difference endOfMonth
    extract extractDomain extractEmail extractUrl extractUrlPath first floor format hasField hash intersection isBetween
    isDomain isDst isEmail isEmpty isEven isInLast isInteger isNotEmpty isNumeric isOdd isUrl isWeekend
    keepFieldsContaining keys last length max merge mergeIntoObject min minus parseJson plus pluck quote randomItem
    removeDuplicates removeField removeFieldsContaining removeMarkdown removeTags renameKeys replaceSpecialChars reverse
    round smartJoin sum toBoolean toDate toDateTime toDecimalNumber toFloat toInt toJsonString toNumber toSentenceCase
    toSnakeCase toTitleCase toWholeNumber union unique urlDecode urlEncode values
"""
_STRING: Final = """
    anchor at big blink bold charAt charCodeAt codePointAt concat endsWith fixed fontcolor fontsize includes indexOf
    isWellFormed italics lastIndexOf link localeCompare match matchAll normalize padEnd padStart repeat replace
    replaceAll search slice small split startsWith strike sub substr substring sup toLocaleLowerCase toLocaleUpperCase
    toLowerCase toUpperCase toWellFormed trim trimEnd trimLeft trimRight trimStart
"""
_ARRAY: Final = """
    at concat copyWithin entries every fill filter find findIndex findLast findLastIndex flat flatMap forEach includes
    indexOf join keys lastIndexOf map pop push reduce reduceRight reverse shift slice some sort splice toReversed
    toSorted toSpliced unshift values with
"""
_DATE: Final = """
    ts loc invalid weekData localWeekData c o isLuxonDateTime get isValid invalidReason invalidExplanation locale
    numberingSystem outputCalendar zone zoneName year quarter month day hour minute second millisecond weekYear
    weekNumber weekday isWeekend localWeekday localWeekNumber localWeekYear ordinal monthShort monthLong weekdayShort
    weekdayLong offset offsetNameShort offsetNameLong isOffsetFixed isInDST getPossibleOffsets isInLeapYear daysInMonth
    daysInYear weeksInWeekYear weeksInLocalWeekYear resolvedLocaleOptions toUTC toLocal setZone reconfigure setLocale
    set plus minus startOf endOf toFormat toLocaleParts toISO toISODate toISOWeekDate toISOTime toRFC2822 toHTTP
    toSQLDate toSQLTime toSQL toMillis toSeconds toUnixInteger toJSON toBSON toObject toJSDate diff diffNow until
    hasSame equals toRelative toRelativeCalendar resolvedLocaleOpts
"""
_OF_DATES: Final = """
    now local utc fromJSDate fromMillis fromSeconds fromObject fromISO fromRFC2822 fromHTTP fromFormat fromString
    fromSQL
"""
_DATE_TIME: Final = """
    invalid isDateTime parseFormatForOpts expandFormat resetCache min max fromFormatExplain fromStringExplain
    buildFormatParser fromFormatParser DATE_SHORT DATE_MED DATE_MED_WITH_WEEKDAY DATE_FULL DATE_HUGE TIME_SIMPLE
    TIME_WITH_SECONDS TIME_WITH_SHORT_OFFSET TIME_WITH_LONG_OFFSET TIME_24_SIMPLE TIME_24_WITH_SECONDS
    TIME_24_WITH_SHORT_OFFSET TIME_24_WITH_LONG_OFFSET DATETIME_SHORT DATETIME_SHORT_WITH_SECONDS DATETIME_MED
    DATETIME_MED_WITH_SECONDS DATETIME_MED_WITH_WEEKDAY DATETIME_FULL DATETIME_FULL_WITH_SECONDS DATETIME_HUGE
    DATETIME_HUGE_WITH_SECONDS prototype apply bind call
"""
_FUNCTIONS: Final = ("first", "last", "all", "itemMatching", "pairedItem")
_SOURCE: Final = (*_FUNCTIONS, "item", "context", "params", "isExecuted")
_NODE: Final = ("json", "binary", "context", "parameter", "runIndex")
_LIST: Final = frozenset((_ARRAY + _ADDED + _OF_ALL).split())
# What values of a kind have. Of an item nothing is claimed: nodes may add to it.
_MEMBERS: Final[Mapping[str, frozenset[str]]] = {
    "source": frozenset([*_SOURCE, "isProxy", *_OF_ALL.split()]),
    "node": frozenset([*_NODE, "data", "isProxy", "isExecuted", *_OF_ALL.split()]),
    "function": frozenset([*_OF_ALL.split(), "call", "apply", "bind"]),
    "string": frozenset((_STRING + _ADDED + _OF_ALL).split()),
    "number": frozenset(("toExponential toFixed toPrecision" + _ADDED + _OF_ALL).split()),
    "list": _LIST,
    "items": _LIST,
    "date": frozenset((_DATE + _ADDED + _OF_ALL).split()),
    "DateTime": frozenset((_OF_DATES + _DATE_TIME + _OF_ALL).split()),
}
_IN_WORDS: Final[Mapping[str, str]] = {
    "string": "a text",
    "number": "a number",
    "list": "a list",
    "items": "a list of items",
    "date": "a date of Luxon",
    "DateTime": "DateTime",
}
# Kinds whose members are as good as fields: reading one is as wrong as calling it.
_READ: Final = ("items", "date", "DateTime")
# What people look for in an item beside its json.
_FIELDS: Final = ("body", "query", "headers", "params", "data", "id", "name", "email", "fields")
_STILL_DATES: Final = "plus minus startOf endOf setZone set toUTC toLocal setLocale"
_TEXTS_OF_DATES: Final = "toFormat toISO toISODate toISOTime toSQL toRFC2822 toHTTP"
_STILL_TEXTS: Final = "trim toUpperCase toLowerCase replace replaceAll slice padStart padEnd repeat"
# What a method gives, by the kind of its value.
_GIVES: Final[Mapping[str, Mapping[str, str]]] = {
    "source": {"first": "item", "last": "item", "itemMatching": "item", "all": "items"},
    "DateTime": dict.fromkeys(_OF_DATES.split(), "date"),
    "date": {**dict.fromkeys(_STILL_DATES.split(), "date"), **dict.fromkeys(_TEXTS_OF_DATES.split(), "string")},
    "string": dict.fromkeys(_STILL_TEXTS.split(), "string"),
}
_VALUES: Final[Mapping[str, str]] = {"$now": "date", "$today": "date", "DateTime": "DateTime", "$input": "source"}


class _Fault(NamedTuple):
    """What a piece of code reads or calls, and what it should. `sure`: no version of n8n has it."""

    says: str
    near: tuple[str, ...] = ()
    sure: bool = True


def check_members(tree: Tree, declared: frozenset[str], path: str, *, certain: bool) -> Iterator[Problem]:
    """Each wrong member of a piece of code, told once. `declared` are names of the code itself."""
    faults = [fault for part, called in _parts(tree) if (fault := _fault(part, declared, called=called)) is not None]
    for says, near, sure in dict.fromkeys(faults):
        message = f"{quoted(path)} {says}"
        yield Problem(kind="unknownVariable", path=path, message=message, near=near, certain=certain and sure)


def _parts(tree: Tree, *, called: bool = False) -> Iterator[tuple[Tree, bool]]:
    yield tree, called
    for number, part in enumerate(tree.parts):
        if part is not None:
            yield from _parts(part, called=tree.kind == "call" and number == 0)


def _fault(tree: Tree, declared: frozenset[str], *, called: bool) -> _Fault | None:
    base = tree.parts[0] if tree.parts else None
    if base is not None and tree.kind == "call" and _is_name(base, "$node", declared):
        return _Fault("calls $node, which is no function: write $('Name').item.json.")
    if base is None or tree.kind != "member":
        return None
    if tree.value[0] == "env" and _is_name(base, "process", declared):
        return _Fault("reads process.env, which n8n keeps empty: write $env.NAME.", sure=False)
    name, kind = str(tree.value[0])[:60], _kind(base, declared)
    if kind == "item" and name in _FIELDS and not called:
        return _Fault(f"reads {quoted(name)} of an item, whose fields are in json: write .json.{name}.", sure=False)
    if kind is None or kind not in _MEMBERS or name in _MEMBERS[kind]:
        return None
    if kind == "source":
        return _of_source(name, base)
    if kind == "node":
        return _Fault(f"reads {quoted(name)} of $node['…'], which has {', '.join(_NODE)}.")
    if kind == "function":
        own = str(base.value[0])
        return _Fault(f"reads {quoted(name)} of the function {own}: write {own}().{name}.")
    if kind == "items" and name in ("json", "binary", *_FIELDS):
        return _Fault(f"reads {quoted(name)} of a list of items: write first() instead of all().")
    if not called and kind not in _READ:
        return None
    what = f"{'calls' if called else 'reads'} {quoted(name)} of {_IN_WORDS[kind]}, which has no such member."
    return _Fault(what, _near(name, _MEMBERS[kind]), sure=False)


def _of_source(name: str, base: Tree) -> _Fault:
    own = "$input" if base.kind == "name" else "$('…')"
    has = f"reads {quoted(name)} of {own}, which has only {', '.join(_SOURCE)}."
    if name == "json" or name in _FIELDS:
        return _Fault(f"{has} Write {own}.item.json{'' if name == 'json' else f'.{name}'}.")
    return _Fault(has, _near(name, _SOURCE))


def _near(name: str, known: Iterable[str]) -> tuple[str, ...]:
    return tuple(one for one in near_names(name, known) if is_likely_typo(name, one))


def _kind(tree: Tree, declared: frozenset[str]) -> str | None:
    """What a value is, if that is sure."""
    base = tree.parts[0] if tree.parts else None
    if tree.kind in ("template", "list"):
        return "string" if tree.kind == "template" else "list"
    if tree.kind == "literal":
        plain = type(tree.value)
        return "string" if plain is str else "number" if plain in (int, float) else None
    if tree.kind == "name":
        return _VALUES.get(str(tree.value)) if tree.value not in declared else None
    if base is None:
        return None
    if tree.kind in ("member", "index") and _is_name(base, "$node", declared):
        return "node"
    if tree.kind == "call":
        return _kind_of_call(base, declared)
    of = _kind(base, declared)
    if tree.kind == "index":
        return "item" if of == "items" else None
    if tree.kind == "member" and of == "source":
        return "item" if tree.value[0] == "item" else "function" if tree.value[0] in _FUNCTIONS else None
    return None


def _kind_of_call(called: Tree, declared: frozenset[str]) -> str | None:
    if called.kind == "name" and called.value not in declared:
        return {"$": "source", "$items": "items"}.get(str(called.value))
    if called.kind != "member" or called.parts[0] is None:
        return None
    return _GIVES.get(str(_kind(called.parts[0], declared)), {}).get(str(called.value[0]))


def _is_name(tree: Tree, name: str, declared: frozenset[str]) -> bool:
    return tree.kind == "name" and tree.value == name and name not in declared
