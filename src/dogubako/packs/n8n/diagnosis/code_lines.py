"""The line of code that gives a field its value."""

import re
from typing import Any, Final

from dogubako.packs.n8n.diagnosis.declarations import value_end
from dogubako.packs.n8n.diagnosis.guards import declared_text
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
    r"|(?<![\w$.])(?:[\w$]{1,60}+\.){0,4}[\w$]{0,60}+\.([\w$]++)\s*+[-+*/]?=(?!=)"
)
_GIVES = of_names(r"(?<![\w$.])([\w$]++)\s*+[-+*/]?=(?![=>])")
_STORES = re.compile(r"\[\s*+(?:'([^'\n]{1,100}+)'|\"([^\"\n]{1,100}+)\")\s*+\]\s*+[-+*/]?=(?!=)")
# Code that takes its values from elsewhere than from the items.
_ASKS = of_names(r"helpers\.\w|(?<![\w$.])(?:fetch|axios|require)\b|\$getWorkflowStaticData|JSON\.parse|json\.loads")
_SORTS = re.compile(r"\.(?:sort|toSorted)\s*+\(")
_SHORTEST: Final = 2
_BEGINS = re.compile(r"\s*+(?:0|''|\"\"|\[\]|\{\}|null)\s*+(?:;|$)")
_ALONE = of_names(r"\s*+([\w$]{1,60}+)\s*+[,}\]);]")

_PROMISE: Final = (
    r"(?:const|let|var)\s+{name}\s*=\s*((?:this\.)?helpers\.(?:httpRequest|request)\w*|fetch|axios(?:\.\w+)?)\s*\("
)
_ASYNC = of_names(
    r"(?<![\w$.])(?:async\s++function\s++([\w$]{1,100}+)|(?:const|let|var)\s++([\w$]{1,100}+)\s*+=\s*+async\b)"
)


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


def sets_field(scene: Scene, node: str, name: str) -> bool:
    """Whether the text of a node's code gives a field of this name a value, as far as it writes the name."""
    written = code_of(scene, node)
    return any(name in one.groups() for one in _MAKES.finditer(written)) or any(
        name in (one[1], one[2]) for one in _STORES.finditer(written)
    )


def sorts(scene: Scene, node: str) -> bool:
    """Whether code puts a list in another order."""
    return _SORTS.search(code_of(scene, node)) is not None


def writes(scene: Scene, node: str, text: str) -> bool:
    """Whether this text may be one that the code itself writes out."""
    return len(text) < _SHORTEST or text in code_of(scene, node)


def may_hand_on(scene: Scene, node: str, name: str, value: Any) -> bool:
    """Whether code that cannot be run again leaves this field as it was: it does not set it, or copies it plainly."""
    written = code_of(scene, node)
    if _ASKS.search(written) is not None:
        return False
    if not sets_field(scene, node, name):
        return True
    quoted = re.escape(name)
    makes = rf"(?:(?<![\w$.])['\"]?{quoted}['\"]?\s*+:|\.{quoted}\s*+=(?!=))([^\n]{{0,200}})"
    made = [one[1] for one in of_names(makes).finditer(written)]
    # A value that is easily the same by chance has to be that of the item itself.
    by_chance = value is None or isinstance(value, (bool, int, float)) or len(str(value)) < _SHORTEST
    root = r"(?:[\w$]{1,60}+\??\.){0,3}json\??" if by_chance else r"[\w$.?]{1,80}?"
    copies = of_names(rf"\s*+{root}\.{quoted}(?![\w$])")
    return bool(made) and all(copies.match(one) for one in made)


def code_of(scene: Scene, node: str) -> str:
    """The code of a node, of any kind."""
    held = scene.settings.get(node, {})
    return "\n".join(texts({key: held.get(key) for key in ("jsCode", "functionCode", "pythonCode")}))[:_LONGEST_CODE]


def calculates_with(text: str, name: str) -> bool:
    """Whether code or an expression takes a field of this name for a number."""
    taken = of_names(
        rf"(?:Number|parseFloat|parseInt|Math\.\w{{1,9}})\([^()]{{0,60}}(?<![\w$]){re.escape(name)}(?![\w$])"
        rf"|\.{re.escape(name)}(?![\w$])\s{{0,9}}(?:[*/<>-]|\.to(?:Number|Float|Int)\()"
        rf"|[*/-]\s{{0,9}}(?:[\w$]{{1,60}}\.){{1,5}}{re.escape(name)}(?![\w$])"
    )
    return taken.search(text[:_LONGEST_CODE]) is not None


def call_not_awaited(code: str, text: str) -> str | None:
    """The call that gives a promise, if this reads a property of the promise itself."""
    root = of_names(r"[\w$]++").match(text)
    call = re.search(_PROMISE.format(name=re.escape(root[0])), code) if root else None
    if call or root is None or "." not in text:
        return call[1] if call and "." in text else None
    made = of_names(r"([\w$]{1,100}+)\s*+\(").match(declared_text(code, root[0]) or "")
    return made[1] if made and made[1] in {one[1] or one[2] for one in _ASYNC.finditer(code)} else None
