"""Rules for texts that do not parse: JSON, dates, and the JSON body of a request."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from dogubako.packs.n8n.diagnosis.answers import is_html
from dogubako.packs.n8n.diagnosis.failures import Failure
from dogubako.packs.n8n.diagnosis.javascript_dates import is_date
from dogubako.packs.n8n.diagnosis.lineage import maker_of
from dogubako.packs.n8n.diagnosis.references import Reference, only_reference, references_in
from dogubako.packs.n8n.diagnosis.scene import Cause, Scene
from dogubako.packs.n8n.diagnosis.shown import shown_value
from dogubako.packs.n8n.diagnosis.trace import trace_value
from dogubako.packs.n8n.diagnosis.xml_rules import broken_xml
from dogubako.packs.n8n.formatters.flow import Place
from dogubako.packs.n8n.formatters.truncation import is_absent
from dogubako.packs.n8n.javascript_names import of_names
from dogubako.packs.n8n.models import Run

JSON_FAILED = re.compile(r"Unexpected (?:token|end of|non-whitespace)|in JSON at position|valid JSON|Invalid JSON")
_BAD_DATE = re.compile(r"Invalid time value|Invalid date|unparsable|not a valid date", re.IGNORECASE)
# The argument of a call, with at most one call inside. Bounded, because code may be hostile.
_ARGUMENT: Final = r"\s*+\(([^()]{0,300}+(?:\([^()]{0,300}+\))?[^()]{0,300}+)\)"
_DATE_READ = re.compile(rf"(?:new Date|Date\.parse|DateTime\.from\w++|moment|parseISO|toDateTime){_ARGUMENT}")
_PARSED = re.compile(rf"JSON\.parse{_ARGUMENT}")
_EXPRESSION = re.compile(r"\{\{(?:[^{}]++|\{(?!\{)|\}(?!\}))*+\}\}")
# What the language says, and the calls whose argument it is about.
_REFUSALS: Final = tuple(
    (told, re.compile(rf"{call}{_ARGUMENT}"))
    for told, call in (
        ("Invalid array length", r"(?<![\w$.])Array"),
        ("Invalid typed array length", r"(?<![\w$.])\w+Array"),
        ("URI malformed", r"(?:de|en)codeURI(?:Component)?"),
        ("Invalid count value", r"\.repeat"),
        ("digits argument must be", r"\.to(?:Fixed|Exponential)"),
        ("precision argument must be", r"\.toPrecision"),
        ("Invalid code point", r"fromCodePoint"),
        ("Cannot convert", r"(?<![\w$.])BigInt"),
        ("Invalid regular expression", r"(?<![\w$.])RegExp"),
    )
)
_QUOTES = re.compile(
    r"(?:Invalid|Incorrect|Unknown|Unsupported)[^:\n]{0,60}\s?:\s*+(\S.{0,199}?)(?:\.? URL must.{0,80})?$"
)
_MOST_ITEMS: Final = 200
_LONGEST_TEMPLATE: Final = 20_000
_HOLDS_JSON = re.compile(r"json|responseBody", re.IGNORECASE)


def body_broken(failure: Failure) -> Cause | None:
    """A JSON body that is written wrongly, or that a value breaks."""
    if "JSON" not in failure.message:
        return None
    for key, text in failure.settings.items():
        if not isinstance(text, str) or not _HOLDS_JSON.search(key) or not text.startswith("="):
            continue
        if len(text) >= _LONGEST_TEMPLATE or _EXPRESSION.fullmatch(text[1:].strip()):
            continue
        if not _is_json(_filled(text[1:])):
            return Cause(node=failure.node, problem=f"the JSON in its parameter {key} is written wrongly", own=True)
        return _breaking_value(failure, key, text[1:])
    return None


def _breaking_value(failure: Failure, key: str, template: str) -> Cause | None:
    """The one value without which the JSON would be valid: the text is filled in as n8n does it."""
    for place in failure.places:
        held = {text: one for text in _EXPRESSION.findall(template) if (one := _held(failure, text, place)) is not None}
        if _is_json(_filled(template, held)):
            continue
        breaking = [one for one in held if _is_json(_filled(template, {**held, one: None}))]
        if len(breaking) != 1:
            problem = f"the JSON in its parameter {key} is not valid with the values of this item"
            return Cause(node=failure.node, problem=problem)
        where, reference, value = held[breaking[0]]
        quoted = _is_quoted(template, template.index(breaking[0]))
        return _explained(failure, key, reference, where, value, quoted=quoted)
    return None


def repaired_json(scene: Scene) -> Cause | None:
    """A Set node whose JSON is written by hand, and that a value breaks: n8n repairs it, and makes something of it."""
    for at in scene.first_runs:
        settings = scene.settings.get(at.node, {}) if scene.kind(at.node) == "set" else {}
        text = settings.get("jsonOutput") if settings.get("mode") == "raw" else None
        if not isinstance(text, str) or not text.startswith("=") or len(text) >= _LONGEST_TEMPLATE:
            continue
        template = text[1:]
        if _EXPRESSION.fullmatch(template.strip()) or not _is_json(_filled(template)):
            continue
        for place in scene.input_places(at.run)[:_MOST_ITEMS]:
            found = {one: _held_in(scene, one, place, at.run) for one in _EXPRESSION.findall(template)}
            held = {one: value for one, value in found.items() if value is not None}
            bad = [one for one in held if not _is_json(_filled(template, {one: held[one]}))]
            if bad:
                where, reference, value = held[bad[0]]
                told = f"its JSON is written by hand, and {reference.written}, which is {shown_value(value)}, breaks it"
                cause = Cause(node=at.node, problem=f"{told}: n8n repairs it somehow", place=where, certain=False)
                # It may have come out as it was meant.
                made = [scene.json(one) for one in scene.outputs(at)]
                kept = any(value in one.values() for one in made if isinstance(one, Mapping))
                return cause if kept else cause.in_doubt()
    return None


def _explained(failure: Failure, key: str, reference: Reference, place: Place, value: Any, *, quoted: bool) -> Cause:
    if is_absent(value) or value is None:
        return failure.trace_gap(reference, place)
    giver = maker_of(failure.scene, place, reference.names)
    if isinstance(value, (list, dict)):
        held = f"{reference.written} is {shown_value(value)}, from '{giver}', which is no text"
        problem = f"the JSON in its parameter {key} takes {reference.written} as it is; {held}"
        problem = f"{problem}: JSON.stringify() would write it as JSON"
        return Cause(node=failure.node, problem=problem, place=place)
    if quoted or not isinstance(value, str):
        # A text may have quotes: who writes it into JSON has to escape them.
        maker = failure.trace(reference, place, "")
        held = f"{reference.written} is {shown_value(value)}, from '{maker.node}'"
        breaks = "whose quotes, line breaks or backslashes break the JSON: JSON.stringify() would escape it"
        problem = f"the JSON in its parameter {key} takes {reference.written} as it is; {held}, {breaks}"
        return replace(maker, node=failure.node, problem=problem, place=place).in_doubt()
    others = [one for at, one in failure.values(reference) if at != place] or [
        failure.scene.value(one, reference.names) for one in failure.scene.siblings(place)
    ]
    if any(isinstance(one, (int, float)) for one in others):
        return failure.trace(reference, place, "where other items have a number, and the JSON has no quotes around it")
    told = f"{reference.written}, which is {shown_value(value)}, from '{giver}'"
    return Cause(node=failure.node, problem=f"the JSON in its parameter {key} has no quotes around {told}", place=place)


_Held = tuple[Place, Reference, Any]


def _held(failure: Failure, expression: str, place: Place) -> _Held | None:
    return _held_in(failure.scene, expression, place, failure.run)


def _held_in(scene: Scene, expression: str, place: Place, run: Run) -> _Held | None:
    """What an expression that is one reference finds while this item is processed."""
    reference = only_reference(f"={expression}")
    found = scene.places_read(reference, place, run)[:1] if reference is not None else []
    return (found[0], reference, scene.value(found[0], reference.names)) if found and reference else None


def _filled(template: str, held: Mapping[str, _Held | None] | None = None) -> str:
    """The template with its values, and with a harmless one for every expression whose value is not known."""

    def filled(match: re.Match[str]) -> str:
        known = (held or {}).get(match[0])
        if known is None:
            return "x" if _is_quoted(template, match.start()) else "0"
        value = known[2]
        if isinstance(value, bool) or not isinstance(value, (str, int, float, dict, list)):
            return str(value).lower() if isinstance(value, bool) else ""
        return "[object Object]" if isinstance(value, (dict, list)) else str(value)

    return _EXPRESSION.sub(filled, template)


def _is_quoted(template: str, place: int) -> bool:
    return template.count('"', 0, place) % 2 == 1


def unreadable_json(failure: Failure) -> Cause | None:
    """A text that `JSON.parse` or a node could not read."""
    told = f"{failure.message} {failure.raw.get('description') or ''}"
    # The text of a service's answer is not among the items that the node read.
    of_answer = "response body" in told.lower() and failure.kind != "respondToWebhook"
    if JSON_FAILED.search(told) is None or of_answer:
        return None
    written = _PARSED.findall(failure.code)
    parsed = [one for text in written for one in _resolved(failure, text)]
    for reference in parsed if written else _only_one(failure):
        for place, value in failure.values(reference):
            if isinstance(value, str) and not _is_json(value):
                what = "HTML, not JSON" if is_html(value) else "which is not valid JSON"
                return failure.trace(reference, place, what)
            if parsed and (is_absent(value) or value is None):
                return failure.trace_gap(reference, place)
            if parsed and isinstance(value, (dict, list)):
                return parsed_already(failure, place, reference.names)
    return None


def parsed_already(failure: Failure, place: Place, path: tuple[str, ...]) -> Cause:
    """JSON.parse of an object: needless, unless other items have a text there."""
    described = "already parsed: JSON.parse wants a text"
    others = [failure.scene.value(one, path) for one in failure.scene.siblings(place)]
    cause = trace_value(failure.scene, place, path, described)
    if any(isinstance(one, str) for one in others):
        return cause
    told = f"{cause.problem}, and from '{cause.node}' it comes as it is"
    return replace(cause, node=failure.node, problem=told, place=place, path=path)


_WANTS_TEXT = re.compile(r"must be (?:of type|a) string\b.{0,120}Received an instance of (?:Object|Array)", re.DOTALL)


def _only_one(failure: Failure) -> list[Reference]:
    """The reference on the line of the error, if it is the only one: of several it is not known which is meant."""
    found = {(one.node, one.pick, one.names): one for one in failure.on_line()}
    return list(found.values()) if len(found) == 1 else []


def parsed_and_caught(failure: Failure) -> Cause | None:
    """A text that `JSON.parse` could not read, in code that catches the error and throws its words again."""
    return unreadable_json(failure) if "catch" in failure.code and _PARSED.search(failure.code) else None


def bad_date(failure: Failure) -> Cause | None:
    """A date that does not parse."""
    if _BAD_DATE.search(f"{failure.message} {failure.raw.get('description') or ''}") is None:
        return None
    written = _DATE_READ.findall(failure.code)
    dated = [one for text in written for one in _resolved(failure, text)]
    joined = any("+" in text or "${" in text for text in written)
    # A date that is made of something else than a known field may be of any.
    found = [(one, *held) for one in (dated if written else _only_one(failure)) for held in failure.values(one)]
    unread = [(one, place) for one, place, value in found if isinstance(value, str) and not is_date(value)]
    if unread:
        return failure.trace(*unread[0], "which is not read as a date as it is written")
    for reference, place, value in found if dated else ():
        if _is_no_date(failure, reference, value, joined):
            return failure.trace_gap(reference, place)
    return None


def _is_no_date(failure: Failure, reference: Reference, value: Any, joined: bool) -> bool:
    """Whether no date can be made of nothing. Of null alone JavaScript makes 1970; a guarded field is not read."""
    if _is_guarded(failure.code, reference):
        return False
    return is_absent(value) or (value is None and (joined or "Invalid time value" not in failure.message))


def _is_guarded(code: str, reference: Reference) -> bool:
    """Whether the code asks first whether the field is there, or has something else in its place."""
    name = re.escape(reference.names[-1]) if reference.names else ""
    before = rf"(?<![\w$]){name}['\"]?\]?\)?\s*+(?:&&|\|\||\?)"
    asked = rf"(?<![\w$])if\s*+\([^{{}}\n]{{0,200}}(?<![\w$]){name}(?![\w$])"
    return bool(name) and of_names(f"{before}|{asked}").search(code) is not None


def value_not_taken(failure: Failure) -> Cause | None:
    """A function of the language that refused its argument: `Invalid array length`, `URI malformed`."""
    call = next((pattern for told, pattern in _REFUSALS if told in failure.plain), None)
    if call is None:
        return None
    read = [one for text in call.findall(failure.code) for one in _resolved(failure, text)]
    unique = list({(one.node, one.pick, one.names): one for one in read}.values())
    for reference in unique if len(unique) == 1 else ():
        found = list(failure.values(reference))
        for place, value in found if len(found) == 1 else ():
            if isinstance(value, (str, int, float)):
                return failure.trace(reference, place, "which the function does not take")
    return None


def object_for_text(failure: Failure) -> Cause | None:
    """An object or a list where a function of the language wants a text."""
    if _WANTS_TEXT.search(failure.plain) is None or failure.is_code:
        return None
    found = [(one, *held) for one in _only_one(failure) for held in failure.values(one)]
    objects = [(one, place) for one, place, value in found if isinstance(value, (dict, list))]
    return failure.trace(*objects[0], "where a text was expected") if len(found) == len(objects) == 1 else None


def value_quoted(failure: Failure) -> Cause | None:
    """A message that ends with the value that it complains about: `Invalid time zone specified: Berlin`."""
    quoted = _QUOTES.match(failure.plain)
    # What code throws itself may be a rule of the business.
    if quoted is None or "throw" in failure.code:
        return None
    told = (quoted[1], _of_bytes(quoted[1]))
    for reference in [*failure.on_line(), *failure.references]:
        for place, value in failure.values(reference):
            if isinstance(value, (str, int, float)) and not isinstance(value, bool) and str(value) in told:
                return failure.trace(reference, place, "which is not valid there")
    return None


def _of_bytes(text: str) -> str:
    """The text of which V8 has written each byte as a sign of its own, in messages of Intl."""
    try:
        return text.encode("latin-1").decode()
    except UnicodeError:
        return text


def _resolved(failure: Failure, text: str) -> list[Reference]:
    """The references in an argument, also if it is only the name of an alias."""
    named = failure.named(text)
    return references_in(text) or ([named] if named else [])


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


FORMAT_RULES: Final[tuple[Callable[[Failure], Cause | None], ...]] = (
    body_broken,
    unreadable_json,
    bad_date,
    broken_xml,
    value_not_taken,
    object_for_text,
    value_quoted,
)
