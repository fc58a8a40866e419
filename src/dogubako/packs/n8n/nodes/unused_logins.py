"""Check for credentials that a node has and does not use, because its `authentication` is none.

n8n saves and publishes such a node. A webhook is then open to everybody, and an HTTP request is sent without a login.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from dogubako.packs.n8n.nodes.problems import Problem, quoted

JsonObject = Mapping[str, Any]

_PATH: Final = "parameters.authentication"
# What a trigger that is called from outside has to be set to, by the type of the credential.
_OF_TRIGGERS: Final[Mapping[str, Mapping[str, str]]] = {
    "n8n-nodes-base.webhook": {"httpBasicAuth": "basicAuth", "httpHeaderAuth": "headerAuth", "jwtAuth": "jwtAuth"},
    "n8n-nodes-base.formTrigger": {"httpBasicAuth": "basicAuth"},
}
_REQUESTS: Final = ("n8n-nodes-base.httpRequest", "n8n-nodes-base.httpRequestTool")
# Types for any service. Every other type belongs to one.
FOR_ANY_SERVICE: Final = (
    "httpBasicAuth",
    "httpBearerAuth",
    "httpCustomAuth",
    "httpDigestAuth",
    "httpHeaderAuth",
    "httpQueryAuth",
    "httpTemplatedCustomAuth",
    "oAuth1Api",
    "oAuth2Api",
)
# It is a certificate, which a setting of its own switches on.
_CERTIFICATE: Final = "httpSslAuth"
# Before it, the values of `authentication` were others.
_CHOSEN_BY_TYPE_SINCE: Final = 3


def check_logins(nodes: Sequence[JsonObject]) -> Iterator[Problem]:
    """A warning for each node whose credential n8n ignores."""
    for node in nodes:
        used, parameters = node.get("credentials"), node.get("parameters")
        chosen = parameters.get("authentication") if isinstance(parameters, Mapping) else None
        if not isinstance(used, Mapping) or chosen not in (None, "none") or node.get("disabled"):
            continue
        for kind in used:
            message = _of_trigger(node, str(kind)) or _of_request(node, str(kind))
            if message:
                name = str(node.get("name"))
                yield Problem(kind="ignoredCredential", node=name, path=_PATH, message=message, certain=False)
                break


def _of_trigger(node: JsonObject, kind: str) -> str | None:
    needed = _OF_TRIGGERS.get(str(node.get("type")), {}).get(kind)
    if needed is None:
        return None
    return f"Anybody can call it: n8n ignores the credential until 'authentication' is {quoted(needed)}."


def _of_request(node: JsonObject, kind: str) -> str | None:
    version = node.get("typeVersion", 1)
    is_request = node.get("type") in _REQUESTS and isinstance(version, int | float)
    if not is_request or version < _CHOSEN_BY_TYPE_SINCE or kind == _CERTIFICATE:
        return None
    is_general = kind in FOR_ANY_SERVICE
    needed = "genericCredentialType" if is_general else "predefinedCredentialType"
    name = "genericAuthType" if is_general else "nodeCredentialType"
    return (
        "The request has no login: n8n ignores the credential until 'authentication' is "
        f"{quoted(needed)} and {quoted(name)} {quoted(kind)}."
    )
