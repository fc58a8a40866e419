"""What code declares: names with their values, also by taking objects and lists apart."""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from dogubako.packs.n8n.javascript_names import NAME, of_names

_DECLARED = of_names(
    rf"(?<![\w$.])(?:const|let|var)\s++(?P<target>{NAME}|\{{[^;=]{{0,400}}?\}}|\[[^;=\]]{{0,400}}+\])\s*+=(?!=)\s*+(?P<start>)"
)
_DECLARED_TOO = re.compile(rf",\s*+(?P<target>{NAME}|\{{[^;=]{{0,400}}?\}}|\[[^;=\]]{{0,400}}+\])\s*+=(?![=>])\s*+")
_MOST_TOGETHER: Final = 20
_LONGEST_VALUE: Final = 2_000


class Step(NamedTuple):
    """One name on a path. `optional`: it is reached by `?.`, so that a missing value before it is no error."""

    name: str
    optional: bool = False


def declarations(code: str) -> Iterator[tuple[int, str]]:
    """What is declared in code, with the place of its value; also behind a comma: `const a = x, b = y`."""
    for match in _DECLARED.finditer(code):
        yield match.end("start"), match["target"]
        place = match.end("start")
        for _ in range(_MOST_TOGETHER):
            following = _DECLARED_TOO.match(code, value_end(code, place))
            if following is None:
                break
            yield following.end(), following["target"]
            place = following.end()


def value_end(code: str, place: int) -> int:
    """Where the value that begins here ends: at a comma, a semicolon or a bracket around it."""
    depth, quote = 0, ""
    for at in range(place, min(len(code), place + _LONGEST_VALUE)):
        sign = code[at]
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "'\"`":
            quote = sign
        elif depth == 0 and sign in ",;)]}":
            return at
        else:
            depth += (sign in "([{") - (sign in ")]}")
    return len(code)


def bound_names(target: str) -> Iterator[tuple[str, tuple[Step, ...]]]:
    """The names that a declaration binds, with the path to each: `{ a, b: c }`, `[first]`, or a plain name."""
    target = target.strip()
    if target.startswith("{"):
        for part in _split(target.strip("{} \n") if "{" not in target[1:] else target[1:].rpartition("}")[0]):
            key, colon, inner = part.partition(":")
            # A name that is no identifier may stand in brackets: `{ ['first name']: first }`.
            key = key.partition("=")[0].strip().removeprefix("[").removesuffix("]").strip("'\"")
            if key.startswith("..."):
                yield key[3:], ()
            elif key:
                for name, path in bound_names(inner.partition("=")[0] if colon else key):
                    yield name, (Step(key), *path)
    elif target.startswith("["):
        for index, part in enumerate(target.strip("[] \n").split(",")):
            if part.strip():
                yield part.strip(), (Step(str(index)),)
    elif target:
        yield target.partition("=")[0].strip(), ()


def _split(text: str) -> list[str]:
    """The parts between commas, leaving inner braces whole."""
    parts, depth = [""], 0
    for character in text:
        depth += (character in "{[") - (character in "}]")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part for part in parts if part.strip()]
