"""Rules for code that looked something up and found nothing: a pattern, an element, a key, an item, static data."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from dogubako.packs.n8n.diagnosis.code_lines import call_not_awaited
from dogubako.packs.n8n.diagnosis.code_rules import every_round, one_item
from dogubako.packs.n8n.diagnosis.counts import too_few
from dogubako.packs.n8n.diagnosis.evaluation import Names, Read, Unknowable, evaluate, plain
from dogubako.packs.n8n.diagnosis.failures import OF_NOTHING, Failure
from dogubako.packs.n8n.diagnosis.guards import blocks_around, closing_bracket, declared_text, receivers, without_texts
from dogubako.packs.n8n.diagnosis.javascript import LONGEST_CODE_FOLLOWED, ParseError, Syntax, parse, parse_whole
from dogubako.packs.n8n.diagnosis.javascript_values import UNKNOWN
from dogubako.packs.n8n.diagnosis.scene import Cause
from dogubako.packs.n8n.diagnosis.shown import shown_value
from dogubako.packs.n8n.diagnosis.spelling import near_names
from dogubako.packs.n8n.diagnosis.trace import trace_value
from dogubako.packs.n8n.formatters.truncation import is_absent, shortened
from dogubako.packs.n8n.javascript_names import of_names

# Methods that give null or undefined when they find nothing.
_SEARCHES: Final = frozenset({"match", "exec", "find", "findLast", "at", "get", "pop", "shift"})
_STORES: Final = ("$getWorkflowStaticData", "$vars", "$env")
_REDUCES: Final = ("reduce", "reduceRight")
_KEY = of_names(r"""\s*+(?:((?:[^\W\d]|[$_])[\w$]*+|\d++)|'([^'\\]*+)'|"([^"\\]*+)")\s*+(?::|$)""")
_FROM_LIST = of_names(r"(?<![\w$.])(?:const|let|var)\s++\[([^\[\]{}=]{1,200}+)\]\s*+=\s*+")
_LONGEST_WRITTEN: Final = 120
_MOST_SHOWN: Final = 3


def found_nothing(failure: Failure, *, only_tables: bool = False) -> Cause | None:
    """`Cannot read properties of undefined`: what stood before the property is a search that found nothing.

    `only_tables`: only a key that an object does not have, `rates[country]`.
    """
    message = OF_NOTHING.search(failure.message)
    if message is None or message[1] is None or failure.line is None or not failure.is_code:
        return None
    if len(failure.code) > LONGEST_CODE_FOLLOWED:
        return None
    causes = []
    for place, text in receivers(failure.code, failure.line, message[1]):
        written = declared_text(failure.code, text.strip()) or _part_of_list(failure.code, text.strip()) or text.strip()
        if not only_tables and (promise := call_not_awaited(failure.code, text.strip())) is not None:
            return _own(
                failure, f"it reads {text.strip()} of {promise}(…) without waiting for it: await is missing", own=True
            )
        try:
            syntax = parse_whole(written)
            look = _no_key if only_tables else _search
            cause = look(failure, place, written, syntax)
        except (Unknowable, ParseError, RecursionError):
            continue
        causes += [cause] if cause else []
    return causes[0] if len(causes) == 1 else None


def _part_of_list(code: str, name: str) -> str | None:
    """`const [, second] = text.split(',')`: the element that the name stands for, as it could be written."""
    for match in _FROM_LIST.finditer(code):
        parts = [one.strip() for one in match[1].split(",")]
        if parts.count(name) == 1:
            end = parse(code, match.end())[1]
            return f"{code[match.end() : end].strip()}[{parts.index(name)}]"
    return None


def _no_key(failure: Failure, place: int, written: str, syntax: Syntax) -> Cause | None:
    if syntax.kind != "index" or syntax.parts[0].kind != "name":
        return None
    is_table = _literal_keys(failure.code, str(syntax.parts[0].value)) is not None
    return _no_element(failure, place, shortened(written, _LONGEST_WRITTEN), syntax) if is_table else None


def _search(failure: Failure, place: int, written: str, syntax: Syntax) -> Cause | None:
    shown = shortened(" ".join(written.split()), _LONGEST_WRITTEN)
    if (store := _store(failure.code, syntax)) is not None:
        return _own(failure, f"it reads {shown}, and there is no {syntax.value} in {store}, at least not yet")
    if syntax.kind == "index":
        return _no_element(failure, place, shown, syntax)
    callee = syntax.parts[0] if syntax.kind == "call" else None
    if callee is not None and (callee.value == "$jmespath" or (callee.kind == "member" and callee.value in _SEARCHES)):
        names = _failing_round(failure, place, syntax)
        told = _inputs(failure, syntax, names) if names is not None else ""
        return _own(failure, f"{shown} finds nothing{told}")
    return None


def _failing_round(failure: Failure, place: int, syntax: Syntax) -> Names | None:
    """The first round in which the search found nothing; the only one, where its result is not known."""
    doubtful = []
    for names in _rounds(failure, place):
        value = evaluate(syntax, names).value
        if value is UNKNOWN:
            doubtful.append(names)
        elif value is None or is_absent(value):
            return names if not doubtful else None
    return doubtful[0] if len(doubtful) == 1 else None


def _own(failure: Failure, problem: str, *, own: bool = False) -> Cause:
    return Cause(node=failure.node, problem=problem, own=own)


