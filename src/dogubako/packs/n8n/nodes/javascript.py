"""Read JavaScript as far as a check needs it: where texts end, which nodes are named, what cannot be JavaScript.

Whether a `/` divides or begins a regular expression is not always known. From there on nothing is claimed.
"""

import re
from itertools import pairwise
from typing import Final, NamedTuple
from unicodedata import category

from dogubako.packs.n8n.diagnosis.replay.tokens import unescaped
from dogubako.packs.n8n.javascript_names import NAME

_PAIRS: Final = {")": ("(",), "]": ("[",), "}": ("{", "${")}
# What stands for a text or a regular expression in the code that is left, and what for a template: behind a value, a
# template is the argument of a call.
_TEXT: Final = " T "
_TEMPLATE: Final = " Q "
# `$('Name')`, `$items("Name")` and `$node["Name"]`, before the name.
_LOOKS_UP: Final = re.compile(r"(?<![\w$])\$(?:\(|items\(|node\[)$")
_BEHIND_NAME: Final = re.compile(r"\s*+[,)\]]")
_LONGEST_LOOKUP: Final = 12
_REGEX: Final = re.compile(r"/(?:[^/\\\[\n]++|\\.|\[(?:[^\]\\\n]++|\\.)*+\])++/[a-z]*+")
_LONGEST_REGEX: Final = 1_000
_LAST_WORD: Final = re.compile(r"(?<![\w$])[\w$]++$")
_BEFORE_REGEX: Final = frozenset(
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
    | _BEFORE_REGEX
    | {"async", "await", "yield", "extends", "instanceof", "get", "set", "static", "catch", "break", "continue"}
)
_BEHIND_VALUE: Final = frozenset({"in", "instanceof", "of"})
_OPERATORS: Final = {"and": "&&", "or": "||", "not": "!", "AND": "&&", "OR": "||", "NOT": "!"}
# Signs of Japanese and Chinese keyboards that look like those of JavaScript.
_WIDE: Final = frozenset("，；：！？．＂＇＋－＊／＝＜＞｜＆")


class Script(NamedTuple):
    """What was read: the code without texts and comments, the nodes that it looks up, and why it is no JavaScript."""

    code: str
    names: list[str]
    fault: str | None


def read(code: str, *, expression: bool = False) -> Script:
    """`expression`: n8n takes one value there, and no statements."""
    reader = _Reader(code)
    reader.read()
    left = "".join(reader.kept)
    fault = reader.fault
    if fault is None and reader.sure:
        fault = f"'{reader.stack[-1]}' that is not closed" if reader.stack else _misplaced(left)
        fault = fault or (_no_expression(left) if expression else None)
    return Script(left, reader.names, fault)


class _Reader:
    """Goes through the code once."""

    def __init__(self, code: str) -> None:
        self._code = code
        self._at = 0
        self.kept: list[str] = []
        self.names: list[str] = []
        self.stack: list[str] = []
        self.fault: str | None = None
        self.sure = True

    def read(self) -> None:
        while self._at < len(self._code):
            self._step(self._code[self._at])

    def _step(self, sign: str) -> None:
        if sign == "/":
            self._slash()
        elif sign in "'\"":
            self._text(sign)
        elif sign == "`":
            self._template(self._at)
        else:
            self._at += 1
            if sign in "([{":
                self.stack.append(sign)
            elif sign in _PAIRS:
                self._close(sign)
                return
            self.kept.append(sign)

    def _close(self, sign: str) -> None:
        opened = self.stack.pop() if self.stack else ""
        if opened not in _PAIRS[sign]:
            self._blame(f"'{sign}' without '{_PAIRS[sign][0]}'")
        self.kept.append(" ) " if opened == "${" else sign)
        if opened == "${":
            self._template(None)

    def _blame(self, reason: str) -> None:
        if self.sure and self.fault is None:
            self.fault = reason

    def _slash(self) -> None:
        code, at = self._code, self._at
        if code.startswith(("//", "/*"), at):
            ending = "\n" if code[at + 1] == "/" else "*/"
            end = code.find(ending, at + 2)
            self._at = len(code) if end < 0 else end + len(ending)
            self.kept.append("\n" if ending == "\n" else " ")
            return
        before = "".join(self.kept[-_LONGEST_LOOKUP:]).rstrip()
        word = _LAST_WORD.search(before)
        begins = not before or before[-1] in "(,=:[!&|?{;+-*%<>~^" or (word is not None and word[0] in _BEFORE_REGEX)
        pattern = _REGEX.match(code, at, at + _LONGEST_REGEX)
        if begins and pattern is not None:
            self._at = pattern.end()
            self.kept.append(_TEXT)
            return
        # Behind a bracket it may be either.
        self.sure = self.sure and not begins and not (before[-1] in ")}" and pattern is not None)
        self._at += 1
        self.kept.append("/")

    def _text(self, quote: str) -> None:
        start, at = self._at, self._at + 1
        while at < len(self._code) and self._code[at] not in (quote, "\n"):
            at += 2 if self._code[at] == "\\" else 1
        if at >= len(self._code) or self._code[at] == "\n":
            self._blame(f"a text that {quote} does not end")
        self._at = min(at + 1, len(self._code))
        self._named(self._code[start + 1 : at])
        self.kept.append(_TEXT)

    def _template(self, start: int | None) -> None:
        """A template from its beginning, or what follows `${…}` in one. Its texts refer to nothing."""
        first = at = self._at + (start is not None)
        while at < len(self._code) and self._code[at] != "`":
            if self._code.startswith("${", at):
                self._at = at + 2
                self.stack.append("${")
                self.kept += [_TEMPLATE, " ( "]
                return
            at += 2 if self._code[at] == "\\" else 1
        if at >= len(self._code):
            self._blame("a text that ` does not end")
        self._at = min(at + 1, len(self._code))
        if start is not None:
            self._named(self._code[first:at])
            self.kept.append(_TEMPLATE)

    def _named(self, text: str) -> None:
        """Remember a text that is the name of a node. One that is put together is known only at run time."""
        before = "".join(self.kept[-_LONGEST_LOOKUP:]).rstrip()
        if _LOOKS_UP.search(before) is not None and _BEHIND_NAME.match(self._code, self._at) is not None:
            plain = unescaped(text).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
            self.names.append(plain)


def _misplaced(code: str) -> str | None:
    """A sign that JavaScript does not have, or that lacks what belongs behind or before it."""
    tokens = [(str(one.lastgroup), one[0]) for one in _TOKEN.finditer(code)]
    if tokens and tokens[0][1] in _BETWEEN | {"."}:
        return f"'{tokens[0][1]}' with nothing before it"
    for (kind, sign), (next_kind, behind) in pairwise([*tokens, ("end", "")]):
        if kind != "sign":
            continue
        if not sign.isascii() and (sign in _WIDE or category(sign) in ("Pi", "Pf", "Ps", "Pe")):
            return f"'{sign}', which is no sign of JavaScript (quotation marks are ' and \")"
        if sign in _MEMBER and next_kind != "name" and not (sign == "?." and behind in ("(", "[")):
            return f"'{sign}' with no name behind it"
        if (sign in _BEFORE_END and behind in _ENDS) or (sign in (",", ":") and next_kind == "end"):
            return f"'{sign}' with nothing behind it"
        if sign in _BEFORE_BEGIN and (behind in _BEGINS_NONE or (sign == "(" and behind == ",")):
            return f"'{behind}' directly behind '{sign}'"
    return None


def _no_expression(code: str) -> str | None:
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
            if ends_value and kind != "sign" and sign not in _BEHIND_VALUE and sign != _TEMPLATE.strip():
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
