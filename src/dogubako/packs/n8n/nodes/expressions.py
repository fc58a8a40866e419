"""Check expressions and code: what cannot be JavaScript, and names of nodes that do not exist."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final

from dogubako.packs.n8n.nodes.code_faults import CODE_NODE, EACH_ITEM, code_fault, has_no_code, modules_required
from dogubako.packs.n8n.nodes.display import is_expression
from dogubako.packs.n8n.nodes.free_names import free_names, parsed
from dogubako.packs.n8n.nodes.javascript import Script, read
from dogubako.packs.n8n.nodes.known_members import check_members
from dogubako.packs.n8n.nodes.known_names import check_names, check_names_of_code
from dogubako.packs.n8n.nodes.problems import Problem, is_likely_typo, near_names, quoted

# n8n takes braces behind a backslash as they are.
_OPEN: Final = re.compile(r"(?<!\\)\{\{")
_CLOSE: Final = re.compile(r"(?<!\\)\}\}")
_NODE_ATTRIBUTE: Final = re.compile(r"\$node\.([A-Za-z_]\w*)")
# Text that reads like an expression of n8n, and is none because the leading "=" is missing.
_LOOKS_LIKE: Final = re.compile(r"\{\{\s*(?:\$json\b|\$\(['\"]|\$node\b|\$input\b|\$now\b|\$today\b|\$item)")
# A half expression: n8n takes one brace for text.
_HALF: Final = re.compile(r"(?<!\{)\{\s*+\$(?:\(['\"]|(?:json|node|input|now|today)(?:\?\.|[.\[]))")
_VARIABLE: Final = re.compile(r"(?<![\w$.])\$[A-Za-z]\w{1,30}+")
# What expressions of n8n 2.41 may use.
_VARIABLES: Final = frozenset(
    """
    $agentInfo $binary $credentials $data $env $evaluateExpression $execution $executionId $fromAI $fromAi $fromai
    $getPairedItem $if $ifEmpty $index $input $item $itemIndex $items $jmespath $jmesPath $json $max $min $mode $node
    $nodeId $nodeVersion $now $pageCount $parameter $parent $position $prevNode $rawParameter $request $response
    $resumeWebhookUrl $runIndex $secrets $self $sourceTag $thisItem $thisItemIndex $thisRunIndex $today $tool $value
    $vars $version $webhookId $workflow
    """.split()  # noqa: SIM905 - a list of names reads best so
)
_CODE_PARAMETERS: Final = ("jsCode", "pythonCode", "functionCode")
# A whole workflow as a text, whose expressions are its own.
_OWN_WORKFLOW: Final = "workflowJson"
_ASKS_FIRST: Final = "isExecuted"
_DEEPEST: Final = 60
_NOTES: Final = "n8n-nodes-base.stickyNote"
# Parameters in which a node replaces `{{ … }}` itself, for sources that do not tell them.
_TEMPLATES: Final = {"n8n-nodes-base.html": "html"}
# A variable that something is read from. One that stands alone may be declared there.
_READ_FROM: Final = re.compile(r"\s*+(?:\?\.|[.\[(])")


def check_expressions(
    node: Mapping[str, Any], names: Collection[str], written_as_text: Collection[str]
) -> Iterator[Problem]:
    """`names` are the nodes of the workflow. In parameters of `written_as_text`, braces have a meaning of their own."""
    parameters, kind = node.get("parameters"), str(node.get("type"))
    if kind == _NOTES:
        return
    for path, text in _texts(parameters if isinstance(parameters, Mapping) else {}, ""):
        top = re.split(r"[.\[]", path, maxsplit=1)[0]
        if is_expression(text):
            yield from _check_braces(text[1:], path)
            if _HALF.search(_outside(text[1:])) is not None:
                message = f"{quoted(path)} has '{{ $…', which n8n takes for plain text: write {{{{ $… }}}}."
                yield Problem(kind="brokenExpression", path=path, message=message, certain=False)
            bodies = list(_bodies(text[1:]))
            scripts = [read(body, expression=True) for body in bodies]
            # A node that is switched off evaluates nothing.
            evaluated = not node.get("disabled")
            yield from _check_references(scripts, names, path, certain=evaluated)
            yield from _check_variables(scripts, path)
            for body, script in zip(bodies, scripts, strict=True):
                tree = parsed(body, expression=True) if script.fault is None and body.strip() else None
                if tree is not None:
                    used = free_names(tree)
                    yield from check_names(used, path, certain=evaluated)
                    yield from check_members(tree, used.declared, path, certain=evaluated)
        elif top in _CODE_PARAMETERS:
            script = read(text)
            yield from _check_references([script], names, path, certain=False)
            runs = top == "jsCode" and not node.get("disabled")
            yield from _check_variables([script], path, in_code=True) if runs else ()
            fault = code_fault(node, text, script) if runs else None
            if fault is not None:
                message = f"{quoted(path)} {fault}: n8n saves it, and fails when it runs the node."
                yield Problem(kind="brokenCode", path=path, message=message, certain=False)
            elif runs and kind == CODE_NODE:
                yield from _check_names_of_code(text, path, node)
        elif top not in (*written_as_text, _OWN_WORKFLOW) and top != _TEMPLATES.get(kind) and _LOOKS_LIKE.search(text):
            message = f"{quoted(path)} is plain text: an expression has to begin with '='."
            yield Problem(kind="brokenExpression", path=path, message=message, certain=False)
    if has_no_code(node):
        message = "The node has no 'jsCode': n8n saves it, and fails when it runs the node."
        yield Problem(kind="brokenCode", path="jsCode", message=message, certain=False)


def _check_names_of_code(text: str, path: str, node: Mapping[str, Any]) -> Iterator[Problem]:
    parameters = node["parameters"]
    tree = None if str(parameters.get("language")).startswith("python") else parsed(text, expression=False)
    if tree is not None:
        used = free_names(tree)
        yield from check_names_of_code(used, path, each_item=parameters.get("mode") == EACH_ITEM)
        yield from check_members(tree, used.declared, path, certain=False)
        for module in () if "require" in used.declared else dict.fromkeys(modules_required(tree)):
            message = f"{quoted(path)} requires {quoted(module)}, which n8n refuses unless the instance allows it."
            yield Problem(kind="brokenCode", path=path, message=message, certain=False)


def looked_up(node: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Which nodes a node looks up, and in which parameter. A text that asks whether a node ran is left out."""
    parameters = node.get("parameters")
    for path, text in _texts(parameters if isinstance(parameters, Mapping) else {}, ""):
        if _ASKS_FIRST in text or not (is_expression(text) or re.split(r"[.\[]", path, maxsplit=1)[0] == "jsCode"):
            continue
        for script in [read(body) for body in _bodies(text[1:])] if is_expression(text) else [read(text)]:
            yield from ((path, name) for name in (*script.names, *_NODE_ATTRIBUTE.findall(script.code)))


