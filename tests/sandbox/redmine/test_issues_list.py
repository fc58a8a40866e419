"""Lists of issues: filters, saved queries, order."""

from datetime import date
from typing import Any

import pytest

from tests.sandbox.redmine.redmine_client import Redmine


def ids(page: Any) -> list[int]:
    return [each["id"] for each in page["issues"]]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        pytest.param("", [16, 15, 14, 13, 12, 11, 10, 8, 7, 6, 5, 4, 3, 2, 1], id="only open ones, the newest first"),
        pytest.param("status_id=closed", [9], id="closed"),
        pytest.param("issue_id=1,9", [1], id="a closed one by its number"),
        pytest.param("issue_id=1,9&status_id=*", [9, 1], id="whatever the status"),
        pytest.param("status_id=2|4", [7, 5, 3, 1], id="one of two"),
        pytest.param("status_id=!1", [9, 7, 5, 3, 1], id="not, and so not only open ones"),
        pytest.param("tracker_id=3", [12, 8, 7], id="tracker"),
        pytest.param("assigned_to_id=!*", [16, 14, 6, 2], id="unassigned"),
        pytest.param("assigned_to_id=me", [], id="assigned to who asks"),
        pytest.param("fixed_version_id=1", [13, 10, 2, 1], id="version"),
        pytest.param("parent_id=2", [4, 3], id="children"),
        pytest.param("parent_id=!*&tracker_id=2", [14, 11, 10, 6, 2], id="without a parent"),
        pytest.param("subject=~payment API", [11, 10], id="words in the subject, any case"),
        pytest.param("subject=payment", [], id="without a sign, the whole subject"),
        pytest.param("subject=^Dark", [14], id="the beginning"),
        pytest.param("subject=$screens", [13], id="the end"),
        pytest.param("created_on=2026-09-02", [16], id="a day"),
        pytest.param("created_on=><2026-09-01|2026-09-01&tracker_id=3", [12, 8, 7], id="between two days"),
        pytest.param("created_on=>=2026-09-01T22:00:00Z", [16, 15, 14], id="from a moment on"),
        pytest.param("due_date=<=2026-12-31", [5], id="due until"),
        pytest.param("subproject_id=!*", [16, 15, 12, 11, 10, 8, 7, 6, 5, 4, 3, 2, 1], id="without subprojects"),
        pytest.param("cf_3=Chrome|Firefox", [1], id="a list"),
        pytest.param("cf_8=>=1", [13, 1], id="a number"),
        pytest.param("cf_4=*", [1], id="any of many"),
        pytest.param("nonsense=1&cf_99=2", [16, 15, 14, 13, 12, 11, 10, 8, 7, 6, 5, 4, 3, 2, 1], id="unknown filters"),
        pytest.param("query_id=8&tracker_id=2", [13, 5, 1, 16, 15], id="a saved query, and filters that do not count"),
    ],
)
async def test_a_filter_lets_through(redmine: Redmine, query: str, found: list[int]) -> None:
    assert ids(await redmine.told("admin", f"/issues.json?project_id=webshop&{query}")) == found


@pytest.mark.parametrize(
    ("query", "sentences"),
    [
        pytest.param("created_on=soon", ["Created is invalid"], id="no date"),
        pytest.param("due_date=2026-13-40", ["Due date is invalid"], id="no such day"),
        pytest.param("done_ratio=half", ["% Done is invalid"], id="no number"),
        pytest.param("cf_7=soon", ["Promised on is invalid"], id="a custom date"),
        pytest.param("tracker_id=", ["Tracker cannot be blank"], id="nothing"),
        pytest.param("subject=~", ["Subject cannot be blank"], id="a sign alone"),
    ],
)
async def test_a_filter_that_makes_no_sense_is_refused(redmine: Redmine, query: str, sentences: list[str]) -> None:
    assert await redmine.errors("admin", "GET", f"/issues.json?{query}") == sentences


