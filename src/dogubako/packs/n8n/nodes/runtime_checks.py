"""Check for what n8n saves, and then refuses to publish or fails on when it runs: webhooks and agents.

The rules are facts of n8n 2.41, and the contract suite asks the real one for each of them.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from dogubako.packs.n8n.formatters.workflow import connections
from dogubako.packs.n8n.nodes.display import is_expression
from dogubako.packs.n8n.nodes.problems import Problem, quoted

JsonObject = Mapping[str, Any]

_WEBHOOK: Final = "n8n-nodes-base.webhook"
_RESPONSE: Final = "n8n-nodes-base.respondToWebhook"
_LANGCHAIN: Final = "@n8n/n8n-nodes-langchain."
_NEEDS_MODEL: Final = frozenset(_LANGCHAIN + one for one in ("agent", "chainLlm", "chainSummarization"))
_MODEL: Final = "ai_languageModel"
_MAIN: Final = "main"
# Parameters that hold JSON as a text, and the choices by which they do.
_WRITTEN_JSON: Final[Mapping[str, tuple[str, Mapping[str, str]]]] = {
    "n8n-nodes-base.set": ("jsonOutput", {"mode": "raw"}),
    "n8n-nodes-base.httpRequest": ("jsonBody", {"specifyBody": "json"}),
}
_REQUESTS: Final = ("n8n-nodes-base.httpRequest", "n8n-nodes-base.httpRequestTool")
_SCHEMES: Final = ("http://", "https://")
# Where the type of a credential stands, by the kind of authentication. Older versions take none for no login.
_LOGINS: Final[Mapping[str, str]] = {
    "genericCredentialType": "genericAuthType",
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
    yield from _broken_json(working)
    yield from _requests(working)
    served = {link["to"] for link in links if link["type"] == _MODEL}
    for node in working:
        if node.get("type") in _NEEDS_MODEL and node.get("name") not in served:
            message = "No model is connected, which the node needs: add one, and connect it as ai_languageModel."
            yield Problem(kind="missingModel", node=str(node.get("name")), message=message, certain=False)


def _broken_json(nodes: Sequence[JsonObject]) -> Iterator[Problem]:
    """JSON that a person wrote into a node, and that is none. With an expression in it, only n8n can tell."""
    for node in nodes:
        name, chosen = _WRITTEN_JSON.get(str(node.get("type")), ("", {}))
        parameters = _parameters(node)
        text = parameters.get(name)
        meant = all(parameters.get(key) == value for key, value in chosen.items())
        if not isinstance(text, str) or not text.strip() or not meant or is_expression(text):
            continue
        try:
            json.loads(text)
        except (ValueError, RecursionError) as error:
            message = f"{quoted(name)} is no JSON: {str(error)[:100]}."
            yield Problem(kind="brokenJson", node=str(node.get("name")), path=name, message=message, certain=False)


def _requests(nodes: Sequence[JsonObject]) -> Iterator[Problem]:
    """HTTP requests to what is no address, or with a login that is not chosen: n8n publishes them, and they fail."""
    for node in nodes:
        version, name = node.get("typeVersion", 1), str(node.get("name"))
        if node.get("type") not in _REQUESTS:
            continue
        if not _is_address(_parameters(node).get("url")):
            message = "'url' has to begin with http:// or https://: n8n saves it, and fails when it runs the node."
            yield Problem(kind="wrongShape", node=name, path="url", message=message, certain=False)
        wanted = _login(_parameters(node))
        used = node.get("credentials")
        chosen = used if isinstance(used, Mapping) else {}
        if wanted and isinstance(version, int | float) and version >= _LOGINS_SINCE and wanted not in chosen:
            message = f"The node has no credential of type {quoted(wanted)}, which its authentication needs."
            yield Problem(kind="missingCredential", node=name, path="credentials", message=message, certain=False)


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
        parameters = _parameters(hook)
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
        name, mode = str(hook.get("name")), _parameters(hook).get("responseMode", _OWN_RESPONSES[0])
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


def _parameters(node: JsonObject) -> JsonObject:
    parameters = node.get("parameters")
    return parameters if isinstance(parameters, Mapping) else {}
