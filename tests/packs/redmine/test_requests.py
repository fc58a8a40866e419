"""What we send to Redmine: where the key goes, what names in paths become, how values are written."""

from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

import httpx2
import pytest

from dogubako.contract.errors import NotFoundError
from dogubako.packs.redmine.verification import NOT_IN_TITLES

from .made import answered, issue, made, paged
from .wired import KEYS, URL, bench

ODD: Final = (
    "a/b",
    "/",
    ".",
    "..",
    "...",
    "../users/1",
    "..\\..\\x",
    "%2e%2e%2f",
    "a?include=x",
    "a#b",
    "a b",
    "a;b=c",
    "a&b",
    "http://elsewhere.example",
    "顧客",
    "🚀",
    "tab\there",
    "x.json",
)
PROJECT: Final = {"project": {"id": 1, "name": "Web Shop", "identifier": "webshop", "status": 1}}


async def test_the_key_is_a_header_of_every_request_and_nowhere_else(tmp_path: Path) -> None:
    async with bench(tmp_path) as redmine:
        await redmine.data("show_issue", id=1)
        await redmine.data("update_issue", id=1, notes="x")
        await redmine.data("show_attachment", id=2)
        await redmine.data("upload_attachment", text="x", filename="x.txt")
        sent = redmine.wire.requests

    assert {one.headers.get("x-redmine-api-key") for one in sent} == {KEYS["admin"]}
    assert not [one for one in sent if KEYS["admin"].encode() in one.url.raw_path + one.content]
    assert {f"{one.url.scheme}://{one.url.host}" for one in sent} == {URL}


async def test_the_key_does_not_follow_a_redirect(tmp_path: Path) -> None:
    moved = answered(307, location="http://elsewhere.example/users/current.json")
    async with bench(tmp_path, answers=lambda _: moved) as redmine:
        await redmine.refusal("list_issues")

        assert {one.url.host for one in redmine.wire.requests} == {"redmine.test"}


async def test_the_key_does_not_go_where_an_attachment_says_it_lives(tmp_path: Path) -> None:
    record = {"id": 7, "filename": "a.txt", "content_type": "text/plain", "content_url": "http://elsewhere.example/a"}

    def answers(request: httpx2.Request) -> httpx2.Response | None:
        if "/download/" in request.url.path:
            return httpx2.Response(200, content=b"x")
        return made({"/attachments/7": {"attachment": record}})(request)

    async with bench(tmp_path, answers=answers) as redmine:
        shown = await redmine.data("show_attachment", id=7)

        assert {one.url.host for one in redmine.wire.requests} == {"redmine.test"}
        assert "elsewhere" not in str(shown)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        pytest.param("show_wiki_page", {}, id="show"),
        pytest.param("save_wiki_page", {"text": "x"}, id="save"),
        pytest.param("delete_wiki_page", {"confirm": True}, id="delete"),
    ],
)
async def test_a_title_stays_one_segment_of_the_path(tmp_path: Path, tool: str, arguments: dict[str, Any]) -> None:
    async with bench(tmp_path, answers=made({"/projects/1": PROJECT})) as redmine:
        for odd in ODD:
            redmine.wire.requests.clear()
            await redmine.call(tool, project_id=1, title=odd, **arguments)
            paths = [one.url.raw_path.decode("ascii").split("?")[0] for one in redmine.wire.requests]
            segments = [path.removeprefix("/projects/1/wiki/") for path in paths if "/wiki/" in path]

            assert segments or not odd.translate(NOT_IN_TITLES).strip(), odd
            for segment in segments:
                assert unquote(segment.removesuffix(".json")) == odd.translate(NOT_IN_TITLES).strip()
                assert not set(segment) & set("/?#\\"), odd
                assert segment.removesuffix(".json").strip("."), odd


@pytest.mark.parametrize("odd", ODD)
async def test_a_resource_stays_below_its_own_place(tmp_path: Path, odd: str) -> None:
    async with bench(tmp_path, answers=made({})) as redmine:
        with pytest.raises(NotFoundError):
            await redmine.box.read(f"redmine://issues/{in_percents(odd)}")
        paths = [one.url.raw_path.decode("ascii").split("?")[0] for one in redmine.wire.requests]

    assert [path for path in paths if not path.startswith(("/issues/", "/users/current.json"))] == []
    assert all(path.count("/") == 2 for path in paths)


def in_percents(text: str) -> str:
    return "".join(f"%{byte:02X}" for byte in text.encode())


