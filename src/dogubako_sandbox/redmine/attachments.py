"""Files: uploads, what they belong to, who may see and change them, downloads, and the files of projects."""

import base64
import hashlib
import re
import secrets
import unicodedata
from typing import Any, Final
from urllib.parse import quote

from dogubako_sandbox.redmine.custom_fields import find_by_token
from dogubako_sandbox.redmine.request import DONE, Answer, ApiRequest, RefusedError, not_found, refuse
from dogubako_sandbox.redmine.serializers import person, present, times
from dogubako_sandbox.redmine.store import Row, Store, is_blank, now_text, too_long

Upload = tuple[Row, Row]

_FORBIDDEN: Final = re.compile(r"[/?%*:|\"'<>\n\r]+")
# Types that Redmine knows by the end of a name.
_TYPES: Final = {
    **dict.fromkeys(("diff", "ini", "log", "patch", "sql", "txt"), "text/plain"),
    **dict.fromkeys(("jpe", "jpeg", "jpg"), "image/jpeg"),
    **dict.fromkeys(("tif", "tiff"), "image/tiff"),
    **dict.fromkeys(("htm", "html"), "text/html"),
    **dict.fromkeys(("yaml", "yml"), "text/yaml"),
    **{each: f"application/{each}" for each in ("json", "pdf", "zip")},
    **{each: f"image/{each}" for each in ("gif", "png", "webp")},
    **{each: f"text/{each}" for each in ("css", "csv", "xml")},
    **{each: f"text/x-{each}" for each in ("java", "php", "sh", "textile")},
    "bmp": "image/x-ms-bmp",
    "js": "application/javascript",
    "md": "text/markdown",
    "mp3": "audio/mpeg",
    "mp4": "video/mp4",
    "py": "text/x-python",
    "rb": "text/x-ruby",
    "svg": "image/svg+xml",
}
_PICTURES: Final = (".bmp", ".gif", ".jpg", ".jpe", ".jpeg", ".png")
# What may stand unescaped in an address that Ruby writes.
_SAFE: Final = "!$&'()*+,;=:@-._~"
# Users who may do one of these in some project may upload.
_UPLOADING: Final = (
    "add_issues edit_issues edit_own_issues copy_issues add_issue_notes manage_news add_documents edit_documents "
    "manage_files edit_wiki_pages add_messages edit_messages edit_own_messages"
)
_OCTETS: Final = "application/octet-stream"
_HTML: Final = "text/html; charset=utf-8"
_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; sandbox"


def _type_by_name(name: str) -> str | None:
    return _TYPES.get(name.rpartition(".")[2].lower()) if "." in name else None


def _cleaned_name(name: str) -> str:
    """Return what is behind the last slash, without characters that some file system forbids."""
    return _FORBIDDEN.sub("_", re.split(r"[/\\]", name)[-1])


def attachments_of(store: Store, kind: str, row_id: int) -> list[Row]:
    """Return the files of a record ("Issue", "Project"), the oldest first."""
    rows = store["attachments"].where(container_type=kind, container_id=row_id)
    return sorted(rows, key=lambda row: (row["created_on"], row["id"]))


def shown_attachments(req: ApiRequest, kind: str, row_id: int) -> Row:
    """Show the files of a record, if the request includes them."""
    if not req.includes("attachments"):
        return {}
    return {"attachments": [shown_attachment(req, each) for each in attachments_of(req.store, kind, row_id)]}


def shown_attachment(req: ApiRequest, row: Row) -> Row:
    name, is_picture = quote(row["filename"], safe=_SAFE), row["filename"].lower().endswith(_PICTURES)
    thumbnail = f"{req.base_url}/attachments/thumbnail/{row['id']}" if is_picture else None
    return {
        "id": row["id"],
        "filename": row["filename"],
        "filesize": row["filesize"],
        "content_type": row.get("content_type"),
        "description": row.get("description"),
        "content_url": f"{req.base_url}/attachments/download/{row['id']}/{name}",
        **present(thumbnail_url=thumbnail, author=person(req.store, row.get("author_id"))),
        **times(row, "created_on"),
    }


def uploaded(store: Store, uploads: Any) -> tuple[list[Upload], int]:
    """Return the files that `uploads` names with what it says of them, and how many tokens were of no use."""
    entries = list(uploads.values()) if isinstance(uploads, dict) else uploads
    entries = [each for each in entries if isinstance(each, dict)] if isinstance(entries, list) else []
    rows = [(find_by_token(store, each["token"]), each) for each in entries if each.get("token")]
    found = [(row, entry) for row, entry in rows if row]
    return found, len(rows) - len(found)


def attach(files: list[Upload], kind: str, row_id: int) -> list[Row]:
    """Give files to a record, under their new names; their tokens are of no use from now on."""
    for row, entry in files:
        if entry.get("filename"):
            row["filename"] = _cleaned_name(str(entry["filename"]))
        row["content_type"] = str(entry.get("content_type") or "") or row.get("content_type")
        row["description"] = str(entry.get("description") or "").strip()
        row.update(container_type=kind, container_id=row_id)
    return [row for row, _ in files]


def _allowed(req: ApiRequest, row: Row, *, edit: bool = False) -> bool:
    """Ask the record of a file. A file without a record is its author's alone, also for administrators."""
    store, kind, owner_id = req.store, row.get("container_type"), row.get("container_id")
    if not kind or owner_id is None:
        return req.user.logged_in and row.get("author_id") == req.user.id
    if kind == "Project":
        return req.user.may("manage_files" if edit else "view_files", store["projects"].at(owner_id))
    if kind == "WikiPage":
        wiki = store["wikis"].at(store["wiki_pages"].at(owner_id)["wiki_id"])
        return req.user.may("edit_wiki_pages" if edit else "view_wiki_pages", store["projects"].at(wiki["project_id"]))
    # Files of custom fields belong to an issue too.
    issue_id = store["custom_values"].at(owner_id)["customized_id"] if kind == "CustomValue" else owner_id
    issue = store["issues"].at(issue_id)
    return req.user.sees_issue(issue) and (not edit or req.user.may_edit_issue(issue))


