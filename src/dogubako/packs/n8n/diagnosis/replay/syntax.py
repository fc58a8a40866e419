"""Parse expressions, functions and classes of everyday JavaScript into a tree."""

from dataclasses import dataclass
from typing import Any, Final

from dogubako.packs.n8n.diagnosis.javascript import ParseError
from dogubako.packs.n8n.diagnosis.javascript_values import UNKNOWN
from dogubako.packs.n8n.diagnosis.replay.tokens import Token, tokens_of

_BINDING: Final = {
    "??": 1, "||": 2, "&&": 3, "|": 4, "^": 4, "&": 4, "===": 5, "!==": 5, "==": 5, "!=": 5, "<": 6, ">": 6, "<=": 6,
    ">=": 6, "in": 6, "instanceof": 6, "+": 7, "-": 7, "*": 8, "/": 8, "%": 8, "**": 9,
}  # fmt: skip
_ASSIGNS: Final = frozenset({"=", "+=", "-=", "*=", "/=", "%=", "**=", "??=", "||=", "&&="})
_LITERALS: Final = {"true": True, "false": False, "null": None}
_RESERVED: Final = frozenset(
    [
        "if",
        "else",
        "for",
        "while",
        "do",
        "return",
        "throw",
        "const",
        "let",
        "var",
        "switch",
        "case",
        "try",
        "catch",
        "break",
    ]
)
DEEPEST: Final = 60


@dataclass(frozen=True, slots=True)
class Tree:
    """A part of the code. `value` holds a name, an operator, a literal or a flag; missing parts are None."""

    kind: str
    line: int
    value: Any = None
    parts: tuple["Tree | None", ...] = ()


