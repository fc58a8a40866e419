"""Check for what n8n saves, and then refuses to publish or fails on when it runs: webhooks, requests and agents.

The rules are facts of n8n 2.41, and the contract suite asks the real one for each of them.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from dogubako.packs.n8n.formatters.workflow import connections
from dogubako.packs.n8n.nodes.display import is_expression
from dogubako.packs.n8n.nodes.needed_fields import check_needed_fields
from dogubako.packs.n8n.nodes.problems import Problem, near_names, parameters_of, quoted
from dogubako.packs.n8n.nodes.schedules import check_schedules
from dogubako.packs.n8n.nodes.unused_logins import FOR_ANY_SERVICE
from dogubako.packs.n8n.nodes.written_json import check_written_json

JsonObject = Mapping[str, Any]

_WEBHOOK: Final = "n8n-nodes-base.webhook"
_RESPONSE: Final = "n8n-nodes-base.respondToWebhook"
_WAIT_FOR_RESPONSE: Final = frozenset(
    {_WEBHOOK, "n8n-nodes-base.formTrigger", "n8n-nodes-base.wait", "@n8n/n8n-nodes-langchain.chatTrigger"}
)
# Where the status code of an answer stands.
_STATUS: Final[Mapping[str, Sequence[str]]] = {
    _RESPONSE: ("options.responseCode",),
    _WEBHOOK: ("responseCode", "options.responseCode.values.responseCode", "options.responseCode.values.customCode"),
}
_STATUS_IN_OPTIONS_SINCE: Final = 2
_CUSTOM_STATUS: Final = "customCode"
_LANGCHAIN: Final = "@n8n/n8n-nodes-langchain."
_NEEDS_MODEL: Final = frozenset(_LANGCHAIN + one for one in ("agent", "chainLlm", "chainSummarization"))
_MODEL: Final = "ai_languageModel"
_MAIN: Final = "main"
_REQUESTS: Final = ("n8n-nodes-base.httpRequest", "n8n-nodes-base.httpRequestTool")
_SCHEMES: Final = ("http://", "https://")
# Where the type of a credential stands, by the kind of authentication. Older versions take none for no login.
_GENERIC: Final = "genericCredentialType"
_LOGINS: Final[Mapping[str, str]] = {
    _GENERIC: "genericAuthType",
    "predefinedCredentialType": "nodeCredentialType",
}
_LOGINS_SINCE: Final = 3
# A webhook with one of these does not wait for a Respond to Webhook node.
_OWN_RESPONSES: Final = ("onReceived", "lastNode")


def check_running(workflow: JsonObject, nodes: Sequence[JsonObject]) -> Iterator[Problem]:
    """What is only seen when somebody publishes or calls the workflow."""
    working = [node for node in nodes if not node.get("disabled")]
    links = list(connections(workflow))
    hooks = [node for node in working if node.get("type") == _WEBHOOK]
    yield from _same_webhooks(hooks)
    yield from _responses(hooks, nodes, links)
    yield from _unheard_responses(working, nodes, links)
    yield from _status_codes(working)
    yield from check_written_json(working)
    yield from check_needed_fields(working)
    yield from check_schedules(working)
    yield from _requests(working)
    served = {link["to"] for link in links if link["type"] == _MODEL}
    for node in working:
        if node.get("type") in _NEEDS_MODEL and node.get("name") not in served:
            message = "No model is connected, which the node needs: add one, and connect it as ai_languageModel."
            yield Problem(kind="missingModel", node=str(node.get("name")), message=message, certain=False)


def _requests(nodes: Sequence[JsonObject]) -> Iterator[Problem]:
    """HTTP requests to what is no address, or with a login that is not chosen: n8n publishes them, and they fail."""
    for node in nodes:
        version, name = node.get("typeVersion", 1), str(node.get("name"))
        if node.get("type") not in _REQUESTS:
            continue
        if not _is_address(parameters_of(node).get("url")):
            message = "'url' has to begin with http:// or https://: n8n saves it, and fails when it runs the node."
            yield Problem(kind="wrongShape", node=name, path="url", message=message, certain=False)
        if isinstance(version, int | float) and version >= _LOGINS_SINCE:
            yield from (one.of(name) for one in _login_problems(node))


def _login_problems(node: JsonObject) -> Iterator[Problem]:
    """A login that the node does not get: its type is none, or it has no credential of it."""
    parameters, used = parameters_of(node), node.get("credentials")
    wanted = _login(parameters)
    if wanted and parameters.get("authentication") == _GENERIC and wanted not in FOR_ANY_SERVICE:
        near = near_names(wanted, FOR_ANY_SERVICE)
        message = (
            f"There is no generic credential of type {quoted(wanted)}, so the request has no login. "
            f"It may be: {', '.join(FOR_ANY_SERVICE)}."
        )
        yield Problem(kind="unknownOption", path=_LOGINS[_GENERIC], message=message, near=near, certain=False)
    elif wanted and wanted not in (used if isinstance(used, Mapping) else {}):
        message = f"The node has no credential of type {quoted(wanted)}, which its authentication needs."
        yield Problem(kind="missingCredential", path="credentials", message=message, certain=False)


def _is_address(url: Any) -> bool:
    """Whether a text is an address, or may become one by its expressions."""
    if not isinstance(url, str) or not url.strip():
        return True
    written, braces, _ = url.removeprefix("=").partition("{{")
    begin = written.strip().lower()
    return begin.startswith(_SCHEMES) or (bool(braces) and any(one.startswith(begin) for one in _SCHEMES))


def _login(parameters: JsonObject) -> str | None:
    """The type of the credential that the chosen authentication needs."""
    wanted = parameters.get(_LOGINS.get(str(parameters.get("authentication")), ""))
    return wanted if isinstance(wanted, str) and wanted and not is_expression(wanted) else None


def _same_webhooks(hooks: Sequence[JsonObject]) -> Iterator[Problem]:
    """Two webhooks of one workflow that answer the same request: n8n refuses to publish."""
    users: dict[tuple[str, str], list[str]] = defaultdict(list)
    for hook in hooks:
        parameters = parameters_of(hook)
        path, methods = parameters.get("path"), parameters.get("httpMethod", "GET")
        for method in methods if isinstance(methods, list) else [methods]:
            if isinstance(path, str) and path and isinstance(method, str) and not is_expression(path + method):
                users[method, path.strip("/")].append(str(hook.get("name")))
    for (method, path), names in users.items():
        if len(names) > 1:
            message = (
                f"{quoted(names[0])} has the same method and path ({method} {path[:60]}): n8n does not publish both."
            )
            yield Problem(kind="sameWebhook", node=names[1], path="parameters.path", message=message, certain=False)


def _responses(
    hooks: Sequence[JsonObject], nodes: Sequence[JsonObject], links: Sequence[JsonObject]
) -> Iterator[Problem]:
    """Webhooks whose way of responding does not fit the nodes behind them: n8n answers 500 and runs nothing."""
    responding = {node.get("name") for node in nodes if node.get("type") == _RESPONSE}
    for hook in hooks:
        name, mode = str(hook.get("name")), parameters_of(hook).get("responseMode", _OWN_RESPONSES[0])
        found = sorted(str(one) for one in responding & reached_from([name], links))
        if mode == "responseNode" and not found:
            message = "It waits for a Respond to Webhook node, and none follows it: n8n answers 500 to every call."
            yield Problem(kind="noResponse", node=name, path="parameters.responseMode", message=message, certain=False)
        elif mode in _OWN_RESPONSES and found:
            message = (
                f"{quoted(found[0])} follows it, so 'responseMode' has to be 'responseNode': n8n answers 500 else."
            )
            yield Problem(
                kind="unusedResponse", node=name, path="parameters.responseMode", message=message, certain=False
            )


def _unheard_responses(
    working: Sequence[JsonObject], nodes: Sequence[JsonObject], links: Sequence[JsonObject]
) -> Iterator[Problem]:
    """Respond to Webhook nodes that answer nobody: n8n fails on them. Nodes of version 1 go on."""
    waiting = reached_from([node.get("name") for node in nodes if node.get("type") in _WAIT_FOR_RESPONSE], links)
    led_to = {link["to"] for link in links}
    for node in working:
        version, name = node.get("typeVersion", 1), node.get("name")
        fails = node.get("type") == _RESPONSE and isinstance(version, int | float) and version > 1
        if not fails or name in waiting or name not in led_to:
            continue
        message = "No webhook leads to it (nor a form, a chat or a wait node): n8n fails when it runs the node."
        yield Problem(kind="unusedResponse", node=str(name), path="type", message=message, certain=False)


def _status_codes(nodes: Sequence[JsonObject]) -> Iterator[Problem]:
    """Status codes that are a text: n8n answers 500 to every call."""
    for node in nodes:
        version, kind = node.get("typeVersion", 1), node.get("type")
        old = isinstance(version, int | float) and version < _STATUS_IN_OPTIONS_SINCE
        known = _STATUS.get(str(kind), ())
        hidden = () if kind == _RESPONSE else known[1:] if old else known[:1]
        for path in (one for one in known if one not in hidden):
            value: Any = parameters_of(node)
            for part in path.split("."):
                value = value.get(part) if isinstance(value, Mapping) else None
            if isinstance(value, str) and value not in ("", _CUSTOM_STATUS) and not is_expression(value):
                message = f"{quoted(path)} has to be a number and no text: n8n answers 500 to every call."
                yield Problem(kind="wrongShape", node=str(node.get("name")), path=path, message=message, certain=False)


def reached_from(starts: Iterable[Any], links: Sequence[JsonObject]) -> set[Any]:
    """These nodes, and all that they lead to."""
    following: dict[Any, list[Any]] = defaultdict(list)
    for link in links:
        if link["type"] == _MAIN:
            following[link["from"]].append(link["to"])
    reached = set(starts)
    left = list(reached)
    while left:
        new = [one for one in following[left.pop()] if one not in reached]
        reached.update(new)
        left += new
    return reached
