"""Cut the code of a node into tokens. What is not understood is a ParseError."""

import re
from typing import Final, NamedTuple

from dogubako.packs.n8n.diagnosis.javascript import ParseError
from dogubako.packs.n8n.javascript_names import NAME

_SPACE = re.compile(r"(?:\s++|//[^\n]*+|/\*(?:[^*]++|\*(?!/))*+\*/)++")
_NUMBER = re.compile(r"0[xX][0-9a-fA-F]++n?+|(?:\d[\d_]*+(?:\.\d++)?+|\.\d++)(?:[eE][+-]?+\d++)?+n?+")
_TEXT = re.compile(r"""'(?:[^'\\\n]++|\\.|\\\n)*+'|"(?:[^"\\\n]++|\\.|\\\n)*+\"""", re.DOTALL)
# A name with # before it is private to a class.
_NAME = re.compile(rf"#?{NAME}")
_REGEX = re.compile(r"/((?:[^/\\\[\n]++|\\.|\[(?:[^\]\\\n]++|\\.)*+\])++)/([a-z]*+)")
_SIGN = re.compile(
    r"=>|\.\.\.|===|!==|\*\*=|\*\*|\?\?=|\|\|=|&&=|==|!=|<=|>=|&&|\|\||\?\?|\?\.(?!\d)|\+\+|--|\+=|-=|\*=|/=|%="
    r"|[-+*/%<>!?:.,()\[\]{};=~&|^]"
)
_ESCAPE = re.compile(r"\\(?:u\{([0-9a-fA-F]{1,6})\}|u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(\n)|(.))", re.DOTALL)
_ESCAPED: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0"}
# A `/` behind one of these begins a pattern, behind anything else it divides.
_BEFORE_REGEX: Final = frozenset(
    """
    ( , = : [ ! & | ? { } ; + - * % < > => && || ?? === !== == != return typeof
    """.split()  # noqa: SIM905 - a list of signs reads best so
)
_MOST_TOKENS: Final = 6_000


class Token(NamedTuple):
    """A piece of the code. `kind` is name, number, text, template, pattern, sign or end."""

    kind: str
    text: str
    line: int
    on_new_line: bool
    parts: tuple[str, ...] = ()
    """Of a template: text and code in turns."""


def tokens_of(code: str, line: int = 1) -> list[Token]:
    found: list[Token] = []
    place, new_line = 0, True
    while place < len(code):
        if (space := _SPACE.match(code, place)) is not None:
            count = space[0].count("\n")
            line, new_line, place = line + count, new_line or count > 0, space.end()
            continue
        before = found[-1].text if found else "("
        kind, text, end, parts = _next(code, place, before)
        found.append(Token(kind, text, line, new_line, parts))
        if len(found) > _MOST_TOKENS:
            raise ParseError("too long")
        line, new_line, place = line + code.count("\n", place, end), False, end
    found.append(Token("end", "", line, True))
    return found


def _next(code: str, place: int, before: str) -> tuple[str, str, int, tuple[str, ...]]:
    if code[place] == "`":
        end, parts = _template(code, place)
        return "template", "`", end, parts
    if code[place] == "/" and before in _BEFORE_REGEX and (match := _REGEX.match(code, place)) is not None:
        return "pattern", match[1], match.end(), (match[2],)
    if (match := _TEXT.match(code, place)) is not None:
        return "text", unescaped(match[0][1:-1]), match.end(), ("'",)
    for kind, pattern in (("number", _NUMBER), ("name", _NAME), ("sign", _SIGN)):
        if (match := pattern.match(code, place)) is not None:
            return kind, match[0], match.end(), ()
    raise ParseError("a character that is not understood")


def _template(code: str, place: int) -> tuple[int, tuple[str, ...]]:
    """Where a template ends, and its texts and expressions in turns."""
    parts, start = [""], place + 1
    place = start
    while place < len(code):
        sign = code[place]
        if sign == "`":
            parts[-1] = unescaped(code[start:place])
            return place + 1, tuple(parts)
        if sign == "\\":
            place += 2
        elif code.startswith("${", place):
            parts[-1] = unescaped(code[start:place])
            end = _end_of_code(code, place + 2)
            parts += [code[place + 2 : end], ""]
            place = start = end + 1
        else:
            place += 1
    raise ParseError("a template without an end")


def _end_of_code(code: str, place: int) -> int:
    depth = 0
    while place < len(code):
        sign = code[place]
        if sign == "`":
            place = _template(code, place)[0]
            continue
        if sign in "'\"" and (match := _TEXT.match(code, place)) is not None:
            place = match.end()
            continue
        if sign == "}" and depth == 0:
            return place
        depth += (sign == "{") - (sign == "}")
        place += 1
    raise ParseError("a template without an end")


def unescaped(text: str) -> str:
    return _ESCAPE.sub(_plain, text) if "\\" in text else text


def _plain(match: re.Match[str]) -> str:
    number = match[1] or match[2] or match[3]
    if number:
        value = int(number, 16)
        return chr(value) if value < 0x110000 else "\ufffd"
    return "" if match[4] else _ESCAPED.get(match[5], match[5])
