"""Read JavaScript as far as a check needs it: where texts end, which nodes are named, what cannot be JavaScript.

Whether a `/` divides or begins a regular expression is not always known. From there on nothing is claimed.
"""

import re
from typing import Final, NamedTuple

from dogubako.packs.n8n.diagnosis.replay.tokens import unescaped
from dogubako.packs.n8n.nodes.token_order import BEFORE_REGEX, TEMPLATE, misplaced, no_expression, side_by_side

_PAIRS: Final = {")": ("(",), "]": ("[",), "}": ("{", "${")}
# What stands for a text or a regular expression in the code that is left.
_TEXT: Final = " T "
# `$('Name')`, `$items("Name")` and `$node["Name"]`, before the name.
_LOOKS_UP: Final = re.compile(r"(?<![\w$])\$(?:\(|items\(|node\[)$")
_BEHIND_NAME: Final = re.compile(r"\s*+[,)\]]")
_LONGEST_LOOKUP: Final = 12
_REGEX: Final = re.compile(r"/(?:[^/\\\[\n]++|\\.|\[(?:[^\]\\\n]++|\\.)*+\])++/[a-z]*+")
_LONGEST_REGEX: Final = 1_000
_LAST_WORD: Final = re.compile(r"(?<![\w$])[\w$]++$")


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
        fault = f"'{reader.stack[-1]}' that is not closed" if reader.stack else misplaced(left)
        fault = fault or (no_expression(left) if expression else side_by_side(left))
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
            # A line break in a comment counts as one.
            self.kept.append("\n" if ending == "\n" or "\n" in code[at : self._at] else " ")
            return
        before = "".join(self.kept[-_LONGEST_LOOKUP:]).rstrip()
        word = _LAST_WORD.search(before)
        begins = not before or before[-1] in "(,=:[!&|?{;+-*%<>~^" or (word is not None and word[0] in BEFORE_REGEX)
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
                self.kept += [TEMPLATE, " ( "]
                return
            at += 2 if self._code[at] == "\\" else 1
        if at >= len(self._code):
            self._blame("a text that ` does not end")
        self._at = min(at + 1, len(self._code))
        if start is not None:
            self._named(self._code[first:at])
            self.kept.append(TEMPLATE)

    def _named(self, text: str) -> None:
        """Remember a text that is the name of a node. One that is put together is known only at run time."""
        before = "".join(self.kept[-_LONGEST_LOOKUP:]).rstrip()
        if _LOOKS_UP.search(before) is not None and _BEHIND_NAME.match(self._code, self._at) is not None:
            plain = unescaped(text).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
            self.names.append(plain)
