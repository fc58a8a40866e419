"""API keys: a list, a form that creates one and shows it once, and revoking."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from starlette.responses import Response

from dogubako.contract.errors import NotFoundError, ValidationError
from dogubako.gate.api_keys import ApiKey
from dogubako.gate.scopes import LEVELS
from dogubako.transports.console.page import Form, Visit, page, redirect
from dogubako.transports.console.session import PATH
from dogubako.transports.console.views import Views

_DAYS: Final = (1, 7, 30, 90, 365)
_SEPARATORS: Final = re.compile(r"[\s,]+")


async def index(views: Views, visit: Visit) -> Response:
    """All keys, and the form for another one."""
    return await _keys_page(views, visit)


async def _keys_page(views: Views, visit: Visit, status: int = 200, **more: Any) -> Response:
    now = datetime.now(UTC)
    keys = [(key, key.state(now)) for key in await views.inside.keys.list(visit.caller)]
    last = {one.caller_id: one.at for one in views.recorder.all()}
    values: dict[str, Any] = {"secret": None, "created": None, "error": None, "form": Form()} | more
    return await page(
        visit,
        "keys.html",
        status,
        active="keys",
        keys=keys,
        last=last,
        days=_DAYS,
        levels=LEVELS,
        packs=sorted(state.name for state in views.inside.service_states()),
        auth=views.inside.settings.auth,
        **values,
    )


async def create(views: Views, visit: Visit, form: Form) -> Response:
    """Create a key and show it, this once."""
    scopes = [*form.get("scope", []), *(one for one in _SEPARATORS.split(form.first("more")) if one)]
    days = form.first("days")
    expires = timedelta(days=int(days)) if days in map(str, _DAYS) else None
    name = form.first("name").strip()
    try:
        secret, key = await views.inside.keys.create(name, scopes, expires, caller=visit.caller, door="console")
    except ValidationError as error:
        return await _keys_page(views, visit, error.http_status, error=error, form=form)
    return await _keys_page(views, visit, secret=secret, created=key)


async def ask(views: Views, visit: Visit) -> Response:
    """The question before a key is revoked."""
    return await page(visit, "revoke.html", active="keys", key=await _key(views, visit))


async def revoke(views: Views, visit: Visit, form: Form) -> Response:
    """Revoke a key. Sessions and streams of its holder end with it."""
    key = await _key(views, visit)
    await views.inside.keys.revoke(key.id, caller=visit.caller, door="console")
    return redirect(f"{PATH}/keys")


async def _key(views: Views, visit: Visit) -> ApiKey:
    wanted = visit.request.path_params["id"]
    for key in await views.inside.keys.list(visit.caller):
        if key.id == wanted:
            return key
    raise NotFoundError("There is no such key")