def may_delete(req: ApiRequest, row: Row) -> bool:
    """Tell whether the user may delete a file; those of wiki pages have a permission of their own."""
    if row.get("container_type") != "WikiPage":
        return _allowed(req, row, edit=True)
    wiki = req.store["wikis"].at(req.store["wiki_pages"].at(row["container_id"])["wiki_id"])
    return req.user.may("delete_wiki_pages_attachments", req.store["projects"].at(wiki["project_id"]))


def show_attachment(req: ApiRequest) -> Any:
    row = req.row("attachments")
    req.check(_allowed(req, row))
    return {"attachment": shown_attachment(req, row)}


def update_attachment(req: ApiRequest) -> Any:
    row, body = req.row("attachments"), req.lenient_body("attachment")
    req.check(_allowed(req, row, edit=True))
    wanted: Row = {name: body[name] for name in ("filename", "content_type", "description") if name in body}
    if "filename" in wanted:
        wanted["filename"] = _cleaned_name(str(wanted["filename"] or ""))
    refuse(_errors({**row, **wanted}))
    row.update(wanted)
    return DONE


def _errors(row: Row) -> list[str]:
    blank = ["File cannot be blank"] if is_blank(row["filename"]) else []
    return [*blank, *too_long("File", row["filename"], 255), *too_long("Description", row.get("description"), 255)]


def upload_file(req: ApiRequest) -> Any:
    req.check(any(req.user.may_somewhere(each) for each in _UPLOADING.split()))
    if req.content_type.split(";")[0].strip().lower() != _OCTETS:
        raise RefusedError(406)
    name = _cleaned_name(req.text("filename")) if not is_blank(req.params.get("filename")) else secrets.token_hex(16)
    largest = int(req.store.setting("attachment_max_size")) * 1024
    too_big = f"This file cannot be uploaded because it exceeds the maximum allowed file size ({largest})"
    refuse([*_errors({"filename": name}), *([too_big] if len(req.raw) > largest else [])])
    row = req.store["attachments"].add(
        filename=name,
        filesize=len(req.raw),
        content_type=req.text("content_type") or _type_by_name(name),
        digest=hashlib.sha256(req.raw).hexdigest(),
        downloads=0,
        author_id=req.user.id,
        created_on=now_text(),
        data=base64.b64encode(req.raw).decode(),
    )
    return Answer(status=201, body={"upload": {"id": row["id"], "token": f"{row['id']}.{row['digest']}"}})


def download(req: ApiRequest) -> Any:
    """Send the bytes. These addresses are for people, and so are their refusals, unless the client asks for JSON."""
    row = req.store["attachments"].get(req.path["id"])
    if row is None or req.path.get("filename", row["filename"]) != row["filename"]:
        return _refusal(req, 404)
    if not _allowed(req, row):
        return _refusal(req, 403 if req.user.logged_in else 401)
    if row.get("container_type") == "Project":
        row["downloads"] = row.get("downloads", 0) + 1
    return Answer(content=base64.b64decode(row["data"]), headers=_headers(row))


def _refusal(req: ApiRequest, status: int) -> Answer:
    """Refuse a download; a browser without a key is sent to the login page, which a client may take for the file."""
    if "application/json" in req.accepts:
        raise RefusedError(status)
    if status != 401:
        page = f"<!DOCTYPE html>\n<html>\n<head><title>{status} - Redmine</title></head>\n<body></body>\n</html>\n"
        return Answer(status=status, content=page.encode(), headers={"content-type": _HTML})
    parts = [req.base_url, "attachments", "download", req.path["id"], quote(req.path.get("filename", ""))]
    login = f"{req.base_url}/login?back_url={quote('/'.join(each for each in parts if each), safe='')}"
    body = f'<html><body>You are being <a href="{login}">redirected</a>.</body></html>'
    return Answer(status=302, content=body.encode(), headers={"location": login, "content-type": _HTML})


def _headers(row: Row) -> dict[str, str]:
    name, kind = row["filename"], row.get("content_type") or _OCTETS
    by_name = _type_by_name(name)
    # Letters without their accents; what ASCII has no letter for is a question mark.
    bare = "".join(each for each in unicodedata.normalize("NFKD", name) if not unicodedata.combining(each))
    plain = quote(bare.encode("ascii", "replace").decode(), safe=" .-_")
    way = "inline" if by_name == "application/pdf" else "attachment"
    return {
        "content-type": (by_name or _OCTETS) if kind == _OCTETS else kind,
        "content-disposition": f"{way}; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='&')}",
        "content-transfer-encoding": "binary",
        "content-security-policy": _POLICY,
        "cache-control": "private",
    }


def list_files(req: ApiRequest) -> Any:
    rows = attachments_of(req.store, "Project", req.project_for("view_files")["id"])
    rows.sort(key=lambda each: each["filename"])
    names = ("digest", "downloads")
    return {"files": [{**shown_attachment(req, row), **{name: row.get(name) for name in names}} for row in rows]}


def create_file(req: ApiRequest) -> Any:
    """Answer 204 without an id. A token that is used up, unknown or missing is a 404."""
    project = req.project_for("manage_files")
    uploads, _ = uploaded(req.store, [req.body("file")])
    if not uploads:
        raise not_found()
    attach(uploads, "Project", project["id"])
    return DONE