def _texts(value: Any, path: str, depth: int = 0) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield path, value
    elif depth < _DEEPEST and isinstance(value, Mapping):
        for key, part in value.items():
            yield from _texts(part, f"{path}.{key}" if path else str(key), depth + 1)
    elif depth < _DEEPEST and isinstance(value, list):
        for index, part in enumerate(value):
            yield from _texts(part, f"{path}[{index}]", depth + 1)


def _check_references(
    scripts: Sequence[Script], names: Collection[str], path: str, *, certain: bool
) -> Iterator[Problem]:
    found = [name for script in scripts for name in (*script.names, *_NODE_ATTRIBUTE.findall(script.code))]
    for name in dict.fromkeys(found):
        if name not in names:
            message = f"{quoted(path)} refers to node {quoted(name)}, which the workflow does not have."
            near = near_names(name, names)
            yield Problem(kind="unknownNode", path=path, message=message, near=near, certain=certain)


def _check_variables(scripts: Sequence[Script], path: str, *, in_code: bool = False) -> Iterator[Problem]:
    """A name that begins with $ and is almost one of n8n's: `$jsn`. Others may come with newer versions."""
    found = [(one, script.code) for script in scripts for one in _VARIABLE.finditer(script.code)]
    own = {one[0] for one, code in found if in_code and _READ_FROM.match(code, one.end()) is None}
    for name in dict.fromkeys(one[0] for one, _ in found if one[0] not in own):
        near = near_names(name, _VARIABLES) if name not in _VARIABLES else ()
        if near and is_likely_typo(name, near[0]):
            message = f"{quoted(path)} uses {quoted(name)}, which n8n does not know."
            yield Problem(kind="unknownVariable", path=path, message=message, near=near, certain=False)


def _bodies(text: str) -> Iterator[str]:
    """The code in the braces of an expression."""
    for start, end in _braces(text):
        if end >= 0:
            yield _body(text, start, end)


def _braces(text: str) -> Iterator[tuple[int, int]]:
    """Where the code in braces begins and ends: n8n ends it at the first `}}`, also inside of an object or a text."""
    start = _OPEN.search(text)
    while start is not None:
        end = _CLOSE.search(text, start.end())
        yield start.end(), -1 if end is None else end.start()
        start = None if end is None else _OPEN.search(text, end.end())


def _outside(text: str) -> str:
    """The text around the braces."""
    left, at = [], 0
    for start, end in _braces(text):
        left.append(text[at:start])
        at = end if end >= 0 else len(text)
    return " ".join([*left, text[at:]])


def _body(text: str, start: int, end: int) -> str:
    return text[start:end].replace("\\}}", "}}")


def _check_braces(text: str, path: str) -> Iterator[Problem]:
    for start, end in _braces(text):
        if end < 0:
            message = f"{quoted(path)} has '{{{{' without '}}}}', so n8n does not evaluate it as it is meant."
            yield Problem(kind="brokenExpression", path=path, message=message)
            return
        script = read(_body(text, start, end), expression=True)
        reason = script.fault if script.code.strip() else "nothing"
        if reason is not None:
            closing = " n8n ends an expression at the first '}}': put a space between two braces."
            behind = text[end + 2 :]
            advice = closing if behind[:1] in ("}", ")", "]") or _CLOSE.search(behind) else ""
            message = f"{quoted(path)} has {reason} in an expression.{advice}"
            yield Problem(kind="brokenExpression", path=path, message=message)
            return
