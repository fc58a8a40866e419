"""Custom fields: by name, with labels for values, as filters, and learned by those who are not told of them."""

from pathlib import Path
from typing import Any

import httpx2
import pytest

from .wired import bench


def _set(name: str, value: Any) -> dict[str, Any]:
    return {"custom_fields": [{"name": name, "value": value}]}


@pytest.mark.parametrize(
    ("field", "value", "sent"),
    [
        pytest.param("Customer", "ACME", {"id": 2, "value": "ACME"}, id="text"),
        pytest.param("story points", 5, {"id": 8, "value": "5"}, id="number"),
        pytest.param("Cost factor", 1.5, {"id": 9, "value": "1.5"}, id="fraction"),
        pytest.param("Regression", True, {"id": 10, "value": "1"}, id="yes"),
        pytest.param("Regression", "no", {"id": 10, "value": "0"}, id="no, as a label"),
        pytest.param("Severity", "minor", {"id": 13, "value": "3"}, id="label of a value"),
        pytest.param("Severity", "3", {"id": 13, "value": "3"}, id="value itself"),
        pytest.param("Affected areas", ["Cart", "Shipping"], {"id": 4, "value": ["Cart", "Shipping"]}, id="several"),
        pytest.param("Reviewer", "kim1", {"id": 5, "value": "10"}, id="user by login"),
        pytest.param("Testers", ["kim2", "Déva Roy"], {"id": 6, "value": ["11", "6"]}, id="several users"),
        pytest.param("Found in", "2.0", {"id": 12, "value": "2"}, id="version by name"),
        pytest.param("Customer", None, {"id": 2, "value": ""}, id="emptied"),
        pytest.param("Reviewer", None, {"id": 5, "value": ""}, id="emptied user"),
    ],
)
async def test_a_value_is_sent_as_redmine_keeps_it(
    field: str, value: Any, sent: dict[str, Any], tmp_path: Path
) -> None:
    async with bench(tmp_path) as on:
        await on.call("update_issue", id=1, **_set(field, value))

    assert on.wire.body("PUT") == {"issue": {"custom_fields": [sent]}}


