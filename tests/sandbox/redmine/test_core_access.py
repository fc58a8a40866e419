"""Who gets into the sandbox's Redmine, and what it says to those who do not."""

import time

import pytest

from dogubako_sandbox import SANDBOXES
from dogubako_sandbox.redmine.app import redmine_app
from tests.sandbox.redmine.redmine_client import KEYS, Redmine


@pytest.mark.parametrize(
    ("who", "path", "status"),
    [
        pytest.param("nobody", "/issues/1.json", 200, id="a stranger reads what is public"),
        pytest.param("wrong key", "/issues/1.json", 200, id="a wrong key is a stranger, without a word"),
        pytest.param("locked", "/issues/1.json", 200, id="and so is a locked user"),
        pytest.param("nobody", "/issues/8.json", 401, id="a stranger and a private issue"),
        pytest.param("dev", "/issues/8.json", 403, id="a member and a private issue"),
        pytest.param("manager", "/issues/8.json", 200, id="a manager sees it"),
        pytest.param("outsider", "/issues/17.json", 403, id="a private project"),
        pytest.param("admin", "/issues/19.json", 403, id="nobody gets into an archived project"),
        pytest.param("nobody", "/issues.json?project_id=attic", 403, id="and a stranger is not even asked to log in"),
        pytest.param("dev", "/issues/18.json", 200, id="a closed project can be read"),
        pytest.param("admin", "/issues/999.json", 404, id="no such issue"),
        pytest.param("admin", "/issues.json?project_id=1|2", 404, id="a project is no filter"),
    ],
)
async def test_who_may_read_what(redmine: Redmine, who: str, path: str, status: int) -> None:
    response = await redmine.answer(who, "GET", path)

    assert (response.status_code, bool(response.content)) == (status, status == 200)


async def test_a_key_in_the_query_counts_more_than_one_in_the_header(redmine: Redmine) -> None:
    assert (await redmine.answer("dev", "GET", f"/issues/8.json?key={KEYS['manager']}")).status_code == 200
    assert (await redmine.answer("manager", "GET", f"/issues/8.json?key={KEYS['dev']}")).status_code == 403


async def test_an_administrator_can_ask_as_somebody_else(redmine: Redmine) -> None:
    def headers(login: str) -> dict[str, str]:
        return {"X-Redmine-Switch-User": login}

    assert (await redmine.answer("admin", "GET", "/issues/8.json", headers=headers("dev"))).status_code == 403
    assert (await redmine.answer("admin", "GET", "/issues/8.json", headers=headers("nobody"))).status_code == 412
    assert (await redmine.answer("dev", "GET", "/issues/8.json", headers=headers("admin"))).status_code == 403


async def test_what_is_no_json_gets_a_page_unless_json_is_asked_for(redmine: Redmine) -> None:
    json = {"Accept": "application/json", "Content-Type": "application/json"}
    plain = await redmine.answer("admin", "GET", "/nosuch.json", headers={"Accept": "*/*"})
    asked = await redmine.ask("admin", "GET", "/nosuch.json", headers=json)
    broken = await redmine.ask("admin", "POST", "/issues.json", content=b'{"issue":{bad', headers=json)

    assert (plain.status_code, plain.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert asked == (404, {"status": 404, "error": "Not Found"})
    assert broken == (400, {"status": 400, "error": "Bad Request"})


@pytest.mark.parametrize(
    ("query", "offset", "limit"),
    [
        pytest.param("", 0, 25, id="nothing said"),
        pytest.param("limit=200", 0, 100, id="more than a hundred"),
        pytest.param("limit=0", 0, 25, id="none"),
        pytest.param("limit=abc", 0, 25, id="a word"),
        pytest.param("limit=3&offset=2", 2, 3, id="an offset"),
        pytest.param("limit=3&page=2", 3, 3, id="a page"),
        pytest.param("offset=-3&limit=2", 0, 2, id="before the first"),
        pytest.param("offset=1000", 1000, 25, id="behind the last"),
    ],
)
async def test_limits_are_bent_without_a_word(redmine: Redmine, query: str, offset: int, limit: int) -> None:
    page = await redmine.told("admin", f"/issues.json?{query}")

    assert (page["offset"], page["limit"], page["total_count"]) == (offset, limit, 128)
    assert len(page["issues"]) == max(min(limit, 128 - offset), 0)
    assert list(page) == ["issues", "total_count", "offset", "limit"]


async def test_json_is_written_so_that_it_can_stand_in_a_page(redmine: Redmine) -> None:
    text = (await redmine.answer("admin", "GET", "/issues/15.json")).text

    assert '"Nasty \\u0026 \\u003cb\\u003e\\"subject\\"\\u003c/b\\u003e \'q\' ]]\\u003e 日本語 😀"' in text


def test_a_fresh_one_starts_at_once() -> None:
    redmine_app()
    started = time.process_time()
    for _ in range(5):
        redmine_app()

    # Twenty milliseconds each on a slow machine; the bound leaves room for a busy one.
    assert time.process_time() - started < 1


def test_it_is_one_of_the_services_that_stand_in_for_real_ones() -> None:
    settings = SANDBOXES["redmine"].settings

    assert settings == {"url": "https://redmine.sandbox", "api_key": KEYS["admin"]}
    assert SANDBOXES["redmine"].transport() is not SANDBOXES["redmine"].transport()
