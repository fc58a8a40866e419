"""Files of any kind of record: how they are shown, and how uploaded ones get their place by their tokens."""

from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

from dogubako.sandbox.redmine.asking import Ask
from dogubako.sandbox.redmine.clock import shown_time
from dogubako.sandbox.redmine.custom_values import find_by_token
from dogubako.sandbox.redmine.file_names import cleaned_name
from dogubako.sandbox.redmine.naming import person
from dogubako.sandbox.redmine.store import Row, Store

_PICTURES: Final = (".bmp", ".gif", ".jpg", ".jpe", ".jpeg", ".png")
# What may stand unescaped in an address, after Ruby's taste.
_SAFE: Final = "!$&'()*+,;=:@-._~"


@dataclass(frozen=True, slots=True)
class Upload:
    """A file that waits for its place, and what is said about it."""

    row: Row
    said: Row


def attachments_of(store: Store, kind: str, row_id: int) -> list[Row]:
    """The files of a record ("Issue", "Project", "Version", "WikiPage", "News"), the oldest first."""
    rows = store["attachments"].where(container_type=kind, container_id=row_id)
    return sorted(rows, key=lambda row: (row["created_on"], row["id"]))


def shown_attachment(ask: Ask, row: Row) -> dict[str, Any]:
    name = quote(row["filename"], safe=_SAFE)
    shown = {
        "id": row["id"],
        "filename": row["filename"],
        "filesize": row["filesize"],
        "content_type": row.get("content_type"),
        "description": row.get("description"),
        "content_url": f"{ask.base_url}/attachments/download/{row['id']}/{name}",
    }
    if row["filename"].lower().endswith(_PICTURES):
        shown["thumbnail_url"] = f"{ask.base_url}/attachments/thumbnail/{row['id']}"
    author = person(ask.store, row.get("author_id"))
    if author:
        shown["author"] = author
    return {**shown, "created_on": shown_time(row["created_on"])}


def uploaded(store: Store, uploads: Any) -> tuple[list[Upload], int]:
    """The files that `uploads` names, and how many tokens were of no use."""
    entries = list(uploads.values()) if isinstance(uploads, dict) else uploads
    found, failed = [], 0
    for entry in entries if isinstance(entries, list) else ():
        token = entry.get("token") if isinstance(entry, dict) else None
        row = find_by_token(store, token) if token else None
        if row is not None:
            found.append(Upload(row, entry))
        elif token:
            failed += 1
    return found, failed


def attach(files: list[Upload], kind: str, row_id: int) -> list[Row]:
    """Give files to a record, under their new names; from now on their tokens are worth nothing."""
    for each in files:
        if each.said.get("filename"):
            each.row["filename"] = cleaned_name(str(each.said["filename"]))
        if each.said.get("content_type"):
            each.row["content_type"] = str(each.said["content_type"])
        each.row["description"] = str(each.said.get("description") or "").strip()
        each.row["container_type"], each.row["container_id"] = kind, row_id
    return [each.row for each in files]