@pytest.mark.parametrize(
    ("tool", "arguments", "reason"),
    [
        pytest.param("update_issue", {"id": 1, **_set("Colour", "red")}, "no such custom field", id="unknown"),
        pytest.param("update_issue", {"id": 1, **_set("Badge", "red")}, "no such custom field", id="field of users"),
        pytest.param("update_issue", {"id": 7, **_set("Ref", "A-1")}, "no such custom field", id="of other trackers"),
        pytest.param("update_issue", {"id": 1, **_set("Browser", ["A", "B"])}, "one value only", id="several values"),
        pytest.param("update_issue", {"id": 1, **_set("Reviewer", "Kim Lee")}, "several of this name", id="two users"),
        pytest.param("update_issue", {"id": 1, **_set("Found in", "9.9")}, "no such version", id="unknown version"),
        pytest.param(
            "create_version", {"project_id": 1, "name": "3", **_set("Customer", "x")}, "no such", id="version"
        ),
    ],
)
async def test_a_field_or_value_that_cannot_be_is_refused_before_anything_is_written(
    tool: str, arguments: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    async with bench(tmp_path) as on:
        message, _ = await on.refusal(tool, **arguments)

    assert message.startswith("Invalid value for parameter custom_fields: ")
    assert reason in message
    assert on.wire.writes() == []


async def test_a_field_of_the_new_tracker_may_be_set_together_with_it(tmp_path: Path) -> None:
    async with bench(tmp_path, "manager") as on:
        changed = await on.data("update_issue", id=7, tracker_id="Bug", **_set("Ref", "WS-9"))

    assert changed["issue"]["custom_fields"] == [{"id": 16, "name": "Ref", "value": "WS-9"}]


async def test_a_value_that_another_tracker_takes_away_is_told(tmp_path: Path) -> None:
    async with bench(tmp_path, "manager") as on:
        changed = await on.data("update_issue", id=1, tracker_id="Support")

    assert {"field": "custom_fields[16] Ref", "from": "WS-1", "to": None} in changed["issue"]["also_changed"]


async def test_one_who_is_no_administrator_learns_fields_from_issues(tmp_path: Path) -> None:
    async with bench(tmp_path, "dev") as on:
        found = await on.data("list_custom_fields", project_id="webshop")

    names = {field["name"] for field in found["custom_fields"]}
    assert {"Customer", "Severity", "Ref"} <= names
    assert "Contract value" not in names, "only managers may see it"
    assert on.wire.asked() == ["GET /projects", "GET /issues"]


async def test_a_hidden_field_is_refused_like_an_unknown_one(tmp_path: Path) -> None:
    async with bench(tmp_path, "dev") as on:
        hidden = await on.refusal("update_issue", id=1, **_set("Contract value", "1 EUR"))
        by_id = await on.refusal("update_issue", id=1, custom_fields=[{"id": 15, "value": "1 EUR"}])
        unknown = await on.refusal("update_issue", id=1, **_set("Colour", "red"))

    assert hidden == by_id == unknown


@pytest.mark.parametrize(
    ("user", "value", "sent"),
    [
        pytest.param("admin", ("Browser", "Safari"), {"cf_3": "Safari"}, id="one value"),
        pytest.param("dev", ("Browser", ["Safari", "Chrome"]), {"cf_3": "Safari|Chrome"}, id="one of two"),
        pytest.param("admin", ("Severity", "Critical"), {"cf_13": "1"}, id="label"),
        pytest.param("admin", ("Reviewer", "kim1"), {"cf_5": "10"}, id="user"),
        pytest.param("admin", ("Story points", [5, 8]), {"cf_8": "5,8"}, id="one of two numbers"),
        pytest.param("dev", ("Story points", 5), {"cf_8": "5"}, id="number"),
        pytest.param("dev", ("Reviewer", 10), {"cf_5": "10"}, id="user by id"),
        pytest.param("dev", ("Reviewer", "kim1"), {"cf_5": "10"}, id="user by login, for everybody"),
        pytest.param("dev", ("Severity", "critical"), {"cf_13": "1"}, id="label, for everybody"),
        pytest.param("dev", ("Severity", "!Critical"), {"cf_13": "!1"}, id="all but a label"),
        pytest.param("dev", ("Regression", "はい"), {"cf_10": "1"}, id="yes in another language"),
        pytest.param("dev", ("Story points", [5, 8]), {"cf_8": "5,8"}, id="two numbers, for everybody"),
        pytest.param("dev", ("Story points", ">=5"), {"cf_8": ">=5"}, id="at least a number"),
        pytest.param("dev", ("Story points", "1..5"), {"cf_8": "><1|5"}, id="between two numbers"),
        pytest.param("dev", ("Promised on", "2029/12/01..2029/12/31"), {"cf_7": "><2029-12-01|2029-12-31"}, id="days"),
        pytest.param("dev", ("Promised on", "tomorrow"), {"cf_7": "nd"}, id="word for a day"),
        pytest.param("dev", ("Customer", "!ACME"), {"cf_2": "=!ACME"}, id="text that begins like an operator"),
        pytest.param("dev", ("Browser", "*"), {"cf_3": "*"}, id="any value"),
        pytest.param("admin", ("Customer", None), {"cf_2": "!*"}, id="empty"),
        pytest.param("admin", ("Affected areas", []), {"cf_4": "!*"}, id="empty list"),
        pytest.param("admin", ("Customer", "*star*"), {"cf_2": "=*star*"}, id="value that begins like an operator"),
        pytest.param("admin", ("Promised on", "2029-12-31"), {"cf_7": "2029-12-31"}, id="day"),
        pytest.param("dev", ("Customer", "test"), {"cf_2": "test"}, id="text that begins like an operator of dates"),
    ],
)
async def test_a_filter_by_a_custom_field_arrives_as_it_is_meant(
    user: str, value: tuple[str, Any], sent: dict[str, str], tmp_path: Path
) -> None:
    async with bench(tmp_path, user) as on:
        await on.call("list_issues", limit=1, **_set(*value))

    query = on.wire.query("/issues")
    assert {key: query[key] for key in query if key.startswith("cf_")} == sent


@pytest.mark.parametrize(
    ("user", "value"),
    [
        pytest.param("admin", ("Customer", "a|b"), id="or"),
        pytest.param("admin", ("Customer", "a\n*"), id="operator in the second line"),
        pytest.param("admin", ("Steps to reproduce", "=x"), id="operator that long texts do not have"),
        pytest.param("admin", ("Cost factor", ["1.5", "2"]), id="two fractions, of which Redmine takes the first"),
        pytest.param("admin", ("Promised on", "tomato"), id="word that Redmine takes for today"),
        pytest.param("dev", ("Story points", "many"), id="word for a number"),
        pytest.param("admin", ("Severity", "Critcal"), id="label that is none"),
        pytest.param("admin", ("Regression", "perhaps"), id="neither yes nor no"),
        pytest.param("admin", ("Reviewer", "nobody at all"), id="unknown user"),
        pytest.param("dev", ("Severity", "Critcal"), id="label that is none, for everybody"),
        pytest.param("dev", ("Contract value", "1 EUR"), id="hidden field"),
        pytest.param("admin", ("Badge", "D-17"), id="field of users"),
    ],
)
async def test_a_filter_that_redmine_would_misread_is_refused(
    user: str, value: tuple[str, Any], tmp_path: Path
) -> None:
    async with bench(tmp_path, user) as on:
        result = await on.call("list_issues", **_set(*value))

    assert result.code == "VALIDATION_ERROR"
    assert not any("offset" in request.url.params for request in on.wire.requests if request.url.path == "/issues.json")


@pytest.mark.parametrize("user", ["admin", "dev"])
async def test_a_field_that_is_no_filter_is_found_out(user: str, tmp_path: Path) -> None:
    """Redmine would answer with all issues. Who cannot see the field's settings has to try."""
    async with bench(tmp_path, user) as on:
        on.wire.store["custom_fields"].at(2)["is_filter"] = False
        message, hint = await on.refusal("list_issues", **_set("Customer", "ACME"))

    assert message == "Invalid value for parameter custom_fields: Redmine cannot filter by this custom field"
    assert hint == "An administrator can allow it in the field's settings (Used as a filter)."


@pytest.mark.parametrize(
    ("user", "column"),
    [
        pytest.param("admin", "cf_999", id="unknown field"),
        pytest.param("admin", "cf_19", id="field of users"),
        pytest.param("admin", "cf_4", id="several values"),
        pytest.param("admin", "cf_14", id="files"),
        pytest.param("dev", "cf_6:desc", id="several values, as learned from issues"),
        pytest.param("dev", "cf_15", id="hidden field"),
    ],
)
async def test_a_field_that_redmine_cannot_sort_by_is_refused(user: str, column: str, tmp_path: Path) -> None:
    async with bench(tmp_path, user) as on:
        result = await on.call("list_issues", sort=f"id,{column}")

    assert result.code == "VALIDATION_ERROR"
    assert not any(column in request.url.params.get("sort", "") for request in on.wire.requests)


async def test_a_field_that_appeared_a_moment_ago_is_learned(tmp_path: Path) -> None:
    def answers(request: httpx2.Request) -> httpx2.Response | None:
        if request.url.path != "/issues.json" or request.url.params.get("limit") != "100":
            return None
        fields = [{"id": 30 + number, "name": f"Field {number}", "value": ""} for number in range(seen)]
        rows = [{"id": 1, "tracker": {"id": 1, "name": "Bug"}, "custom_fields": fields}]
        return httpx2.Response(200, json={"issues": rows, "total_count": 1})

    seen = 1
    async with bench(tmp_path, "dev", answers) as on:
        await on.refusal("list_issues", fields=["Field 1"], limit=1)
        seen = 2
        await on.data("list_issues", fields=["Field 1"], limit=1)
