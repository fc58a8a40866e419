"""Files: sent, attached once, shown, saved."""

import base64
from pathlib import Path
from typing import Any

import pytest

from dogubako.contract.errors import NotFoundError
from dogubako.packs.redmine.errors import RedmineRefused
from tests.redmine_contract.facts import proves
from tests.redmine_contract.place import Person
from tests.redmine_contract.seeded import ATTACHMENTS, ISSUES, PROJECTS

UNASSIGNED = ISSUES["unassigned"]
LIMIT = 5 * 1024 * 1024


async def sent(person: Person, text: str = "hello", filename: str = "a.txt") -> dict[str, str]:
    shown = await person.call("upload_attachment", text=text, filename=filename)
    return {"token": shown.get("token") or "", "filename": filename}


async def attachments(person: Person, issue: int = UNASSIGNED) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await person.issue(issue, "attachments"))["attachments"]
    return found


async def test_a_file_is_sent_and_attached_to_an_issue(dev: Person) -> None:
    upload = await sent(dev, "Grüße & <b>", "naïve.txt")

    await dev.call("update_issue", id=UNASSIGNED, uploads=[{**upload, "description": "A greeting"}])

    attached = await attachments(dev)
    assert [(one["filename"], one["description"]) for one in attached] == [("naïve.txt", "A greeting")]
    shown = await dev.call("show_attachment", id=attached[0]["id"])
    assert shown.findtext("text") == "Grüße & <b>"


async def test_a_new_issue_takes_files_with_it(reporter: Person) -> None:
    upload = await sent(reporter)

    shown = await reporter.call("create_issue", project_id="webshop", subject="New", uploads=[upload])

    assert [one["filename"] for one in await attachments(reporter, int(shown.get("id", "0")))] == ["a.txt"]


@proves("token-once")
async def test_a_token_is_used_once_and_the_second_time_is_told(dev: Person) -> None:
    upload = await sent(dev)
    await dev.call("update_issue", id=UNASSIGNED, uploads=[upload])
    body = {"issue": {"uploads": [upload]}}
    again = await dev.ask("PUT", f"/issues/{ISSUES['overdue']}.json", body)

    error = await dev.refused("update_issue", id=ISSUES["overdue"], uploads=[upload])

    assert again == (422, {"errors": ["1 file(s) could not be saved."]})
    assert isinstance(error, RedmineRefused)
    assert error.reasons == ("1 file(s) could not be saved.",)
    assert await attachments(dev, ISSUES["overdue"]) == []


@proves("token-once")
async def test_a_token_that_nobody_has_made_is_told(dev: Person) -> None:
    error = await dev.refused(
        "create_issue", project_id="webshop", subject="New", uploads=[{"token": "999999.abc", "filename": "a.txt"}]
    )

    assert isinstance(error, RedmineRefused)
    assert error.status_code == 422


@proves("upload-limit")
async def test_a_file_of_more_than_five_megabytes_is_refused(dev: Person) -> None:
    fits = base64.b64encode(b"x" * LIMIT).decode()
    too_large = base64.b64encode(b"x" * (LIMIT + 1)).decode()

    shown = await dev.call("upload_attachment", base64=fits, filename="large.bin")
    error = await dev.refused("upload_attachment", base64=too_large, filename="large.bin")

    assert shown.findtext("filesize") == str(LIMIT)
    assert isinstance(error, RedmineRefused)
    assert error.status_code == 422
    assert error.hint is not None
    assert "5,242,881 bytes" in error.hint


@proves("upload-limit")
async def test_the_limit_is_a_setting(dev: Person) -> None:
    dev.place.set_setting("attachment_max_size", "1")

    error = await dev.refused("upload_attachment", text="x" * 1025, filename="a.txt")

    assert isinstance(error, RedmineRefused)
    assert error.status_code == 422


