"""Read code around a `throw`: which condition decides it, and what the loops and functions around it go through."""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from dogubako.packs.n8n.diagnosis.declarations import bound_names
from dogubako.packs.n8n.diagnosis.evaluation import Bound, Names, Unknowable, Value, elements_of, evaluate
from dogubako.packs.n8n.diagnosis.javascript import ParseError, Syntax, parse, parse_whole
from dogubako.packs.n8n.diagnosis.javascript_values import ABSENT
from dogubako.packs.n8n.javascript_names import NAME, of_names

_OPAQUE = re.compile(
    # A text that does not end is one up to the end of its line: else every quote in it would be tried again.
    r"""//[^\n]*+|/\*(?:[^*]++|\*(?!/))*+(?:\*/|\Z)|'(?:[^'\\\n]++|\\.)*+'?|"(?:[^"\\\n]++|\\.)*+"?|`(?:[^`\\]++|\\.)*+`?"""
)
_WORD = of_names(r"(?<![\w$.])(if|for|while|switch|catch)\s*$")
_OF = re.compile(
    rf"\s*+(?:const|let|var)\s++(?P<target>{NAME}|\{{[^;=]{{0,400}}?\}})\s++of\s++(?P<list>.++)", re.DOTALL
)
_COUNTED = re.compile(
    rf"\s*+(?:let|var)\s++(?P<name>{NAME})\s*+=\s*+0\s*+;\s*+(?P=name)\s*+<\s*+(?P<list>[^;]++)\.length\s*+;"
)
_ARROW = of_names(rf"(?:\((?P<params>[^()]*+)\)|(?<![\w$])(?P<one>{NAME}))\s*+=>\s*+$")
_ASSIGNED_FUNCTION = re.compile(rf"(?:const|let|var)\s++(?P<name>{NAME})\s*+=\s*+(?:async\s*+)?$")
_FUNCTION = re.compile(rf"function\s++(?P<name>{NAME})\s*+$")
_METHOD = re.compile(r"\.(?:map|forEach|filter|find|some|every|flatMap)\(\s*+(?:async\s*+)?$")
_LAST: Final = 3_000
_MOST_BLOCKS: Final = 30
_MOST_ROUNDS: Final = 1_000
_MOST_CALLS: Final = 20
_MOST_IFS: Final = 30


class Block(NamedTuple):
    """What stands before a block: `if`, `unless`, `switch`, `of`, `counted`, `each`, `function`, and where."""

    kind: str
    text: str
    place: int
    names: tuple[str, ...] = ()


class Guard(NamedTuple):
    """The condition that decides whether a `throw` is reached, and the blocks around it, innermost first."""

    condition: Syntax
    wanted: bool
    # The values that a `switch` knows; its `default` throws for all others.
    cases: tuple[str | int, ...] | None
    # Conditions that would have led away before.
    exits: tuple[Syntax, ...]
    around: tuple[Block, ...]


def guard_of(code: str, line: int | None, message: str) -> Guard | None:
    """The condition of the `throw` that gave this message; None if it is not found, or not understood."""
    plain = without_texts(code)
    place = _thrown_at(code, plain, line, message)
    if place is None:
        return None
    blocks = list(_blocks(code, plain, place))
    try:
        exits = tuple(exits_before(code, plain, place))
    except ParseError:
        return None
    for index, block in enumerate(blocks):
        if block.kind in ("if", "unless", "switch"):
            try:
                condition = parse_whole(block.text)
            except ParseError:
                return None
            cases = _cases(code[block.place : place]) if block.kind == "switch" else None
            return Guard(condition, block.kind != "unless", cases, exits, tuple(blocks[index + 1 :]))
        if block.kind in ("catch", "other"):
            return None
    if exits:
        # Nothing stands before the `throw` but conditions that lead away.
        return Guard(exits[-1], False, None, exits[:-1], tuple(blocks))
    return None


def _cases(text: str) -> tuple[str | int, ...]:
    found = of_names(r"(?<![\w$.])case\s+(?:'([^']*)'|\"([^\"]*)\"|(\d{1,9}))\s*:").findall(text)
    return tuple(int(number) if number else one or other for one, other, number in found)


def blocks_around(code: str, place: int) -> list[Block]:
    """The blocks around a place in the code, innermost first."""
    return list(_blocks(code, without_texts(code), place))