@pytest.mark.parametrize(
    ("sort", "first"),
    [
        pytest.param("id", [1, 2, 3], id="upwards"),
        pytest.param("priority:desc", [13, 5, 4], id="by the rank of the priority, the newest of equals first"),
        pytest.param("due_date", [16, 15, 14], id="nothing comes first"),
        pytest.param("due_date:desc,id", [1, 2, 3], id="two columns"),
        pytest.param("nonsense", [16, 15, 14], id="an unknown column"),
        pytest.param("tracker_id", [16, 15, 14], id="a name with _id is unknown too"),
        pytest.param("cf_8:desc,id", [1, 13, 2], id="a custom field"),
    ],
)
async def test_the_order_of_a_list(redmine: Redmine, sort: str, first: list[int]) -> None:
    page = await redmine.told("admin", f"/issues.json?project_id=webshop&sort={sort}&limit=3")

    assert ids(page) == first


async def test_a_list_shows_only_what_its_reader_may_see(redmine: Redmine) -> None:
    seen = {
        who: ids(await redmine.told(who, "/issues.json?status_id=*&limit=100&issue_id=1,8,17,18,19"))
        for who in ("admin", "manager", "dev", "outsider", "nobody")
    }

    assert seen == {
        "admin": [18, 17, 8, 1],
        "manager": [18, 8, 1],
        "dev": [18, 1],
        "outsider": [18, 1],
        "nobody": [18, 1],
    }


@pytest.mark.parametrize(
    ("who", "query", "status"),
    [
        pytest.param("dev", "query_id=8", 200, id="for all"),
        pytest.param("dev", "query_id=11", 200, id="one's own"),
        pytest.param("manager", "query_id=11", 403, id="somebody else's own"),
        pytest.param("nobody", "query_id=11", 401, id="a stranger"),
        pytest.param("admin", "query_id=9", 404, id="of a project that is not named"),
        pytest.param("dev", "query_id=9&project_id=webshop", 200, id="of this project"),
        pytest.param("admin", "query_id=999", 404, id="none"),
    ],
)
async def test_a_saved_query(redmine: Redmine, who: str, query: str, status: int) -> None:
    assert (await redmine.answer(who, "GET", f"/issues.json?{query}")).status_code == status


async def test_a_list_includes_files_and_relations_and_nothing_else(redmine: Redmine) -> None:
    page = await redmine.told("admin", "/issues.json?issue_id=1,6&include=attachments,relations,journals,watchers")
    gifts, umlauts = page["issues"]

    assert (gifts["attachments"], gifts["relations"]) == ([], [])
    assert [each["filename"] for each in umlauts["attachments"]] == [
        "naïve & 日本 _a_.txt",
        "checkout.log",
        "receipt.png",
        "orders.zip",
    ]
    assert umlauts["relations"] == [
        {"id": 1, "issue_id": 1, "issue_to_id": 3, "relation_type": "relates", "delay": None}
    ]
    assert not {"journals", "watchers"} & set(umlauts)


async def test_words_for_days_are_read_by_their_first_letters(
    redmine: Redmine, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = {"issue": {"project_id": 1, "subject": "New"}}
    assert (await redmine.answer("admin", "POST", "/issues.json", body)).status_code == 201
    made = (await redmine.told("admin", "/issues/141.json"))["issue"]["created_on"]
    # It is still the same day, although midnight may have passed since then.
    monkeypatch.setattr("dogubako_sandbox.redmine.filters.today", lambda: date.fromisoformat(made[:10]))

    # `t` is today, `y` this year.
    assert ids(await redmine.told("admin", "/issues.json?created_on=today")) == [141]
    assert 141 in ids(await redmine.told("admin", "/issues.json?created_on=yesterday"))


async def test_filters_that_are_too_long_to_be_remembered_break_the_list(redmine: Redmine) -> None:
    def numbers(count: int) -> str:
        return f"/issues.json?limit=1&status_id=*&issue_id={'1,' * count}1"

    assert (await redmine.answer("admin", "GET", numbers(900))).status_code == 200
    assert (await redmine.answer("admin", "GET", numbers(1100))).status_code == 500
