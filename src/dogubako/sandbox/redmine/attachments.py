"""Attachments: what they are, their bytes, uploads, and who may see or change them."""

import base64
import hashlib
import secrets
from typing import Any, Final

from dogubako.sandbox.redmine.asking import DONE, Answer, Ask, RefusedError, unprocessable
from dogubako.sandbox.redmine.attaching import shown_attachment
from dogubako.sandbox.redmine.clock import now_text
from dogubako.sandbox.redmine.file_names import cleaned_name, type_by_name
from dogubako.sandbox.redmine.file_rights import may_delete_file, may_edit_file, sees_file
from dogubako.sandbox.redmine.shapes import body_object, is_blank, too_long
from dogubako.sandbox.redmine.store import Row, Store

# Whoever may do one of these somewhere may upload.
_NEED_UPLOADS: Final = (
    "add_issues edit_issues edit_own_issues copy_issues add_issue_notes manage_news add_documents edit_documents "
    "manage_files edit_wiki_pages add_messages edit_messages edit_own_messages"
)
_OCTETS: Final = "application/octet-stream"


def show_attachment(ask: Ask) -> Any:
    row = ask.row("attachments")
    if not sees_file(ask.store, ask.who, row):
        raise ask.denied()
    return {"attachment": shown_attachment(ask, row)}


def update_attachment(ask: Ask) -> Any:
    row = ask.row("attachments")
    if not may_edit_file(ask.store, ask.who, row):
        raise ask.denied()
    asked = {name: value for name, value in body_object(ask, "attachment").items() if name in _CHANGEABLE}
    if "filename" in asked:
        asked["filename"] = cleaned_name(str(asked["filename"] or ""))
    sentences = _wrong({**row, **asked})
    if sentences:
        raise unprocessable(*sentences)
    row.update(asked)
    return DONE


_CHANGEABLE: Final = ("filename", "content_type", "description")


def delete_attachment(ask: Ask) -> Any:
    row = ask.row("attachments")
    if not may_delete_file(ask.store, ask.who, row):
        raise ask.denied()
    ask.store["attachments"].remove(row)
    if row.get("container_type") == "Issue":
        _write_journal(ask, row)
    return DONE


def _write_journal(ask: Ask, row: Row) -> None:
    """An issue remembers which file was taken away, and by whom; that does not count as an update of it."""
    store = ask.store
    journal = store["journals"].add(
        journalized_id=row["container_id"],
        journalized_type="Issue",
        user_id=ask.who.id,
        notes="",
        created_on=now_text(),
        private_notes=False,
    )
    store["journal_details"].add(
        journal_id=journal["id"], property="attachment", prop_key=str(row["id"]), old_value=row["filename"]
    )


def upload_file(ask: Ask) -> Any:
    if not any(ask.who.may_somewhere(each) for each in _NEED_UPLOADS.split()):
        raise ask.denied()
    if ask.content_type.split(";")[0].strip().lower() != _OCTETS:
        raise RefusedError(406)
    name = cleaned_name(ask.text("filename")) if not is_blank(ask.params.get("filename")) else secrets.token_hex(16)
    sentences = [*_wrong({"filename": name}), *_too_big(ask.store, len(ask.raw))]
    if sentences:
        raise unprocessable(*sentences)
    row = _kept(ask, name)
    return Answer(status=201, body={"upload": {"id": row["id"], "token": f"{row['id']}.{row['digest']}"}})


def _kept(ask: Ask, name: str) -> Row:
    return ask.store["attachments"].add(
        filename=name,
        filesize=len(ask.raw),
        content_type=ask.text("content_type") or type_by_name(name),
        digest=hashlib.sha256(ask.raw).hexdigest(),
        downloads=0,
        author_id=ask.who.id,
        created_on=now_text(),
        data=base64.b64encode(ask.raw).decode(),
    )


def _wrong(row: Row) -> list[str]:
    sentences = ["File cannot be blank"] if is_blank(row["filename"]) else []
    sentences += too_long("File", row["filename"], 255)
    return sentences + too_long("Description", row.get("description"), 255)


def _too_big(store: Store, size: int) -> list[str]:
    largest = int(store.setting("attachment_max_size")) * 1024
    if size <= largest:
        return []
    return [f"This file cannot be uploaded because it exceeds the maximum allowed file size ({largest})"]