async def test_a_file_is_sent_from_an_allowed_folder_and_saved_there(dev: Person, files: Path, tmp_path: Path) -> None:
    source, target = files / "to send.txt", files / "saved.txt"
    source.write_text("From a file")
    target.unlink(missing_ok=True)
    (tmp_path / "elsewhere.txt").write_text("Not for you")

    shown = await dev.call("upload_attachment", path=str(source))
    upload = {"token": shown.get("token"), "filename": "to send.txt"}
    await dev.call("update_issue", id=UNASSIGNED, uploads=[upload])
    id_ = (await attachments(dev))[0]["id"]
    await dev.call("show_attachment", id=id_, save_to=str(target))
    refused = await dev.refused("upload_attachment", path=str(tmp_path / "elsewhere.txt"))

    assert target.read_text() == "From a file"
    assert refused.code != "API_ERROR"


async def test_a_picture_is_shown_as_a_picture(outsider: Person) -> None:
    result = await outsider.outcome("show_attachment", id=ATTACHMENTS["receipt.png"])

    text, image = result.content
    assert (text["type"], image["type"], image["mimeType"]) == ("text", "image", "image/png")
    assert base64.b64decode(image["data"]).startswith(b"\x89PNG")


async def test_an_archive_is_described_and_a_log_is_read(outsider: Person) -> None:
    archive = await outsider.call("show_attachment", id=ATTACHMENTS["orders.zip"])
    log = await outsider.call("show_attachment", id=ATTACHMENTS["checkout.log"])
    text = await outsider.call("show_attachment", id=ATTACHMENTS["naïve & 日本 _a_.txt"])

    assert archive.find("text") is None
    assert archive.findtext("hint")
    assert (log.findtext("text") or "").startswith("2026-08-31T00:01:00Z order=1001")
    assert text.findtext("text") == "Straße 1 & <Köln> 日本\n"


async def test_a_file_that_is_not_there_is_not_found(dev: Person) -> None:
    assert isinstance(await dev.refused("show_attachment", id=999999), NotFoundError)


@proves("unused-upload")
async def test_what_nobody_attached_is_shown_to_its_author_only(dev: Person, admin: Person) -> None:
    id_ = int((await sent(dev))["token"].split(".")[0])

    assert (await dev.ask("GET", f"/attachments/{id_}.json"))[0] == 200
    assert await admin.ask("GET", f"/attachments/{id_}.json") == (403, "")


@proves("download-accept")
async def test_a_refused_download_is_a_plain_refusal_only_when_json_is_asked_for(
    manager: Person, outsider: Person, stranger: Person
) -> None:
    await manager.call("update_issue", id=ISSUES["private"], uploads=[await sent(manager)])
    path = f"/attachments/download/{(await attachments(manager, ISSUES['private']))[0]['id']}"
    anything = {"Accept": "*/*"}

    assert (await manager.answer("GET", f"{path}/a.txt")).body == b"hello"
    assert await manager.ask("GET", f"{path}/nope.txt") == (404, "")
    assert await outsider.ask("GET", f"{path}/a.txt") == (403, "")
    assert await stranger.ask("GET", f"{path}/a.txt") == (401, "")
    moved = await stranger.answer("GET", f"{path}/a.txt", headers=anything)
    assert (moved.status, "/login?" in moved.headers["location"]) == (302, True)


async def test_a_file_that_one_may_not_see_is_not_shown(manager: Person, outsider: Person) -> None:
    await manager.call("update_issue", id=ISSUES["private"], uploads=[await sent(manager)])

    error = await outsider.refused("show_attachment", id=(await attachments(manager, ISSUES["private"]))[0]["id"])

    assert isinstance(error, RedmineRefused)
    assert error.status_code == 403


@pytest.mark.parametrize(
    ("path", "body"),
    [
        pytest.param("news", {"news": {"title": "New", "description": "Words"}}, id="news"),
        pytest.param("files", None, id="files"),
    ],
)
@proves("no-id-told")
async def test_news_and_files_are_made_without_a_word_about_their_id(
    manager: Person, path: str, body: dict[str, Any] | None
) -> None:
    content = body or {"file": await sent(manager)}
    listed = f"/projects/{PROJECTS['webshop']}/{path}.json"
    before = len((await manager.told(listed))[path])

    assert await manager.ask("POST", listed, content) == (204, "")
    assert len((await manager.told(listed))[path]) == before + 1
