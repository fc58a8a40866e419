"""Notes, files, news and wiki pages: changed and deleted; and what an agent is told of this Redmine."""

import pytest

from dogubako.contract.errors import ConfirmationRequiredError
from tests.redmine_contract.ja.seeded_ja import ATTACHMENTS_JA, ISSUES_JA, KEYS_JA
from tests.redmine_contract.place import Person, Place

MAIN = ISSUES_JA["main"]
PLAIN = ISSUES_JA["unassigned"]


async def _own_note(person: Person) -> int:
    await person.call("update_issue", id=PLAIN, notes="書き間違い")
    return int((await person.issue(PLAIN, "journals"))["journals"][-1]["id"])


async def test_a_note_is_changed_and_deleted_by_its_author(ichiro: Person) -> None:
    note = await _own_note(ichiro)

    changed = await ichiro.call("update_issue_note", issue_id=PLAIN, id=note, notes="書き直し")
    foretold = await ichiro.refused("delete_issue_note", issue_id=PLAIN, id=note)
    await ichiro.call("delete_issue_note", issue_id=PLAIN, id=note, confirm=True)

    assert (changed.findtext("before"), changed.findtext("notes")) == ("書き間違い", "書き直し")
    assert isinstance(foretold, ConfirmationRequiredError)
    assert "鈴木 一郎" in foretold.message
    assert (await ichiro.issue(PLAIN, "journals"))["journals"] == []


async def test_a_note_of_somebody_else_needs_a_permission(taro: Person, misaki: Person) -> None:
    note = next(
        one["id"] for one in (await taro.issue(MAIN, "journals"))["journals"] if one["notes"] == "再現しました。"
    )

    error = await misaki.refused("update_issue_note", issue_id=MAIN, id=note, notes="x")
    await taro.call("update_issue_note", issue_id=MAIN, id=note, notes="再現した。")

    assert "lacks the permission edit_issue_notes" in error.message


async def test_a_file_is_deleted_and_the_history_tells_it(taro: Person) -> None:
    foretold = await taro.refused("delete_attachment", id=ATTACHMENTS_JA["メモ.txt"])
    await taro.call("delete_attachment", id=ATTACHMENTS_JA["メモ.txt"], confirm=True)

    issue = await taro.issue(MAIN, "attachments", "journals")
    assert "メモ.txt" in foretold.message
    assert ATTACHMENTS_JA["メモ.txt"] not in [one["id"] for one in issue["attachments"]]
    assert issue["journals"][-1]["details"][0]["old_value"] == "メモ.txt"


async def test_a_file_goes_into_the_files_area_and_onto_a_wiki_page(ichiro: Person) -> None:
    first = await ichiro.call("upload_attachment", text="手順", filename="手順2.txt")
    second = await ichiro.call("upload_attachment", text="図", filename="図.txt")
    upload = {"token": first.get("token"), "filename": "手順2.txt", "description": "改訂版"}
    await ichiro.call("add_file", project_id="hanbai", upload=upload)
    saved = await ichiro.call(
        "save_wiki_page", project_id="hanbai", title="運用手順", uploads=[{"token": second.get("token")}]
    )

    files = (await ichiro.told("/projects/1/files.json"))["files"]
    assert "手順2.txt" in [one["filename"] for one in files]
    assert saved.findtext("attachments/attachment/filename") == "図.txt"
    assert (await ichiro.call("show_wiki_page", project_id="hanbai", title="運用手順")).findtext(
        "text"
    ) == "毎朝の確認。"


async def test_a_page_is_renamed_and_keeps_its_text(taro: Person) -> None:
    saved = await taro.call("save_wiki_page", project_id="hanbai", title="運用手順", new_title="運用手順 2.0")

    shown = await taro.call("show_wiki_page", project_id="hanbai", title="運用手順 2.0")
    assert saved.findtext("title") == "運用手順_20"
    assert shown.findtext("text") == "毎朝の確認。"


async def test_news_are_made_changed_and_deleted(taro: Person) -> None:
    made = await taro.call("create_news", project_id="hanbai", title="計画停止", description="日曜の夜です。")
    id_ = int(made.get("id", "0"))
    changed = await taro.call("update_news", id=id_, summary="日曜")
    await taro.call("delete_news", id=id_, confirm=True)

    assert (changed.findtext("title"), changed.findtext("summary")) == ("計画停止", "日曜")
    assert (await taro.ask("GET", f"/news/{id_}.json"))[0] == 404


async def test_news_need_a_permission(ichiro: Person) -> None:
    error = await ichiro.refused("create_news", project_id="hanbai", title="x", description="x")

    assert "lacks the permission manage_news" in error.message


async def test_news_of_others_are_neither_changed_nor_deleted_without_it(taro: Person, ichiro: Person) -> None:
    made = await taro.call("create_news", project_id="hanbai", title="計画停止", description="日曜の夜です。")
    id_ = int(made.get("id", "0"))
    changing = await ichiro.refused("update_news", id=id_, summary="月曜")
    deleting = await ichiro.refused("delete_news", id=id_, confirm=True)

    assert (changing.code, deleting.code) == ("API_ERROR", "API_ERROR")
    assert (await taro.ask("GET", f"/news/{id_}.json"))[1]["news"].get("summary") in (None, "")


async def test_a_file_area_takes_nothing_of_an_unknown_upload(ichiro: Person) -> None:
    before = (await ichiro.told("/projects/1/files.json"))["files"]
    error = await ichiro.refused("add_file", project_id="hanbai", upload={"token": "1.0000", "filename": "x.txt"})

    assert error.code in ("API_ERROR", "VALIDATION_ERROR", "NOT_FOUND")
    assert (await ichiro.told("/projects/1/files.json"))["files"] == before


@pytest.mark.parametrize("who", ["admin", "sato.taro", "8001"])
async def test_an_agent_is_told_the_day_and_the_markup(place: Place, who: str) -> None:
    person = await place.person(KEYS_JA[who])

    shown = await person.call("show_current_user")

    assert shown.findtext("time_zone") == "UTC+0900"
    assert shown.findtext("markup") == "markdown"


async def test_words_for_days_are_days_of_the_user(taro: Person) -> None:
    today = (await taro.call("show_current_user")).findtext("today", "")[:10]
    made = await taro.call("create_time_entry", issue_id=PLAIN, hours=1, activity_id="開発作業", spent_on="今日")
    await taro.call("update_issue", id=PLAIN, due_date="2027/1/15", start_date="today")

    issue = await taro.issue(PLAIN)
    assert made.findtext("spent_on") == today == issue["start_date"]
    assert issue["due_date"] == "2027-01-15"


async def test_an_issue_that_was_closed_stays_in_the_report_after_a_later_note(taro: Person) -> None:
    await taro.call("update_issue", id=PLAIN, status_id="終了")
    await taro.call("update_issue", id=PLAIN, notes="追記")

    found = await taro.call("list_issues", project_id="hanbai", status_id="*", closed_on="today", fields=["subject"])

    assert [one.get("id") for one in found] == [str(PLAIN)]


async def test_search_finds_an_issue_by_its_number(misaki: Person) -> None:
    found = await misaki.call("search_redmine", q="#14")

    shown = await misaki.call("show_issue", id="#14")
    assert found.findtext("result/title") == "バグ #14 (終了): 旧ロゴが残っている"
    assert shown.findtext("subject") == "旧ロゴが残っている"
