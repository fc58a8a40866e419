"""The endpoints of webhooks, tags, credentials and users."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from dogubako_sandbox.n8n.bodies import check_fields
from dogubako_sandbox.n8n.replay import recording_of, replay, show_headers
from dogubako_sandbox.n8n.request import Answer, Ask, RefusedError, not_found, page_by_offset, scopes_of
from dogubako_sandbox.n8n.store import OWNER, Store, new_id, now_ms, now_text
from dogubako_sandbox.n8n.workflow_parts import JsonObject, webhooks

_HINT: Final = (
    "The workflow must be active for a production URL to run successfully. You can activate the workflow using the "
    "toggle in the top-right of the editor. Note that unlike test URL calls, production URL calls aren't shown on "
    "the canvas (only in the executions list)"
)


def call_webhook(store: Store, method: str, path: str, headers: Mapping[str, str]) -> Answer:
    """Replay the recorded run of the published version. A real n8n registers a new path a little later."""
    listening = [each for each in store.workflows.values() if each["active"] and path in _methods(each)]
    if not listening:
        return _unregistered(f'The requested webhook "{method} {path}" is not registered.', hint=_HINT)
    methods = _methods(listening[0])[path]
    if methods != method:
        meant = f"Did you mean to make a {methods} request?"
        return _unregistered(f"This webhook is not registered for {method} requests. {meant}")
    return _replayed(store, listening[0], headers)


def _replayed(store: Store, workflow: JsonObject, headers: Mapping[str, str]) -> Answer:
    published = {**workflow, **workflow["activeVersion"], "id": workflow["id"], "name": workflow["name"]}
    recording = recording_of(published)
    show_headers(replay(store, recording, published, ends=now_ms()), headers)
    assert recording.webhook is not None
    return Answer(status=recording.webhook.status, body=recording.webhook.body)


def _unregistered(message: str, **more: str) -> Answer:
    trace = f"ResponseError: {message}"
    return Answer(status=404, body={"code": 404, "message": message, **more, "stacktrace": trace})


def _methods(workflow: JsonObject) -> dict[str, str]:
    return {path: method for method, path in webhooks(workflow["activeVersion"]["nodes"])}


_TEXT: Final = {"type": "string"}
_DOMAINS: Final = {
    "allowedHttpRequestDomains": {"type": "string", "enum": ["all", "domains", "none"]},
    "allowedDomains": _TEXT,
}
_NOTICE: Final = {"type": "notice"}
_CREDENTIAL_FIELDS: Final[dict[str, JsonObject]] = {
    "httpBasicAuth": {"user": _TEXT, "password": _TEXT, **_DOMAINS},
    "httpBearerAuth": {"token": _TEXT, "useCustomAuth": _NOTICE, **_DOMAINS},
    "httpHeaderAuth": {"name": _TEXT, "value": _TEXT, "useCustomAuth": _NOTICE, **_DOMAINS},
    "slackApi": {"accessToken": _TEXT, "signatureSecret": _TEXT, "notice": _NOTICE, **_DOMAINS},
}
_REQUIRED_FIELDS: Final = {"slackApi": ["accessToken"]}
_SET_BY_N8N: Final = frozenset({"id", "createdAt", "updatedAt"})


def list_tags(store: Store, ask: Ask) -> Any:
    return page_by_offset(list(store.tags.values()), ask.query)


def create_tag(store: Store, ask: Ask) -> Any:
    """An empty name is refused as if it were taken."""
    check_fields(ask.body, ("name",), _SET_BY_N8N, {"name"})
    if ask.body["name"] in {"", *(tag["name"] for tag in store.tags.values())}:
        raise RefusedError(409, "Tag already exists")
    now, tag_id = now_text(), new_id()
    store.tags[tag_id] = {"id": tag_id, "name": ask.body["name"], "createdAt": now, "updatedAt": now}
    return Answer(status=201, body=store.tags[tag_id])


def list_credentials(store: Store, ask: Ask) -> Any:
    """Names and types; secrets are never shown."""
    return page_by_offset([_listed(store, each) for each in store.credentials.values()], ask.query)


def create_credential(store: Store, ask: Ask) -> Any:
    check_fields(ask.body, ("name", "type", "data"), _SET_BY_N8N, {"name", "type", "data", "isResolvable", "projectId"})
    if ask.body["type"] not in _CREDENTIAL_FIELDS:
        raise RefusedError(400, "req.body.type is not a known type")
    for name in ask.body["data"]:
        if name not in _CREDENTIAL_FIELDS[ask.body["type"]]:
            raise RefusedError(400, f'request.body.data is not allowed to have the additional property "{name}"')
    now, credential_id = now_text(), new_id()
    store.credentials[credential_id] = {
        "id": credential_id,
        "name": ask.body["name"],
        "type": ask.body["type"],
        "isManaged": False,
        "isGlobal": False,
        "isResolvable": False,
        "resolvableAllowFallback": False,
        "resolverId": None,
        "createdAt": now,
        "updatedAt": now,
    }
    return store.credentials[credential_id]


def credential_schema(_: Store, ask: Ask) -> Any:
    kind = ask.path["type"]
    if kind not in _CREDENTIAL_FIELDS:
        raise not_found()
    return {
        "additionalProperties": False,
        "type": "object",
        "properties": _CREDENTIAL_FIELDS[kind],
        "required": _REQUIRED_FIELDS.get(kind, []),
    }


def list_users(store: Store, ask: Ask) -> Any:
    owner = {**OWNER, "createdAt": store.started, "updatedAt": store.started, "isPending": False, "mfaEnabled": False}
    role = {"role": "global:owner"} if ask.says("includeRole") else {}
    return page_by_offset([owner | role], ask.query)


def discover(_: Store, ask: Ask) -> Any:
    """The scopes of the key, without the endpoints that they allow."""
    return {"data": {"scopes": list(scopes_of(ask.key)), "resources": {}, "filters": {}}}


def unlicensed(feature: str) -> Callable[[Store, Ask], Any]:
    """The answer for features that need a licence."""
    reason = (
        f"Your license does not allow for {feature}. To enable {feature}, please upgrade to a license that supports"
    )

    def refuse(_: Store, __: Ask) -> Any:
        raise RefusedError(403, f"{reason} this feature.")

    return refuse


def _listed(store: Store, credential: JsonObject) -> JsonObject:
    project = store.project()
    moments = {name: credential[name] for name in ("createdAt", "updatedAt")}
    owner = {"id": project["id"], "name": project["name"], "role": "credential:owner", **moments}
    return {name: credential[name] for name in ("id", "name", "type")} | moments | {"shared": [owner]}