def receivers(code: str, line: int, name: str) -> Iterator[tuple[int, str]]:
    """The expressions on a line from which this property is read, and where they stand."""
    plain = without_texts(code)
    lines = plain.split("\n")
    begin = sum(len(one) + 1 for one in lines[: line - 1])
    end = begin + len(lines[line - 1]) if 0 < line <= len(lines) else begin
    for match in of_names(rf"\.{re.escape(name)}(?![\w$])|\[").finditer(plain, begin, end):
        is_key = plain[match.start()] == "["
        if is_key and not re.match(rf"\[\s*(['\"`]?){re.escape(name)}\1\s*\]", code[match.start() :][:200]):
            continue
        start = _receiver_start(plain, match.start())
        if plain[start : match.start()].strip() and not plain[: match.start()].endswith("?"):
            yield start, code[start : match.start()]


def _receiver_start(plain: str, end: int) -> int:
    """Where the chain of names, calls and indexes begins that ends here."""
    place = end
    while place > 0:
        if plain[place - 1] in ")]":
            opened = "(" if plain[place - 1] == ")" else "["
            opening = _opening(plain, place - 1, opened, plain[place - 1])
            if opening is None:
                return end
            place = opening
        elif of_names(r"[\w$.?]").match(plain[place - 1]):
            place -= 1
        else:
            break
    return place


def rounds(code: str, around: Sequence[Block], names: Names) -> Iterator[Names]:
    """The names as they may have been, one for each round of the loops and each call of the function around."""
    if not around:
        yield names
        return
    *inner, outer = around
    for one in _passes(code, outer, names):
        yield from rounds(code, inner, one)


def _passes(code: str, block: Block, names: Names) -> Iterator[Names]:
    if block.kind in ("of", "each"):
        for number, element in enumerate(elements_of(evaluate(parse_whole(block.text), names))[:_MOST_ROUNDS]):
            counted = Bound(names, block.names[1:], (Value(number),)) if block.names[1:] else names
            yield _destructured(counted, block.names[0] if block.names else "", element)
    elif block.kind == "counted":
        count = len(elements_of(evaluate(parse_whole(block.text), names)))
        for number in range(min(count, _MOST_ROUNDS)):
            yield Bound(names, block.names, (Value(number),))
    elif block.kind == "function":
        yield from _calls(code, block, names)
    else:
        yield names


def _calls(code: str, block: Block, names: Names) -> Iterator[Names]:
    """The names inside a function, for every call of it."""
    plain = without_texts(code)
    pattern = of_names(rf"(?<![\w$.]){re.escape(block.text)}\s*+\(")
    found = [match for match in pattern.finditer(plain) if not re.search(r"function\s*$", plain[: match.start()][-20:])]
    for match in found[:_MOST_CALLS]:
        call, _ = parse(code, match.start())
        while call.kind != "call" or call.parts[0].value != block.text:
            if not call.parts:
                raise Unknowable
            call = call.parts[0]
        outside = [one for one in _blocks(code, plain, match.start()) if one.kind in ("of", "each", "counted")]
        for there in rounds(code, outside, names):
            given = [evaluate(one, there) for one in call.parts[1:]]
            values = tuple(given[index] if index < len(given) else Value(ABSENT) for index in range(len(block.names)))
            yield Bound(there, block.names, values)


def _destructured(names: Names, target: str, element: Value) -> Names:
    """The names with those that a loop binds: a plain one, or parts of the element."""
    bound = list(bound_names(target))
    values = []
    for _, path in bound:
        value = element
        for step in path:
            value = evaluate(Syntax("member", step.name, (Syntax("name", "·"),)), Bound(names, ("·",), (value,)))
        values.append(value)
    return Bound(names, tuple(name for name, _ in bound), tuple(values))


def declared_value(code: str, name: str, names: Names) -> Value:
    """What a name was declared as; Unknowable if it is declared twice, or changed later."""
    declared = _declaration(code, name)
    if declared is None:
        raise Unknowable
    target, syntax = declared
    value = evaluate(syntax, names)
    return _destructured(names, target, value).named(name, names) if target != name else value


def declared_text(code: str, name: str) -> str | None:
    """The expression that a plain name was declared as, as it is written; None if it is not one, or changed later."""
    found = list(of_names(rf"(?<![\w$.])(?:const|let|var)\s++{re.escape(name)}\s*+=(?!=)\s*+").finditer(code))
    if len(found) != 1 or _declaration(code, name) is None:
        return None
    start = found[0].end()
    return code[start : parse(code, start)[1]].strip()