@pytest.mark.parametrize(
    ("tool", "arguments", "place", "query"),
    [
        pytest.param("list_issues", {}, "/issues", {"limit": "25", "offset": "0"}, id="nothing is asked but the page"),
        pytest.param(
            "list_issues",
            {"include": ["attachments", "relations"], "limit": 5, "offset": 10, "sort": "priority:desc,id"},
            "/issues",
            {"include": "attachments,relations", "limit": "5", "offset": "10", "sort": "priority:desc,id"},
            id="lists are written with commas",
        ),
        pytest.param(
            "show_issue",
            {"id": 1, "include": ["journals", "watchers"]},
            "/issues/1",
            {"include": "journals,watchers"},
            id="what to show with it",
        ),
        pytest.param(
            "search_redmine",
            {"q": "a&b=c ü", "all_words": False, "types": ["issues", "wiki_pages"]},
            "/search",
            {
                "q": "a&b=c ü",
                "all_words": "",
                "titles_only": "",
                "open_issues": "",
                "issues": "1",
                "wiki_pages": "1",
                "limit": "25",
                "offset": "0",
            },
            id="no is an empty text",
        ),
        pytest.param(
            "list_users", {"status": "*"}, "/users", {"status": "", "limit": "25", "offset": "0"}, id="all users"
        ),
    ],
)
async def test_questions_are_written_as_redmine_reads_them(
    tmp_path: Path, tool: str, arguments: dict[str, Any], place: str, query: dict[str, str]
) -> None:
    async with bench(tmp_path) as redmine:
        await redmine.data(tool, **arguments)

        assert redmine.wire.query(place) == query


async def test_a_write_sends_what_was_said_and_nothing_else(tmp_path: Path) -> None:
    async with bench(tmp_path) as redmine:
        await redmine.data("update_issue", id=1, due_date=None, notes="Later")

        assert redmine.wire.body("PUT") == {"issue": {"due_date": "", "notes": "Later"}}
        put = next(one for one in redmine.wire.requests if one.method == "PUT")
        assert put.headers["content-type"] == "application/json"
        assert put.url.path == "/issues/1.json"


@pytest.mark.parametrize("url", ["http://redmine.test/sub", "http://redmine.test/sub/"])
async def test_redmine_may_live_below_a_path(tmp_path: Path, url: str) -> None:
    def answers(request: httpx2.Request) -> httpx2.Response | None:
        inner = httpx2.Request(request.method, str(request.url).replace("/sub/", "/"))
        return made({"/issues": paged("issues", [issue(1)])})(inner)

    async with bench(tmp_path, answers=answers, REDMINE_URL=url) as redmine:
        await redmine.data("list_issues")

        paths = [one.url.path for one in redmine.wire.requests]
        assert paths == ["/sub/users/current.json", "/sub/issues.json"]


async def test_json_is_asked_for_whatever_the_language(tmp_path: Path) -> None:
    async with bench(tmp_path, REDMINE_FORMAT="xml") as redmine:
        await redmine.call("list_issues")

        assert {one.headers["accept"] for one in redmine.wire.requests} == {"application/json"}
        assert all(one.url.path.endswith(".json") for one in redmine.wire.requests)


@pytest.mark.parametrize(
    ("user", "tool", "arguments", "asked"),
    [
        pytest.param(
            "dev",
            "update_issue",
            {"id": 1, "subject": "New"},
            ["GET /issues/1", "PUT /issues/1", "GET /issues/1"],
            id="update",
        ),
        pytest.param(
            "dev", "update_issue", {"id": 1, "expected_updated_on": "x", "notes": "y"}, ["GET /issues/1"], id="stale"
        ),
        pytest.param(
            "dev", "create_issue", {"project_id": 1, "subject": "New"}, ["POST /issues", "GET /issues/141"], id="create"
        ),
        pytest.param(
            "admin",
            "create_issue",
            {"project_id": 1, "subject": "New", "tracker_id": 1},
            ["GET /projects/1", "POST /issues", "GET /issues/141"],
            id="create with a tracker",
        ),
        pytest.param(
            "dev",
            "create_issue",
            {"project_id": 1, "subject": "New", "tracker_id": 1},
            ["GET /projects/1", "GET /roles/4", "GET /issues", "GET /issues/12", "POST /issues", "GET /issues/141"],
            id="create with a tracker, as a member",
        ),
        pytest.param(
            "dev", "show_user", {"id": "Mari Sato"}, ["GET /issues", "GET /users/9"], id="somebody of all projects"
        ),
        # A group could have this name too.
        pytest.param(
            "admin", "show_user", {"id": "Mari Sato"}, ["GET /groups", "GET /users", "GET /users/9"], id="somebody"
        ),
        pytest.param("dev", "list_issues", {"closed_on": "lw", "status_id": "*"}, ["GET /issues"], id="list"),
    ],
)
async def test_no_request_is_made_that_is_not_needed(
    tmp_path: Path, user: str, tool: str, arguments: dict[str, Any], asked: list[str]
) -> None:
    async with bench(tmp_path, user) as redmine:
        await redmine.call(tool, **arguments)
        requests = redmine.wire.asked()

    assert requests == asked


async def test_the_history_is_read_only_to_find_a_note(tmp_path: Path) -> None:
    async with bench(tmp_path, "dev") as redmine:
        await redmine.data("update_issue", id=1, notes="Seen")
        reads = [
            one.url.params["include"]
            for one in redmine.wire.requests
            if one.url.path == "/issues/1.json" and one.method == "GET"
        ]

    assert ["journals" in one for one in reads] == [False, True]
