"""Parse expressions of JavaScript as far as conditions in workflows use them. Anything else is a ParseError."""

import re
from dataclasses import dataclass, field
from typing import Any, Final

from dogubako.packs.n8n.javascript_names import of_names

# Longer code is not followed.
LONGEST_CODE_FOLLOWED: Final = 12_000
_TOKEN = of_names(
    r"(?P<space>\s++|//[^\n]*+|/\*(?:[^*]++|\*(?!/))*+\*/)"
    r"|(?P<number>\d++(?:\.\d++)?(?:[eE][+-]?\d++)?)"
    r"""|(?P<text>'(?:[^'\\\n]++|\\.)*+'|"(?:[^"\\\n]++|\\.)*+"|`(?:[^`\\$]++|\\.|\$(?!\{))*+`)"""
    r"|(?P<template>`(?:[^`\\]++|\\.)*+`)"
    r"|(?P<name>\$\((?=\s*+['\"`])|(?:[^\W\d]|[$_])[\w$]*+)"
    r"|(?P<sign>=>|\.\.\.|===|!==|==|!=|<=|>=|&&|\|\||\?\?|\?\.|[-+*/%<>!?:.,()\[\]{}])"
)
_REGEX = re.compile(r"/(?P<body>(?:[^/\\\[\n]++|\\.|\[(?:[^\]\\\n]++|\\.)*+\])++)/(?P<flags>[a-z]*+)")
_BINDING: Final = {
    "??": 1, "||": 2, "&&": 3,
    "===": 5, "!==": 5, "==": 5, "!=": 5,
    "<": 6, ">": 6, "<=": 6, ">=": 6, "in": 6, "instanceof": 6,
    "+": 7, "-": 7, "*": 8, "/": 8, "%": 8,
}  # fmt: skip
_LITERALS: Final = {"true": True, "false": False, "null": None}
_KEYWORDS: Final = frozenset({"if", "else", "for", "while", "return", "throw", "const", "let", "var", "switch", "case"})
_DEEPEST: Final = 60
_LONGEST: Final = 2_000


class ParseError(ValueError):
    """The text is no expression that is understood here."""


@dataclass(frozen=True, slots=True)
class Syntax:
    """A part of an expression: `kind` says which, `value` holds a name, an operator or a literal."""

    kind: str
    value: Any = None
    parts: tuple["Syntax", ...] = ()
    optional: bool = False


@dataclass(slots=True)
class _Parser:
    code: str
    place: int
    end: int = 0
    depth: int = 0
    _next: tuple[str, str, int] | None = field(default=None)

    def peek(self) -> tuple[str, str]:
        if self._next is None:
            self._next = self._read()
        return self._next[0], self._next[1]

    def take(self) -> tuple[str, str]:
        kind, text = self.peek()
        assert self._next is not None
        self.place, self._next = self._next[2], None
        if self.place > self.end:
            raise ParseError("too long")
        return kind, text

    def _read(self) -> tuple[str, str, int]:
        place = self.place
        while (match := _TOKEN.match(self.code, place)) is not None:
            place = match.end()
            if match.lastgroup != "space":
                return str(match.lastgroup), match[0], place
        return "end", "", place

    def accept(self, sign: str) -> bool:
        if self.peek() == ("sign", sign):
            self.take()
            return True
        return False

    def expect(self, sign: str) -> None:
        if not self.accept(sign):
            raise ParseError(f"{sign} expected")

    def expression(self, least: int = 0) -> Syntax:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise ParseError("too deep")
        left = self._unary()
        while (power := _BINDING.get(self.peek()[1], 0)) > least and self.peek()[0] in ("sign", "name"):
            operator = self.take()[1]
            left = Syntax("binary", operator, (left, self.expression(power)))
        if least == 0 and self.accept("?"):
            chosen = self.expression()
            self.expect(":")
            left = Syntax("choice", None, (left, chosen, self.expression()))
        self.depth -= 1
        return left

    def _unary(self) -> Syntax:
        kind, text = self.peek()
        if (kind, text) in (("sign", "!"), ("sign", "-"), ("sign", "+")) or text in ("typeof", "await", "void"):
            self.take()
            return Syntax("unary", text, (self._unary(),))
        if text == "new":
            self.take()
            return Syntax("new", None, (self._postfix(self._primary()),))
        return self._postfix(self._primary())

    def _postfix(self, base: Syntax) -> Syntax:
        while True:
            optional = self.accept("?.")
            if self.accept("["):
                base = Syntax("index", None, (base, self.expression()), optional)
                self.expect("]")
            elif self.accept("("):
                base = Syntax("call", None, (base, *self._listed(")")), optional)
            elif optional or self.accept("."):
                kind, name = self.take()
                if kind != "name":
                    raise ParseError("a name expected")
                base = Syntax("member", name, (base,), optional)
            else:
                return base

    def _primary(self) -> Syntax:
        if self.peek() == ("sign", "/"):
            return self._regex()
        kind, text = self.take()
        if kind == "number":
            return Syntax("literal", float(text) if any(one in text for one in ".eE") else int(text))
        if kind == "text":
            return Syntax("literal", unquoted(text))
        if kind == "template":
            return Syntax("unknown", text)
        if kind == "name":
            return self._named(text)
        if (kind, text) == ("sign", "["):
            return Syntax("list", None, tuple(self._listed("]")))
        if (kind, text) == ("sign", "("):
            return self._in_parentheses()
        raise ParseError("no expression")

    def _named(self, text: str) -> Syntax:
        if text == "$(":
            node = self.take()[1]
            self.expect(")")
            return Syntax("node", unquoted(node))
        if text in _LITERALS:
            return Syntax("literal", _LITERALS[text])
        if text in _KEYWORDS:
            raise ParseError("a statement")
        if self.accept("=>"):
            return self._arrow((text,))
        return Syntax("name", text)

    def _in_parentheses(self) -> Syntax:
        parameters = of_names(r"\s*+((?:[\w$]++\s*+,?\s*+)*+)\)\s*+=>").match(self.code, self.place)
        if parameters is not None:
            self.place, self._next = parameters.end(), None
            return self._arrow(tuple(of_names(r"[\w$]+").findall(parameters[1])))
        inner = self.expression()
        self.expect(")")
        return inner

    def _arrow(self, names: tuple[str, ...]) -> Syntax:
        if self.peek() == ("sign", "{"):
            raise ParseError("a function with statements")
        return Syntax("function", names, (self.expression(),))

    def _regex(self) -> Syntax:
        start = re.compile(r"\s*+").match(self.code, self.place)
        match = _REGEX.match(self.code, start.end() if start else self.place)
        if match is None:
            raise ParseError("no pattern")
        self.place, self._next = match.end(), None
        return Syntax("pattern", (match["body"], match["flags"]))

    def _listed(self, closing: str) -> list[Syntax]:
        parts: list[Syntax] = []
        while not self.accept(closing):
            parts.append(self.expression())
            if not self.accept(","):
                self.expect(closing)
                break
        return parts


def parse(code: str, place: int = 0) -> tuple[Syntax, int]:
    """The expression that begins at this place, and where it ends."""
    parser = _Parser(code, place, end=min(len(code), place + _LONGEST))
    try:
        found = parser.expression()
    except RecursionError:
        raise ParseError("too deep") from None
    return found, parser.place


def parse_whole(text: str) -> Syntax:
    """The text as one expression and nothing else."""
    found, end = parse(text)
    if text[end:].strip(" \t\n;"):
        raise ParseError("more than an expression")
    return found


def unquoted(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text[1:-1])
