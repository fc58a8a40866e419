"""Uploads, attachments, project files and news of the sandbox's Redmine."""

from tests.sandbox.redmine.redmine_client import Redmine

FILES = "/projects/webshop/files.json"
UPLOADS = "/uploads.json?filename=a.txt"


async def test_an_upload_is_its_authors_until_a_record_has_it_and_then_its_token_is_used_up(redmine: Redmine) -> None:
    token = await redmine.upload("dev", "../notes?.txt")
    number = token.partition(".")[0]

    assert (await redmine.told("dev", f"/attachments/{number}.json"))["attachment"]["filename"] == "notes_.txt"
    assert await redmine.status("admin", "GET", f"/attachments/{number}.json") == 403
    assert await redmine.status("dev", "POST", FILES, {"file": {"token": token, "description": "Mine"}}) == 204
    assert await redmine.status("dev", "POST", FILES, {"file": {"token": token}}) == 404
    listed = (await redmine.told("nobody", FILES))["files"]
    assert (listed[0]["filename"], listed[0]["description"]) == ("notes_.txt", "Mine")


async def test_a_download_has_the_bytes_the_type_and_the_name(redmine: Redmine) -> None:
    about = (await redmine.told("reporter", "/attachments/2.json"))["attachment"]

    response = await redmine.answer("reporter", "GET", about["content_url"])

    assert response.headers["content-type"] == "text/plain"
    assert response.headers["content-disposition"].startswith('attachment; filename="naive %26 %3F%3F _a_.txt"')
    assert len(response.content) == about["filesize"]


async def test_a_picture_comes_as_a_picture(redmine: Redmine) -> None:
    response = await redmine.answer("nobody", "GET", "/attachments/download/4/receipt.png")

    assert response.headers["content-type"] == "image/png"
    assert response.content.startswith(b"\x89PNG")


async def test_a_stranger_who_may_not_have_a_file_is_sent_to_the_login_page(redmine: Redmine) -> None:
    """A trap: whoever follows gets a page with status 200, and takes it for the file."""
    number = (await redmine.upload("dev", "a.txt")).partition(".")[0]
    path = f"/attachments/download/{number}/a.txt"

    response = await redmine.answer("wrong key", "GET", path)

    assert response.status_code == 302
    assert response.headers["location"].startswith("http://redmine.sandbox/login?back_url=")
    assert (await redmine.answer("manager", "GET", path)).status_code == 403
    assert (await redmine.answer("dev", "GET", path)).content == b"hello"
    assert (await redmine.answer("dev", "GET", f"/attachments/download/{number}/b.txt")).status_code == 404


async def test_files_of_issues_are_changed_by_those_who_edit_the_issue(redmine: Redmine) -> None:
    body = {"attachment": {"description": "The whole log", "filename": "all.log"}}

    assert await redmine.status("reporter", "PUT", "/attachments/3.json", body) == 403
    assert await redmine.status("dev", "PUT", "/attachments/3.json", body) == 204
    assert (await redmine.told("reporter", "/attachments/3.json"))["attachment"]["filename"] == "all.log"
    assert await redmine.errors("dev", "PUT", "/attachments/3.json", {"attachment": {"filename": ""}}) == [
        "File cannot be blank"
    ]


async def test_files_of_a_private_project_stay_private(redmine: Redmine) -> None:
    assert await redmine.status("dev", "GET", "/projects/internal/files.json") == 403
    assert await redmine.status("nobody", "GET", "/projects/internal/files.json") == 401
    assert await redmine.status("reporter", "POST", FILES, {"file": {"token": "1.ab"}}) == 403


async def test_news_are_the_newest_first_and_made_without_an_id_in_the_answer(redmine: Redmine) -> None:
    body = {"news": {"title": "Out now", "description": "At last."}}

    assert await redmine.status("dev", "POST", "/projects/webshop/news.json", body) == 403
    assert await redmine.status("manager", "POST", "/projects/webshop/news.json", body) == 204

    listed = await redmine.told("nobody", "/news.json?limit=1")
    assert (listed["news"][0]["title"], listed["news"][0]["summary"], listed["total_count"]) == ("Out now", "", 4)