@lru_cache(maxsize=256)
def _declaration(code: str, name: str) -> tuple[str, Syntax] | None:
    target = rf"(?:{re.escape(name)}|\{{[^;={{}}]{{0,400}}(?<![\w$]){re.escape(name)}(?![\w$])[^;={{}}]{{0,400}}\}})"
    found = list(of_names(rf"(?<![\w$.])(?:const|let|var)\s++({target})\s*+=(?!=)\s*+").finditer(code))
    changed = rf"(?<![\w$.]){re.escape(name)}\s*+(?:[-+*/]=|\+\+|--|=(?![=>]))"
    if len(found) != 1 or re.search(changed, code[found[0].end() :]):
        return None
    try:
        return found[0][1], parse(code, found[0].end())[0]
    except ParseError:
        return None


def _thrown_at(code: str, plain: str, line: int | None, message: str) -> int | None:
    """Where the `throw` stands: on the line of the error, or the only one with words of the message."""
    places = [match.start() for match in of_names(r"(?<![\w$.])throw\b").finditer(plain)]
    if line is not None:
        found = [place for place in places if plain.count("\n", 0, place) + 1 == line]
    else:
        found = [place for place in places if any(one in message for one in _words(code[place : place + 300]))]
    return found[0] if len(found) == 1 else None


def _words(text: str) -> list[str]:
    """The fixed parts of a message."""
    return [
        one
        for literal in _OPAQUE.findall(text)
        for one in re.split(r"\$\{[^}]{0,200}+\}", literal[1:-1])
        if len(one) > 3
    ]


def _blocks(code: str, plain: str, place: int) -> Iterator[Block]:
    """The blocks around a place, innermost first, also those without braces."""
    for _ in range(_MOST_BLOCKS):
        before = plain[:place].rstrip()
        block = _header(code, plain, len(before)) if before.endswith((")", "else", "=>")) else None
        if block is None:
            opening, is_arrow = _around(plain, place)
            if opening is None:
                return
            end = opening if is_arrow else len(plain[:opening].rstrip())
            block = _header(code, plain, end) if is_arrow or plain[opening] == "{" else None
            block = block or Block("plain", "", opening - (2 if is_arrow else 0))
        yield block
        place = block.place


def _around(plain: str, place: int) -> tuple[int | None, bool]:
    """The bracket that encloses this place, or the end of the `=>` whose body it belongs to."""
    depth, same_part = 0, True
    for index in range(place - 1, -1, -1):
        sign = plain[index]
        if sign in ")]}":
            depth += 1
        elif sign in "([{":
            if depth == 0:
                return index, False
            depth -= 1
        elif depth == 0 and sign in ";,":
            same_part = False
        elif depth == 0 and same_part and plain.startswith("=>", index):
            return index + 2, True
    return None, False


def _header(code: str, plain: str, end: int) -> Block | None:
    """The `if (…)`, `for (…)`, `else`, function or arrow that ends here."""
    before = plain[:end]
    if before.endswith("else"):
        return _otherwise(code, plain, end - 4)
    if (arrow := _ARROW.search(before[-_LAST:])) is not None:
        return _arrow(code, plain, end - len(arrow[0]), (arrow["params"] or arrow["one"] or "").strip())
    opening = _opening(plain, end - 1, "(", ")") if before.endswith(")") else None
    if opening is None:
        return Block("other", "", end) if before.endswith("try") else None
    inside = code[opening + 1 : end - 1]
    if (word := _WORD.search(plain[:opening])) is None:
        named = _FUNCTION.search(plain[:opening])
        return Block("function", named["name"], named.start(), _parameters(inside)) if named else None
    if word[1] == "for":
        return _loop(inside, word.start())
    ahead = plain[: word.start()].rstrip()
    if word[1] == "if" and ahead.endswith("else"):
        first = _otherwise(code, plain, len(ahead) - 4)
        return first._replace(kind="if", text=f"!({first.text}) && ({inside})") if first.kind == "unless" else first
    return Block({"while": "other"}.get(word[1], word[1]), inside, word.start())


def _loop(inside: str, place: int) -> Block:
    if (of := _OF.match(inside)) is not None:
        return Block("of", of["list"], place, (of["target"],))
    if (counted := _COUNTED.match(inside)) is not None:
        return Block("counted", counted["list"], place, (counted["name"],))
    return Block("plain", "", place)


