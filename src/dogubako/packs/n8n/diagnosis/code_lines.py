"""The line of code that gives a field its value."""

import re
from typing import Final

from dogubako.packs.n8n.diagnosis.declarations import value_end
from dogubako.packs.n8n.diagnosis.references import texts
from dogubako.packs.n8n.diagnosis.scene import CODE_TYPES, Scene
from dogubako.packs.n8n.javascript_names import of_names

_LONGEST_CODE: Final = 20_000
# A value that is written out says nothing of how it was made.
_WRITTEN_OUT = re.compile(
    r"\s*+(?:\"[^\"]{0,200}+\"|'[^']{0,200}+'|-?[\d.]++|null\b|true\b|false\b)\s*+(?:[,}\]]|$)|\s*+[\[{][^()$+*]*+$"
)
# `name: …`, `'name': …` and `row.name = …`; a variable that gets a value.
_MAKES = of_names(
    r"(?<![\w$.])(?:'([^'\n]{1,100}+)'|\"([^\"\n]{1,100}+)\"|([\w$]++))\s*+:"
    r"|(?<![\w$])[\w$]{0,60}+\.([\w$]++)\s*+[-+*/]?=(?!=)"
)
_GIVES = of_names(r"(?<![\w$.])([\w$]++)\s*+[-+*/]?=(?![=>])")
_BEGINS = re.compile(r"\s*+(?:0|''|\"\"|\[\]|\{\}|null)\s*+(?:;|$)")
_ALONE = of_names(r"\s*+([\w$]{1,60}+)\s*+[,}\]);]")


def line_of(scene: Scene, node: str, path: tuple[str, ...]) -> tuple[int, str] | None:
    """The only line of code that gives this field its value, from the name on, and the one of a variable in it."""
    name = next((one for one in reversed(path) if not one.isdecimal()), "")
    if scene.kind(node) not in CODE_TYPES or not name:
        return None
    for text in texts({key: scene.settings.get(node, {}).get(key) for key in ("jsCode", "functionCode")}):
        lines = text[:_LONGEST_CODE].split("\n")
        found = [(at, one) for at, line in enumerate(lines) for one in _MAKES.finditer(line) if name in one.groups()]
        short = of_names(rf"[{{,]\s*+{re.escape(name)}\s*+[,}}]")
        if len(found) != 1 or short.search(text[:_LONGEST_CODE]):
            # Which of several made it is not known; `{ name }` makes it, too.
            continue
        ((at, match),) = found
        alone = _ALONE.match(lines[at], match.end())
        before = _assigned_in(lines, alone[1]) if alone else None
        shown = _cut(lines[at], match)
        told = f"{shown} with {before}" if before else shown
        return None if _WRITTEN_OUT.match(lines[at], match.end()) else (at + 1, told)
    return None


def _cut(line: str, match: re.Match[str]) -> str:
    """From the name to the end of its value."""
    return line[match.start() : value_end(line, match.end())].strip()


def _assigned_in(lines: list[str], name: str) -> str | None:
    """The only line that gives a variable its value; a sum begins with a value that is written out."""
    found = [(line, match) for line in lines for match in _GIVES.finditer(line) if match[1] == name]
    made = [(line, one) for line, one in found if len(found) == 1 or not _BEGINS.match(line, one.end())]
    return _cut(*made[0]) if len(made) == 1 else None
