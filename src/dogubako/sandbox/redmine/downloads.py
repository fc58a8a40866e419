"""The bytes of attachments. These addresses are for people, and so are their refusals, unless JSON is asked for."""

import base64
import unicodedata
from typing import Any, Final
from urllib.parse import quote

from dogubako.sandbox.redmine.asking import Answer, Ask, RefusedError
from dogubako.sandbox.redmine.file_names import type_by_name
from dogubako.sandbox.redmine.file_rights import sees_file
from dogubako.sandbox.redmine.store import Row

_JSON: Final = "application/json"
_OCTETS: Final = "application/octet-stream"
_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
_HTML: Final = "text/html; charset=utf-8"
_PAGE: Final = "<!DOCTYPE html>\n<html>\n<head><title>{status} - Redmine</title></head>\n<body></body>\n</html>\n"


def download(ask: Ask) -> Any:
    """A wrong name is not found, even if the number is right."""
    asked = ask.path.get("filename")
    row = ask.store["attachments"].get(ask.path["id"])
    if row is None or "data" not in row or (asked is not None and asked != row["filename"]):
        return _refusal(ask, 404)
    if not sees_file(ask.store, ask.who, row):
        return _refusal(ask, 403) if ask.who.logged_in else _asked_to_log_in(ask)
    if row.get("container_type") in ("Project", "Version"):
        row["downloads"] = row.get("downloads", 0) + 1
    return Answer(content=base64.b64decode(row["data"]), headers=_headers(row))


def _refusal(ask: Ask, status: int) -> Answer:
    if _JSON in ask.accepts:
        raise RefusedError(status)
    page = _PAGE.format(status=status).encode()
    return Answer(status=status, content=page, headers={"content-type": _HTML})


def _asked_to_log_in(ask: Ask) -> Answer:
    """Strangers are sent to the login page; whoever follows takes that page for the file."""
    if _JSON in ask.accepts:
        raise ask.denied()
    path = "/".join(["", "attachments", "download", ask.path["id"], *_name_in_path(ask)])
    login = f"{ask.base_url}/login?back_url={quote(ask.base_url + path, safe='')}"
    body = f'<html><body>You are being <a href="{login}">redirected</a>.</body></html>'
    return Answer(status=302, content=body.encode(), headers={"location": login, "content-type": _HTML})


def _name_in_path(ask: Ask) -> list[str]:
    return [quote(ask.path["filename"])] if "filename" in ask.path else []


def _headers(row: Row) -> dict[str, str]:
    name = row["filename"]
    kind = row.get("content_type") or ""
    if kind in ("", _OCTETS):
        kind = type_by_name(name) or _OCTETS
    way = "inline" if type_by_name(name) == "application/pdf" else "attachment"
    plain = quote(_in_ascii(name), safe=" .-_")
    return {
        "content-type": kind,
        "content-disposition": f"{way}; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='&')}",
        "content-transfer-encoding": "binary",
        "content-security-policy": _POLICY,
        "cache-control": "private",
    }


def _in_ascii(name: str) -> str:
    """Letters without their accents; what ASCII has no letter for is a question mark."""
    bare = "".join(each for each in unicodedata.normalize("NFKD", name) if not unicodedata.combining(each))
    return bare.encode("ascii", "replace").decode()
