"""Why the JavaScript of a node cannot run, or gives out nothing that n8n takes, as far as that is sure without data."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from dogubako.packs.n8n.diagnosis.javascript import LONGEST_CODE_FOLLOWED, ParseError
from dogubako.packs.n8n.diagnosis.replay.statements import parse_script
from dogubako.packs.n8n.diagnosis.replay.syntax import Tree
from dogubako.packs.n8n.nodes.javascript import Script
from dogubako.packs.n8n.nodes.problems import parameters_of

CODE_NODE: Final = "n8n-nodes-base.code"
_ALL_ITEMS: Final = "runOnceForAllItems"
EACH_ITEM: Final = "runOnceForEachItem"
# A value cannot begin with two braces: behind these signs, or behind the name of a field, no block can stand.
_BRACES: Final = re.compile(r"(?:[=(,\[+?]|\breturn\b|[{,]\s*+[\w$]++\s*+:)\s*+\{\s*+\{")
_MODULE: Final = re.compile(r"^[ \t]*+(?P<word>import[ \t]++[\w$*{]|export\b[ \t]++[\w*{])", re.MULTILINE)
_GIVES_BACK: Final = re.compile(r"(?<![\w$.])(?:return|throw)(?![\w$])")
_THROWS: Final = re.compile(r"(?<![\w$.])throw(?![\w$])")
# n8n itself looks for these texts.
_OF_ALL_ITEMS: Final = re.compile(r"\$input\.(?P<method>first|last|all|itemMatching)\b")
_FETCH: Final = re.compile(r"(?<![\w$.])fetch\s*+\(")
_OWN_FETCH: Final = re.compile(r"(?:function|const|let|var|typeof)\s++fetch\b|(?<![\w$.])fetch\s*+=")


def code_fault(node: Mapping[str, Any], text: str, script: Script) -> str | None:
    """`has …`, `is …`, `returns …`: what is wrong with the code of a node."""
    is_code = node.get("type") == CODE_NODE
    if is_code and not text.strip():
        return "is empty"
    if _BRACES.search(script.code):
        return "has '{{', which n8n does not evaluate in code: write $json.field without braces"
    if script.fault is not None:
        return f"has {script.fault}"
    module = _MODULE.search(script.code)
    if is_code and module is not None:
        return f"has a statement ('{module['word'].split()[0]}') of modules, which n8n does not take"
    return _result_fault(str(parameters_of(node).get("mode", _ALL_ITEMS)), text, script) if is_code else None


def has_no_code(node: Mapping[str, Any]) -> bool:
    """Whether a Code node is without the code that n8n's editor would write into a new one."""
    parameters = parameters_of(node)
    python = str(parameters.get("language", "")).startswith("python")
    return node.get("type") == CODE_NODE and not node.get("disabled") and not python and "jsCode" not in parameters


def _result_fault(mode: str, text: str, script: Script) -> str | None:
    if _FETCH.search(script.code) and not _OWN_FETCH.search(script.code):
        return "uses fetch, which the Code node does not have: write await this.helpers.httpRequest({ url })"
    if mode == _ALL_ITEMS and _GIVES_BACK.search(script.code) is None:
        return "returns nothing"
    found = _OF_ALL_ITEMS.search(script.code) if mode == EACH_ITEM else None
    if found is not None:
        return f"uses $input.{found['method']}(), which the mode {EACH_ITEM} does not have: write $input.item"
    if mode not in (_ALL_ITEMS, EACH_ITEM) or len(text) > LONGEST_CODE_FOLLOWED:
        return None
    try:
        tree = parse_script(text)
    except ParseError:
        return None
    if mode == _ALL_ITEMS and not any(_returns(tree)) and not _THROWS.search(script.code):
        return "returns nothing: every 'return' of it belongs to a function inside"
    return _wrong_result(_sure_result(tree), mode)


def modules_required(tree: Tree) -> Iterator[str]:
    """The names of `require('name')`. n8n has none of them, unless the instance allows it."""
    called = tree.parts[0] if tree.kind == "call" else None
    if called is not None and called.kind == "name" and called.value == "require" and len(tree.parts) == 2:
        name = tree.parts[1]
        if name is not None and name.kind == "literal" and isinstance(name.value, str):
            yield name.value
    for part in tree.parts:
        yield from modules_required(part) if part is not None else ()


def _returns(tree: Tree) -> Iterator[bool]:
    """One for each `return` of the code itself."""
    if tree.kind == "return":
        yield True
    elif tree.kind not in ("function", "class"):
        for part in tree.parts:
            yield from _returns(part) if part is not None else ()


def _sure_result(tree: Tree) -> Tree | None:
    """What the code returns if it comes to its end; None if a condition decides."""
    for statement in tree.parts:
        if statement is not None and statement.kind in ("return", "throw"):
            return statement.parts[0] if statement.kind == "return" else None
    return None


def _wrong_result(result: Tree | None, mode: str) -> str | None:
    if result is None or (mode == EACH_ITEM and result.kind == "literal" and not result.value):
        # For each item, n8n leaves out what is empty, 0 or false.
        return None
    wanted = "one item, { json: { … } }" if mode == EACH_ITEM else "items, [{ json: { … } }]"
    if (plain := _plain(result)) is not None:
        return f"returns {plain}, and n8n takes {wanted}"
    if _has_wrong_json(result):
        return f"returns an item whose 'json' is no object, and n8n takes {wanted}"
    if result.kind != "list":
        return None
    if mode == EACH_ITEM:
        return f"returns a list, and the mode {EACH_ITEM} takes {wanted}"
    parts = [part for part in result.parts if part is not None]
    if parts and all(part.kind == "list" or _plain(part) is not None for part in parts):
        return f"returns a list without objects, and n8n takes {wanted}"
    if any(map(_has_wrong_json, parts)):
        return f"returns an item whose 'json' is no object, and n8n takes {wanted}"
    return None


def _has_wrong_json(item: Tree) -> bool:
    """Whether `{ json: … }` holds a list or a plain value."""
    for entry in item.parts if item.kind == "object" else ():
        if entry is not None and entry.kind == "entry" and entry.parts[0] is not None and entry.parts[1] is not None:
            key, value = entry.parts[0], entry.parts[1]
            if key.kind == "literal" and key.value == "json" and (value.kind == "list" or _plain(value) is not None):
                return True
    return False


def _plain(tree: Tree) -> str | None:
    """`a text`, `a number`: a value that is no object; None for all others."""
    if tree.kind == "template":
        return "a text"
    literal = tree.parts[0] if tree.kind == "unary" and tree.value == "-" else tree
    value = literal.value if literal is not None and literal.kind == "literal" else None
    if isinstance(value, bool):
        return str(value).lower()
    return "a text" if isinstance(value, str) else "a number" if isinstance(value, int | float) else None