def _store(code: str, syntax: Syntax) -> str | None:
    """The store outside of the items whose field this is: static data, variables."""
    if syntax.kind != "member" or syntax.parts[0].kind not in ("name", "call"):
        return None
    source = syntax.parts[0]
    root = source.parts[0].value if source.kind == "call" else source.value
    if source.kind == "name" and root not in _STORES:
        declared = re.match(r"\$getWorkflowStaticData\b", declared_text(code, str(root)) or "")
        root = declared[0] if declared else root
    return {"$getWorkflowStaticData": "the workflow's static data"}.get(root, root) if root in _STORES else None


def _no_element(failure: Failure, place: int, shown: str, syntax: Syntax) -> Cause | None:
    """`table[key]` without such a key, `$('X').all()[5]` without such an item."""
    base, key = syntax.parts
    known = _literal_keys(failure.code, str(base.value)) if base.kind == "name" else None
    for names in _rounds(failure, place):
        wanted = evaluate(key, names)
        if known is None:
            held = evaluate(base, names)
            if held.counted is not None and isinstance(held.value, tuple) and isinstance(wanted.value, int):
                if wanted.value >= len(held.value):
                    return too_few(failure, held.counted, f"reads the item with index {wanted.value}, counted from 0")
                continue
            if isinstance(held.value, list) and isinstance(wanted.value, int):
                if wanted.value >= len(held.value):
                    count, reads = len(held.value), (*held.reads, *wanted.reads)
                    told = f"{shown} finds nothing, the list has {count}{_told(failure, reads)}"
                    return replace(_own(failure, told), place=one_item(failure, reads))
                continue
            known = [str(one) for one in held.value] if isinstance(held.value, Mapping) else None
            if known is None:
                return None
        if isinstance(wanted.value, (str, int)) and str(wanted.value) not in known:
            there = ", ".join(known[:8]) or "nothing"
            looked = f" for {shown_value(wanted.value)}" if not _told(failure, wanted.reads) else ""
            told = f"{shown} finds nothing{looked}{_told(failure, wanted.reads)}; there is {there}"
            return replace(_own(failure, told), place=one_item(failure, wanted.reads))
    return None


def _literal_keys(code: str, name: str) -> list[str] | None:
    """The keys of an object that a name was declared as: `const rates = { low: 1, high: 2 }`."""
    plain_code = without_texts(code)
    found = list(of_names(rf"(?<![\w$.])(?:const|let|var)\s++{re.escape(name)}\s*+=\s*+(?=\{{)").finditer(plain_code))
    start, end = (found[0].end(), closing_bracket(plain_code, found[0].end())) if len(found) == 1 else (0, None)
    changed = rf"(?<![\w$.]){re.escape(name)}\s*+(?:\[[^\]\n]*+\]|\.[\w$]++)?\s*+=(?![=>])"
    if end is None or re.search(changed, plain_code[end:]):
        return None
    keys, begin, depth = [], start + 1, 0
    for index in range(begin, end + 1):
        if depth == 0 and (plain_code[index] == "," or index == end):
            key = _KEY.match(code[begin:index])
            if key is None and code[begin:index].strip():
                return None
            keys += [one for one in key.groups() if one is not None] if key else []
            begin = index + 1
        depth += (plain_code[index] in "([{") - (plain_code[index] in ")]}")
    return keys


def _rounds(failure: Failure, place: int) -> Iterator[Names]:
    return every_round(failure, blocks_around(failure.code, place))


def _inputs(failure: Failure, syntax: Syntax, names: Names) -> str:
    """The fields in which was searched and by which was searched."""
    callee, *arguments = syntax.parts
    if callee.value == "$jmespath":
        return _near_key(plain(evaluate(arguments[0], names)), arguments[1:]) if arguments else ""
    reads: list[Read] = []
    for part in (syntax, callee.parts[0]):
        try:
            reads = [one for one in evaluate(part, names).reads if one.path]
        except (Unknowable, ParseError):
            continue
        break
    return _told(failure, reads)


def _near_key(data: Any, arguments: Sequence[Syntax]) -> str:
    """The first name of a JMESPath query, if the data do not have it."""
    asked = arguments[0].value if arguments and arguments[0].kind == "literal" else None
    name = re.match(r"[A-Za-z_]\w*", asked) if isinstance(asked, str) else None
    if name is None or not isinstance(data, Mapping) or name[0] in data:
        return ""
    near = near_names([str(key) for key in data], name[0])
    return f": there is no {name[0]}" + (f", but {near[0]}" if near else "")


def _told(failure: Failure, reads: Sequence[Read]) -> str:
    """The values of the fields that were read, and who gave them out."""
    told = []
    plain_ones = (one for one in reads if one.path and (one.value is None or isinstance(one.value, (str, int, float))))
    shown = dict.fromkeys(plain_ones)
    # What was searched for is told before the many elements in which it was searched.
    for read in sorted(shown, key=lambda one: any(name.isdecimal() for name in one.path))[:_MOST_SHOWN]:
        maker = trace_value(failure.scene, read.place, read.path, "").node
        told.append(f"{'.'.join(read.path)} is {shown_value(read.value)}, from '{maker}'")
    more = "; and more" if len(shown) > _MOST_SHOWN else ""
    return f": {'; '.join(told)}{more}" if told else ""


def reduced_nothing(failure: Failure) -> Cause | None:
    """`Reduce of empty array with no initial value`: the list that was empty."""
    if not failure.message.startswith("Reduce of empty array"):
        return None
    for reference in failure.references:
        if reference.called and reference.names[-1:] and reference.names[-1] in _REDUCES:
            for place in failure.read(reference):
                if failure.scene.value(place, reference.names[:-1]) == []:
                    problem = "an empty list, which reduce() cannot take without an initial value"
                    return trace_value(failure.scene, place, reference.names[:-1], problem)
    return None
