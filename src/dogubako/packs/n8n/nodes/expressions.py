"""Check expressions: braces that are not closed, and names of nodes that do not exist."""

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from dogubako.packs.n8n.nodes.display import is_expression
from dogubako.packs.n8n.nodes.problems import Problem, near_names, quoted

_OPEN, _CLOSE = "{{", "}}"
# `$('Name')`, `$items("Name")` and `$node["Name"]` with a plain name. One with a placeholder is known only at run time.
_REFERENCE: Final = re.compile(
    r"""\$(?:\(|items\(|node\[)\s*(?P<quote>['"`])(?P<name>(?:\\.|(?!(?P=quote))[^\\])*)(?P=quote)\s*[,)\]]"""
)
_NODE_ATTRIBUTE: Final = re.compile(r"\$node\.([A-Za-z_]\w*)")
_ESCAPED: Final = re.compile(r"\\(.)")
_COMMENT: Final = re.compile(r"/\*(?:[^*]++|\*(?!/))*+(?:\*/|\Z)|(?<![:\"'\w/])//[^\n]*+")
# Text that reads like an expression of n8n, and is none because the leading "=" is missing.
_LOOKS_LIKE: Final = re.compile(r"\{\{\s*(?:\$json\b|\$\(['\"]|\$node\b|\$input\b|\$now\b|\$today\b|\$item)")
_PAIRS: Final = {")": "(", "]": "[", "}": "{"}
_CODE_PARAMETERS: Final = ("jsCode", "pythonCode", "functionCode")
_DEEPEST: Final = 60


def check_expressions(
    node: Mapping[str, Any], names: Collection[str], written_as_text: Collection[str]
) -> Iterator[Problem]:
    """`names` are the nodes of the workflow. In parameters of `written_as_text`, braces have a meaning of their own."""
    parameters = node.get("parameters")
    for path, text in _texts(parameters if isinstance(parameters, Mapping) else {}, ""):
        top = re.split(r"[.\[]", path, maxsplit=1)[0]
        if is_expression(text):
            yield from _check_braces(text[1:], path)
            yield from _check_references(text, names, path, certain=True)
        elif top in _CODE_PARAMETERS:
            yield from _check_references(_COMMENT.sub("", text), names, path, certain=False)
        elif top not in written_as_text and _LOOKS_LIKE.search(text):
            message = f"{quoted(path)} is plain text: an expression has to begin with '='."
            yield Problem(kind="brokenExpression", path=path, message=message, certain=False)


def _texts(value: Any, path: str, depth: int = 0) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield path, value
    elif depth < _DEEPEST and isinstance(value, Mapping):
        for key, part in value.items():
            yield from _texts(part, f"{path}.{key}" if path else str(key), depth + 1)
    elif depth < _DEEPEST and isinstance(value, list):
        for index, part in enumerate(value):
            yield from _texts(part, f"{path}[{index}]", depth + 1)


def _check_references(text: str, names: Collection[str], path: str, *, certain: bool) -> Iterator[Problem]:
    found = [_ESCAPED.sub(r"\1", one["name"]) for one in _REFERENCE.finditer(text) if "${" not in one["name"]]
    found += _NODE_ATTRIBUTE.findall(text)
    for name in dict.fromkeys(found):
        if name not in names:
            message = f"{quoted(path)} refers to node {quoted(name)}, which the workflow does not have."
            near = near_names(name, names)
            yield Problem(kind="unknownNode", path=path, message=message, near=near, certain=certain)


def _check_braces(text: str, path: str) -> Iterator[Problem]:
    """n8n ends an expression at the first `}}`, also inside of an object or a text."""
    start = text.find(_OPEN)
    while start >= 0:
        if start > 0 and text[start - 1] == "\\":
            start = text.find(_OPEN, start + 2)
            continue
        end = text.find(_CLOSE, start + 2)
        if end < 0:
            message = f"{quoted(path)} has '{{{{' without '}}}}'; n8n takes it as plain text."
            yield Problem(kind="brokenExpression", path=path, message=message)
            return
        reason = _unbalanced(text[start + 2 : end])
        if reason is not None:
            closing = " n8n ends an expression at the first '}}': put a space between two braces."
            advice = closing if text[end + 2 : end + 3] in ("}", ")", "]") or _CLOSE in text[end + 2 :] else ""
            message = f"{quoted(path)} has {reason} in an expression.{advice}"
            yield Problem(kind="brokenExpression", path=path, message=message)
            return
        start = text.find(_OPEN, end + 2)


def _unbalanced(code: str) -> str | None:
    """What is not closed, or closed without being open. Nothing is claimed about code with regular expressions."""
    stack: list[str] = []
    index, before = 0, ""
    while index < len(code):
        one = code[index]
        if one in "'\"":
            end = _end_of_text(code, index)
            if end < 0:
                return f"a text that {one} does not end"
            index = end
        elif one == "`" or (one == "/" and before in "(,=:[!&|?{};+" and code[index + 1 : index + 2] not in "/*"):
            # Templates and regular expressions may hold any bracket.
            return None
        elif one == "/" and code[index + 1 : index + 2] in ("/", "*"):
            return None
        elif one in "([{":
            stack.append(one)
        elif one in _PAIRS and (not stack or stack.pop() != _PAIRS[one]):
            return f"'{one}' without '{_PAIRS[one]}'"
        before = before if code[index].isspace() else code[index]
        index += 1
    return f"'{stack[-1]}' that is not closed" if stack else None


def _end_of_text(code: str, start: int) -> int:
    index = start + 1
    while index < len(code):
        if code[index] == "\\":
            index += 1
        elif code[index] == code[start]:
            return index
        index += 1
    return -1