def _arrow(code: str, plain: str, place: int, params: str) -> Block:
    """A callback of a list, or a function with a name."""
    before = plain[:place]
    if (named := _ASSIGNED_FUNCTION.search(before[-_LAST:])) is not None:
        return Block("function", named["name"], place - len(named[0]), _parameters(params))
    if (method := _METHOD.search(before[-_LAST:])) is None:
        return Block("plain", "", place)
    end = place - len(method[0])
    start = max(before.rfind(mark, 0, end) for mark in (";", "\n", "{", "}"))
    written = re.sub(r"^\s*(?:return|await|(?:const|let|var)\s+[\w$]+\s*=)\s*", "", code[start + 1 : end])
    pattern = re.match(r"\s*(\{.*\}|\[.*\]|[^,]*)(?:,\s*([\w$]+))?", params, re.DOTALL)
    target, number = (pattern[1].strip(), pattern[2]) if pattern else ("", None)
    return Block("each", written, start + 1, (target, number) if number else (target,))


def _otherwise(code: str, plain: str, end: int, most: int = _MOST_IFS) -> Block:
    """The conditions of all `if`s to which an `else` belongs: none of them was met."""
    before = plain[:end].rstrip()
    opening = _opening(plain, len(before) - 1, "{", "}") if before.endswith("}") else None
    closing = len(plain[:opening].rstrip()) if opening is not None else 0
    opened = _opening(plain, closing - 1, "(", ")") if plain[:closing].endswith(")") else None
    word = _WORD.search(plain[:opened]) if opened is not None else None
    if opened is None or word is None or word[1] != "if" or most == 0:
        return Block("other", "", end)
    condition, start = code[opened + 1 : closing - 1], word.start()
    ahead = plain[:start].rstrip()
    if not ahead.endswith("else"):
        return Block("unless", condition, start)
    first = _otherwise(code, plain, len(ahead) - 4, most - 1)
    return first._replace(text=f"({first.text}) || ({condition})") if first.kind == "unless" else first


def exits_before(code: str, plain: str, place: int) -> Iterator[Syntax]:
    """Conditions before a place that lead away from it: `if (done) return …`. ParseError if one is not understood."""
    found = list(of_names(r"(?<![\w$.])if\s*\(").finditer(plain[:place]))
    if len(found) > _MOST_IFS:
        raise ParseError("too many conditions")
    for match in found:
        closing = closing_bracket(plain, match.end() - 1)
        if closing is None or closing >= place:
            continue
        rest = plain[closing + 1 : place]
        body = rest.lstrip()
        if body.startswith("{"):
            end = closing_bracket(plain, closing + 1 + rest.index("{"))
            # A block that holds the place is no exit.
            body = plain[closing + 1 : end] if end is not None and end < place else ""
            body = body.rstrip(" \n;}").rpartition(";")[2].rpartition("{")[2].strip()
        if re.match(r"(?:return|continue|break)\b", body) and _same_block(plain, match.start(), place):
            yield parse_whole(code[match.end() : closing])


def _same_block(plain: str, first: int, second: int) -> bool:
    """Whether the first place lies directly in a block that is around the second."""
    opening = _opening(plain, first, "{", "}")
    around = second
    for _ in range(_MOST_BLOCKS):
        found = _opening(plain, around, "{", "}")
        if found == opening:
            return True
        if found is None:
            return False
        around = found
    return False


def closing_bracket(plain: str, opening: int) -> int | None:
    """Where a bracket is closed."""
    pair = {"(": ")", "{": "}"}[plain[opening]]
    depth = 0
    for index in range(opening, len(plain)):
        depth += (plain[index] == plain[opening]) - (plain[index] == pair)
        if depth == 0:
            return index
    return None


def _opening(plain: str, place: int, opening: str, closing: str) -> int | None:
    """Where the bracket that encloses this place was opened."""
    depth = 0
    for index in range(place - 1, -1, -1):
        if plain[index] == closing:
            depth += 1
        elif plain[index] == opening:
            if depth == 0:
                return index
            depth -= 1
    return None


def _parameters(text: str) -> tuple[str, ...]:
    return tuple(part.partition("=")[0].strip() for part in text.split(",") if part.strip())


def without_texts(code: str) -> str:
    """The code with texts and comments blanked out, so that all places stay the same."""
    return _OPAQUE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), code)
