"""Tags, credentials, users, and what a key may do."""

from collections.abc import Callable
from typing import Any, Final

from dogubako.sandbox.n8n.asking import Answer, Ask, RefusedError, not_found
from dogubako.sandbox.n8n.bodies import check_fields
from dogubako.sandbox.n8n.clock import now_text
from dogubako.sandbox.n8n.keys import scopes_of
from dogubako.sandbox.n8n.paging import page_by_offset
from dogubako.sandbox.n8n.store import OWNER, Store, new_id
from dogubako.sandbox.n8n.workflow_parts import Json

_TEXT: Final = {"type": "string"}
_DOMAINS: Final = {
    "allowedHttpRequestDomains": {"type": "string", "enum": ["all", "domains", "none"]},
    "allowedDomains": _TEXT,
}
_NOTICE: Final = {"type": "notice"}
_CREDENTIAL_FIELDS: Final[dict[str, Json]] = {
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
    """Names and types; what is secret in them is never shown again."""
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
    """The scopes of the key. Which endpoints they open is left out."""
    return {"data": {"scopes": list(scopes_of(ask.key)), "resources": {}, "filters": {}}}


def unlicensed(feature: str) -> Callable[[Store, Ask], Any]:
    """What n8n keeps for those who pay."""
    reason = (
        f"Your license does not allow for {feature}. To enable {feature}, please upgrade to a license that supports"
    )

    def refuse(_: Store, __: Ask) -> Any:
        raise RefusedError(403, f"{reason} this feature.")

    return refuse


def _listed(store: Store, credential: Json) -> Json:
    project = store.project()
    moments = {name: credential[name] for name in ("createdAt", "updatedAt")}
    owner = {"id": project["id"], "name": project["name"], "role": "credential:owner", **moments}
    return {name: credential[name] for name in ("id", "name", "type")} | moments | {"shared": [owner]}
