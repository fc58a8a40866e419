"""Which signs and words of JavaScript cannot stand where they stand. Texts and comments are taken out before."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, NamedTuple
from unicodedata import category

from dogubako.packs.n8n.javascript_names import NAME

# What stands for a template in the code: behind a value, it is the argument of a call.
TEMPLATE: Final = " Q "
BEFORE_REGEX: Final = frozenset(
    {"return", "typeof", "case", "in", "of", "delete", "void", "new", "throw", "else", "do"}
)
_TOKEN: Final = re.compile(
    rf"(?P<name>#?{NAME})"
    r"|(?P<number>0[xXbBoO][\da-fA-F_]++n?+|(?:\d[\d_]*+\.?+[\d_]*+|\.\d[\d_]*+)(?:[eE][+-]?+\d++)?+n?+)"
    r"|(?P<sign>=>|\.\.\.|[!=]==?+|\*\*=?+|\?\?=?+|\|\|=?+|&&=?+|\?\.(?!\d)|\+\+|--|[-+*/%&|^<>]=|<<|>>>?+|\S)"
)
_MEMBER: Final = (".", "?.")
# Signs that need something on both sides. A `:` and a `,` may end a `case`, a list or the arguments of a call.
_BETWEEN: Final = frozenset(
    "* / % ** && || ?? == === != !== < > <= >= = => += -= *= /= ^ | & ?".split()  # noqa: SIM905 - it reads best so
)
_BEFORE_END: Final = _BETWEEN | {"+", "-", "!", "~", "..."}
# Signs behind which a value begins, and those with which none begins. A `/` may begin a regular expression.
_BEFORE_BEGIN: Final = _BEFORE_END | {"(", "[", ":"}
_BEGINS_NONE: Final = _BETWEEN - {"/"}
_ENDS: Final = frozenset({")", "]", "}", ";", ""})
_STATEMENTS: Final = frozenset(
    "class const debugger do for function if let return switch throw try var while".split()  # noqa: SIM905 - as above
)
# Words with which no value ends. Behind `break` and `continue` stands a label.
_BEFORE_VALUE: Final = (
    _STATEMENTS
    | BEFORE_REGEX
    | {"async", "await", "yield", "extends", "instanceof", "get", "set", "static", "catch", "break", "continue"}
)
_BEHIND_VALUE: Final = frozenset({"in", "instanceof", "of"})
# What joins two words in code. A template may be the argument of a function.
_BEFORE_OTHERS: Final = (
    _BEFORE_VALUE
    | _BEHIND_VALUE
    | {"as", "default", "enum", "export", "finally", "from", "import", "try", "using", "with", "accessor"}
)
_BEHIND_OTHERS: Final = _BEHIND_VALUE | {"as", "extends", "from", "with", TEMPLATE.strip()}
_OPERATORS: Final = {"and": "&&", "or": "||", "not": "!", "AND": "&&", "OR": "||", "NOT": "!"}
# Signs of Japanese and Chinese keyboards that look like those of JavaScript.
_WIDE: Final = frozenset("，；：！？．＂＇＋－＊／＝＜＞｜＆")


# Signs that begin nothing. A `*` may begin a generator.
_NEVER_FIRST: Final = _BEGINS_NONE - {"*"} | {"."}
_SECOND_OF: Final[Mapping[str, frozenset[str]]] = {
    **dict.fromkeys(_BEFORE_BEGIN, _BEGINS_NONE),
    **dict.fromkeys(_BEFORE_END, _BEGINS_NONE | {",", ":"}),
    "(": _BEGINS_NONE | {","},
    ":": _BEGINS_NONE | {",", ")", "]"},
    ";": _NEVER_FIRST | {",", "]"},
    ",": _NEVER_FIRST,
}
_NEED_VALUE: Final = frozenset({"new", "typeof", "void", "delete"})
_NAMED_SO: Final = (*_MEMBER, "{", ",", "get", "set", "static", "async", "function")
_CASES: Final = frozenset({"case", "default"})


def misplaced(code: str) -> str | None:
    """A sign that JavaScript does not have, or that lacks what belongs behind or before it."""
    tokens = [_Token(str(one.lastgroup), one[0]) for one in _TOKEN.finditer(code)]
    if tokens and tokens[0].sign in _BETWEEN | {"."}:
        return f"'{tokens[0].sign}' with nothing before it"
    in_cases = not _CASES.isdisjoint(one.sign for one in tokens)
    in_class = any(one.sign == "class" for one in tokens)
    before = _Token("end", "")
    for (kind, sign), (next_kind, behind) in pairwise([*tokens, _Token("end", "")]):
        if kind == "name":
            if sign in _NEED_VALUE and behind in _ENDS | {","} and before.sign not in _NAMED_SO:
                return f"'{sign}' with nothing behind it"
            if sign[0] == "#" and not in_class:
                return "'#', which is no sign of JavaScript outside of a class"
        if kind == "sign":
            fault = _misplaced_sign(sign, next_kind, behind, in_cases=in_cases)
            if fault is not None:
                return fault
        before = _Token(kind, sign)
    return _badly_nested(tokens)


def _misplaced_sign(sign: str, next_kind: str, behind: str, *, in_cases: bool) -> str | None:
    if sign == "@" or (not sign.isascii() and (sign in _WIDE or category(sign) in ("Pi", "Pf", "Ps", "Pe"))):
        return f"'{sign}', which is no sign of JavaScript (quotation marks are ' and \")"
    if sign in _MEMBER and next_kind != "name" and not (sign == "?." and behind in ("(", "[")):
        return f"'{sign}' with no name behind it"
    if (sign in _BEFORE_END and behind in _ENDS) or (sign in (",", ":") and next_kind == "end"):
        return f"'{sign}' with nothing behind it"
    if sign == ":" and behind == "}" and not in_cases:
        return "':' with nothing behind it"
    return f"'{behind}' directly behind '{sign}'" if behind in _SECOND_OF.get(sign, ()) else None


class _Token(NamedTuple):
    kind: str
    sign: str


@dataclass(slots=True)
class _Level:
    """What is inside of a bracket. `word` stands before it; `choices` are the `?` that wait for their `:`."""

    bracket: str
    word: str
    choices: int = 0


def _badly_nested(tokens: Sequence[_Token]) -> str | None:
    """A `?` without its `:`, a `;` or a second `,` where none can be, a `try` that catches nothing."""
    levels, before, words = [_Level("", "")], "", ""
    for number, (kind, sign) in enumerate(tokens):
        level = levels[-1]
        if kind == "sign":
            if sign in (",", ";", ")", "]", "}") and level.choices:
                return "'?' without ':'"
            if sign == ";" and (level.bracket == "[" or (level.bracket == "(" and level.word not in ("for", "await"))):
                return f"';' behind '{level.bracket}', where no statement ends"
            if sign == "," and before == "," and level.bracket != "[":
                return "',' directly behind ','"
            if sign in ("(", "[", "{"):
                levels.append(_Level(sign, before if words not in _MEMBER else ""))
            elif sign in (")", "]", "}") and len(levels) > 1:
                behind = tokens[number + 1].sign if number + 1 < len(tokens) else ""
                if levels.pop().word == "try" and sign == "}" and behind not in ("catch", "finally"):
                    return "'try' without 'catch' or 'finally'"
            elif sign == "?":
                level.choices += 1
            elif sign == ":" and level.choices:
                level.choices -= 1
        before, words = sign, before
    return "'?' without ':'" if levels[-1].choices else None


def side_by_side(code: str) -> str | None:
    """Two words on a line that nothing joins: `cons x`. Of signs it is not sure here that they begin no statement."""
    for line in code.split("\n"):
        tokens = [_Token("", ""), *(_Token(str(one.lastgroup), one[0]) for one in _TOKEN.finditer(line))]
        for before, one, behind in zip(tokens, tokens[1:], tokens[2:], strict=False):
            joins = (before.sign not in _MEMBER and one.sign in _BEFORE_OTHERS) or behind.sign in _BEHIND_OTHERS
            if one.kind == behind.kind == "name" and not joins:
                return _no_operator(one.sign, behind.sign)
    return None


def no_expression(code: str) -> str | None:
    """A statement, or two values side by side. A line break between them ends the first."""
    first = _TOKEN.search(code)
    if first is not None and first[0] in _STATEMENTS:
        return f"a statement ('{first[0]}'), and n8n takes only a value"
    before, in_braces = "", 0
    for line in code.split("\n"):
        ends_value = False
        for token in _TOKEN.finditer(line):
            kind, sign = token.lastgroup, token[0]
            is_member = before in _MEMBER
            if ends_value and kind != "sign" and sign not in _BEHIND_VALUE and sign != TEMPLATE.strip():
                return _no_operator(before, sign)
            in_braces += (sign == "{") - (sign == "}")
            word = kind == "name" and (is_member or sign not in _BEFORE_VALUE | _BEHIND_VALUE)
            # Behind the round bracket of an `if` or a `for` begins something new.
            ends_value = word or kind == "number" or sign == "]" or (sign == ")" and not in_braces)
            before = sign
    return None


def _no_operator(before: str, behind: str) -> str:
    word = next((one for one in (before, behind) if one in _OPERATORS), None)
    if word is not None:
        return f"'{word}', for which JavaScript writes {_OPERATORS[word]},"
    return "two values with no operator between them"
