"""Two callers of one server: sums, activity, charts and previews of one never reach the other."""

import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.doors.asgi import Client, Visit
from tests.redmine_contract.place import Place
from tests.redmine_contract.seeded import ISSUES
from tests.redmine_contract.test_callers import call, callers_box, own, served

pytestmark = pytest.mark.anyio

PRIVATE = ISSUES["private"]
_SPAN = {"project_id": "webshop", "from": "2026-01-01", "limit": 100}


@pytest.fixture
async def with_own_keys(place: Place, tmp_path: Path) -> AsyncIterator[Client]:
    place.touched = True
    box = callers_box(place, tmp_path, REDMINE_CREDENTIALS="own", REDMINE_CREDENTIAL_HEADER="X-Redmine-API-Key")
    async with served(box) as client:
        yield client


async def text(client: Client, login: str, tool: str, **arguments: Any) -> str:
    visit = await call(client, tool, own(login), **arguments)
    assert visit.status == 200, visit.body
    return str(visit.json["result"])


async def count(client: Client, login: str) -> str:
    found = re.search(r'issues="(\d+)"', await text(client, login, "report_issues", project_id="webshop"))
    assert found is not None
    return found[1]


async def test_each_caller_has_the_sums_of_what_it_may_see(with_own_keys: Client) -> None:
    sums = [await count(with_own_keys, login) for login in ("manager", "outsider", "manager", "outsider")]

    assert sums[0] == sums[2]
    assert sums[1] == sums[3]
    assert int(sums[0]) > int(sums[1])


async def test_each_caller_is_told_of_the_activity_that_it_may_see(with_own_keys: Client) -> None:
    told = [await text(with_own_keys, login, "list_activity", **_SPAN) for login in ("manager", "outsider", "manager")]

    assert f'<issue id="{PRIVATE}">' in told[0]
    assert f'<issue id="{PRIVATE}">' not in told[1]
    assert told[0] == told[2]


async def test_each_caller_sees_its_own_issues_in_a_chart(with_own_keys: Client) -> None:
    arguments: dict[str, Any] = {"chart": "workload", "project_id": "webshop", "picture": False}
    shown = [
        await text(with_own_keys, login, "draw_chart", **arguments) for login in ("manager", "outsider", "manager")
    ]

    assert shown[0] == shown[2] != shown[1]


async def test_the_preview_of_one_caller_is_of_no_use_to_another(with_own_keys: Client) -> None:
    arguments: dict[str, Any] = {"ids": [1], "changes": {"notes": "From the one who saw it"}}
    found = re.search(r"<preview>(.*?)</preview>", await text(with_own_keys, "manager", "update_issues", **arguments))
    assert found is not None
    write = {**arguments, "dry_run": False, "preview": found[1]}

    refused = await call(with_own_keys, "update_issues", own("dev"), **write)
    done = await call(with_own_keys, "update_issues", own("manager"), **write)
    again = await call(with_own_keys, "update_issues", own("manager"), **write)

    assert (refused.status, refused.json["code"]) == (409, "CONFLICT")
    assert done.status == 200, done.body
    assert (again.status, again.json["code"]) == (409, "CONFLICT")


async def test_of_two_callers_at_once_one_writes_and_the_other_is_told(with_own_keys: Client) -> None:
    """Both have seen the same issues; the server lets one write after the other."""
    writes: dict[str, dict[str, Any]] = {}
    for login in ("manager", "dev"):
        arguments: dict[str, Any] = {"ids": [1, 2, 3], "changes": {"notes": f"By {login}"}}
        shown = await text(with_own_keys, login, "update_issues", **arguments)
        token = re.search(r"<preview>(.*?)</preview>", shown)
        assert token is not None, shown
        writes[login] = {**arguments, "dry_run": False, "preview": token[1]}
    visits: list[Visit] = []

    async def write(login: str) -> None:
        visits.append(await call(with_own_keys, "update_issues", own(login), **writes[login]))

    async with anyio.create_task_group() as group:
        group.start_soon(write, "manager")
        group.start_soon(write, "dev")

    done, refused = sorted(visits, key=lambda visit: visit.status)
    assert done.status == 200, done.body
    assert "3 of 3 issues were changed" in done.json["result"]
    assert "somebody else has changed them since the preview" in refused.json["error"]


async def test_a_bulk_change_cannot_name_what_its_caller_may_not_see(with_own_keys: Client) -> None:
    refused = await call(
        with_own_keys, "update_issues", own("outsider"), ids=[1, PRIVATE], changes={"notes": "Guessed"}
    )

    assert refused.json["code"] == "VALIDATION_ERROR"
    assert "do not exist, or are hidden" in refused.json["error"]