class Expressions:
    """A parser of expressions. What is not implemented here is in the parsers that inherit from it."""

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._place = 0
        self._depth = 0

    def block(self) -> Tree:
        raise NotImplementedError

    def function(self, name: str, line: int) -> Tree:
        raise NotImplementedError

    def class_(self) -> Tree:
        raise NotImplementedError

    def end_statement(self) -> None:
        raise NotImplementedError

    def _arrow(self) -> Tree | None:
        raise NotImplementedError

    @property
    def now(self) -> Token:
        return self._tokens[self._place]

    def ahead(self, count: int = 1) -> Token:
        return self._tokens[min(self._place + count, len(self._tokens) - 1)]

    def take(self) -> Token:
        token = self.now
        self._place = min(self._place + 1, len(self._tokens) - 1)
        return token

    def at(self, *wanted: str) -> bool:
        return self.now.kind in ("sign", "name") and self.now.text in wanted

    def accept(self, wanted: str) -> bool:
        if self.at(wanted):
            self.take()
            return True
        return False

    def expect(self, wanted: str) -> Token:
        if not self.at(wanted):
            raise ParseError(f"{wanted} expected")
        return self.take()

    def name(self) -> str:
        token = self.take()
        if token.kind != "name":
            raise ParseError("a name expected")
        return token.text

    def in_parentheses(self) -> Tree:
        self.expect("(")
        inner = self.expression()
        self.expect(")")
        return inner

    def expression(self) -> Tree:
        return self.assignment()

    def assignment(self) -> Tree:
        self._depth += 1
        if self._depth > DEEPEST:
            raise ParseError("too deep")
        made = self._arrow() or self._assigned()
        self._depth -= 1
        return made

    def _assigned(self) -> Tree:
        left = self.choice()
        if self.now.kind == "sign" and self.now.text in _ASSIGNS:
            if left.kind not in ("name", "member", "index"):
                raise ParseError("an assignment to parts")
            operator = self.take().text
            return Tree("assign", left.line, operator[:-1], (left, self.assignment()))
        return left

    def choice(self) -> Tree:
        condition = self.binary(0)
        if not self.accept("?"):
            return condition
        chosen = self.assignment()
        self.expect(":")
        return Tree("choice", condition.line, None, (condition, chosen, self.assignment()))

    def binary(self, least: int) -> Tree:
        left = self.unary()
        while self.now.kind in ("sign", "name") and (power := _BINDING.get(self.now.text, 0)) > least:
            operator = self.take().text
            right = self.binary(power - 1 if operator == "**" else power)
            left = Tree("binary", left.line, operator, (left, right))
        return left

    def unary(self) -> Tree:
        token = self.now
        if self.at("!", "-", "+", "~", "typeof", "void", "delete", "await"):
            self.take()
            return Tree("unary", token.line, token.text, (self.unary(),))
        if self.at("++", "--"):
            self.take()
            return Tree("update", token.line, (token.text, True), (self.unary(),))
        base = self.chain()
        if self.at("++", "--") and not self.now.on_new_line:
            return Tree("update", token.line, (self.take().text, False), (base,))
        return base

    def chain(self) -> Tree:
        line = self.now.line
        if self.accept("new"):
            callee = self._steps(self.primary(), calls=False)
            given = self.arguments() if self.at("(") else []
            return self._chained(self._steps(Tree("new", line, None, (callee, *given))))
        return self._chained(self._steps(self.primary()))

    def _chained(self, made: Tree) -> Tree:
        """A chain with `?.` ends as a whole where one of its values is nothing."""
        inner: Tree | None = made
        while inner is not None and inner.kind in ("member", "index", "call"):
            if (inner.kind == "member" and inner.value[1]) or (inner.kind != "member" and inner.value):
                return Tree("chain", made.line, None, (made,))
            inner = inner.parts[0]
        return made

    def _steps(self, base: Tree, *, calls: bool = True) -> Tree:
        while True:
            line = self.now.line
            optional = self.accept("?.")
            if calls and self.at("("):
                base = Tree("call", line, optional, (base, *self.arguments()))
            elif self.accept("["):
                base = Tree("index", line, optional, (base, self.expression()))
                self.expect("]")
            elif optional or self.accept("."):
                line = self.now.line
                base = Tree("member", line, (self.name(), optional), (base,))
            elif self.now.kind == "template":
                raise ParseError("a tagged template")
            else:
                return base

    def arguments(self) -> list[Tree]:
        self.expect("(")
        return self.listed(")")

    def listed(self, closing: str) -> list[Tree]:
        found = []
        while not self.accept(closing):
            line = self.now.line
            found.append(Tree("spread", line, None, (self.assignment(),)) if self.accept("...") else self.assignment())
            if not self.accept(","):
                self.expect(closing)
                break
        return found

    def primary(self) -> Tree:
        token = self.take()
        line = token.line
        if token.kind == "number":
            text = token.text.replace("_", "")
            if text.endswith("n"):
                # Of a BigInt nothing is calculated here.
                return Tree("literal", line, UNKNOWN)
            number = int(text, 16) if text[:2] in ("0x", "0X") else float(text)
            return Tree("literal", line, int(number) if number == int(number) else number)
        if token.kind == "text":
            return Tree("literal", line, token.text)
        if token.kind == "pattern":
            return Tree("pattern", line, (token.text, token.parts[0]))
        if token.kind == "template":
            return Tree("template", line, token.parts[::2], tuple(self._inner(one, line) for one in token.parts[1::2]))
        if token.kind == "name":
            return self._named(token)
        if token.text == "[":
            return Tree("list", line, None, tuple(self.listed("]")))
        if token.text == "{":
            return self._object(line)
        if token.text == "(":
            inner = self.expression()
            self.expect(")")
            return inner
        raise ParseError("no expression")

    def _named(self, token: Token) -> Tree:
        if token.text in _LITERALS:
            return Tree("literal", token.line, _LITERALS[token.text])
        if token.text in ("function", "async"):
            if token.text == "async":
                self.expect("function")
            name = self.take().text if self.now.kind == "name" else ""
            return self.function(name, token.line)
        if token.text == "class":
            self._place -= 1
            return self.class_()
        if token.text in _RESERVED:
            raise ParseError("a statement")
        return Tree("name", token.line, token.text)

    def _object(self, line: int) -> Tree:
        parts: list[Tree] = []
        while not self.accept("}"):
            at = self.now.line
            if self.accept("..."):
                parts.append(Tree("spread", at, None, (self.assignment(),)))
            else:
                parts.append(self._entry(at))
            if not self.accept(","):
                self.expect("}")
                break
        return Tree("object", line, None, tuple(parts))

    def _entry(self, line: int) -> Tree:
        if self.at("async") and self.ahead().text not in (":", ",", "}", "("):
            self.take()
        computed = self._key()
        if self.at("("):
            return Tree("entry", line, None, (computed, self.function("", line)))
        if self.accept(":"):
            return Tree("entry", line, None, (computed, self.assignment()))
        if computed.kind != "literal" or not isinstance(computed.value, str):
            raise ParseError(": expected")
        return Tree("entry", line, None, (computed, Tree("name", line, computed.value)))

    def _key(self) -> Tree:
        token = self.take()
        if token.text == "[" and token.kind == "sign":
            inner = self.assignment()
            self.expect("]")
            return inner
        if token.kind in ("name", "text", "number"):
            return Tree("literal", token.line, token.text)
        raise ParseError("a key expected")

    def _inner(self, code: str, line: int) -> Tree:
        parser = type(self)(tokens_of(code, line))
        made = parser.expression()
        if parser.now.kind != "end":
            raise ParseError("more than an expression")
        return made
