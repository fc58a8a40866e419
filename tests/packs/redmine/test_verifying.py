"""What was asked and what is so: nothing that happened is reported, and everything that did not."""

from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dogubako.packs.redmine.verification import also_changed, ignored, set_by_itself

JsonObject = dict[str, Any]


def _with_field(value: Any) -> JsonObject:
    return {"custom_fields": [{"id": 7, "name": "Areas", "value": value}]}


def _wanting(value: Any) -> JsonObject:
    return {"custom_fields": [{"id": 7, "value": value}]}


@pytest.mark.parametrize(
    ("asked", "record"),
    [
        pytest.param({"subject": "New"}, {"subject": "New"}, id="text"),
        pytest.param({"description": "a\nb"}, {"description": "a\r\nb"}, id="line ends of Redmine"),
        pytest.param({"description": "a\rb"}, {"description": "a\r\nb"}, id="line ends of old machines"),
        pytest.param({"subject": "  New \n"}, {"subject": "New"}, id="blanks around"),
        pytest.param({"description": ""}, {"description": None}, id="emptied text"),
        pytest.param({"description": " \n"}, {"description": ""}, id="nothing but blanks"),
        pytest.param({"description": ""}, {}, id="emptied text that is not shown any more"),
        pytest.param({"status_id": 2}, {"status": {"id": 2, "name": "In Progress"}}, id="reference"),
        pytest.param({"assigned_to_id": ""}, {}, id="unassigned"),
        pytest.param({"parent_issue_id": 3}, {"parent": {"id": 3}}, id="parent issue"),
        pytest.param({"parent_issue_id": ""}, {}, id="no parent issue"),
        pytest.param({"default_assigned_to_id": 6}, {"default_assignee": {"id": 6}}, id="default assignee"),
        pytest.param({"user_id": 12}, {"group": {"id": 12, "name": "Support Team"}}, id="group as member"),
        pytest.param({"hours": 1.234}, {"hours": 1.23}, id="hours, of which Redmine keeps two decimals"),
        pytest.param({"hours": 2}, {"hours": 2.0}, id="whole hours"),
        pytest.param({"estimated_hours": 0}, {"estimated_hours": 0.0}, id="zero is a number"),
        pytest.param({"done_ratio": 0}, {"done_ratio": 0}, id="nothing done"),
        pytest.param({"is_private": False}, {"is_private": False}, id="no"),
        pytest.param({"tracker_ids": [3, 1, 1]}, {"trackers": [{"id": 1}, {"id": 3}]}, id="list in other order"),
        pytest.param(
            {"role_ids": [5]}, {"roles": [{"id": 5}, {"id": 4, "inherited": True}]}, id="own role beside a group's"
        ),
        pytest.param({"role_ids": [5]}, {"roles": [{"id": 5, "inherited": True}]}, id="role that a group has given"),
        pytest.param(
            {"watcher_user_ids": [6]}, {"watchers": [{"id": 1}, {"id": 6}]}, id="others who watch by themselves"
        ),
        pytest.param(
            {"enabled_module_names": ["wiki", "news"]},
            {"enabled_modules": [{"id": 1, "name": "news"}, {"id": 2, "name": "wiki"}]},
            id="modules",
        ),
        pytest.param(
            {"parent_title": "release checklist: 2.0"},
            {"parent": {"title": "Release_checklist_20"}},
            id="title as Redmine writes it",
        ),
        pytest.param({"uploads": [{"token": "9.ab"}]}, {"attachments": [{"id": 9}]}, id="file"),
        pytest.param({"notes": "Hello", "password": "x", "private_notes": True}, {}, id="what is checked elsewhere"),
        pytest.param(_wanting("Cart"), _with_field("Cart"), id="custom field"),
        pytest.param(_wanting(5), _with_field("5"), id="custom field with a number"),
        pytest.param(_wanting(True), _with_field("1"), id="custom field with yes"),
        pytest.param(_wanting(["Cart", "Pay"]), _with_field(["Pay", "Cart"]), id="custom field in other order"),
        pytest.param(_wanting(["Cart", "Cart"]), _with_field(["Cart"]), id="custom field with a value twice"),
        pytest.param(_wanting(["Cart"]), _with_field("Cart"), id="custom field, a list of one"),
        pytest.param(_wanting(""), _with_field(None), id="emptied custom field"),
        pytest.param(_wanting([]), _with_field([]), id="emptied custom field with several values"),
        pytest.param(_wanting(""), {}, id="emptied custom field that the tracker does not have"),
        pytest.param(_wanting("a\nb"), _with_field("a\r\nb"), id="custom field with lines"),
    ],
)
def test_what_is_as_it_was_asked_for_is_never_reported(asked: JsonObject, record: JsonObject) -> None:
    assert ignored(asked, record) == []


@pytest.mark.parametrize(
    ("asked", "record", "reported"),
    [
        pytest.param({"subject": "New"}, {"subject": "Old"}, ["subject"], id="text"),
        pytest.param({"subject": "a  b"}, {"subject": "a b"}, ["subject"], id="blanks inside count"),
        pytest.param({"description": ""}, {"description": "Old"}, ["description"], id="text that was not emptied"),
        pytest.param({"status_id": 2}, {"status": {"id": 1}}, ["status_id"], id="reference"),
        pytest.param({"category_id": 2}, {}, ["category_id"], id="reference to nothing"),
        pytest.param({"assigned_to_id": ""}, {"assigned_to": {"id": 6}}, ["assigned_to_id"], id="still assigned"),
        pytest.param({"hours": 1.5}, {"hours": 1.0}, ["hours"], id="hours"),
        pytest.param({"done_ratio": 0}, {"done_ratio": 30}, ["done_ratio"], id="zero is not nothing"),
        pytest.param({"done_ratio": 0}, {}, ["done_ratio"], id="zero that is not there"),
        pytest.param({"is_private": True}, {"is_private": False}, ["is_private"], id="yes"),
        pytest.param({"tracker_ids": [1]}, {"trackers": [{"id": 1}, {"id": 2}]}, ["tracker_ids"], id="one too many"),
        pytest.param({"tracker_ids": [1, 2]}, {"trackers": [{"id": 1}]}, ["tracker_ids"], id="one too few"),
        pytest.param({"role_ids": [5]}, {"roles": [{"id": 5}, {"id": 4}]}, ["role_ids"], id="another own role"),
        pytest.param({"watcher_user_ids": [6]}, {"watchers": [{"id": 1}]}, ["watcher_user_ids"], id="does not watch"),
        pytest.param({"watcher_user_ids": [6]}, {}, ["watcher_user_ids"], id="watchers that cannot be seen"),
        pytest.param({"parent_title": "Start"}, {"parent": {"title": "Other"}}, ["parent_title"], id="title"),
        pytest.param({"parent_title": "Start"}, {}, ["parent_title"], id="no parent"),
        pytest.param({"uploads": [{"token": "9.ab"}]}, {"attachments": [{"id": 8}]}, ["uploads"], id="another file"),
        pytest.param(_wanting("Cart"), _with_field("Pay"), ["custom_fields[7]"], id="custom field"),
        pytest.param(_wanting("Cart"), {}, ["custom_fields[7]"], id="custom field that the tracker does not have"),
        pytest.param(_wanting(["Cart", "Pay"]), _with_field(["Cart"]), ["custom_fields[7]"], id="one of two values"),
        pytest.param(_wanting([]), _with_field(["Cart"]), ["custom_fields[7]"], id="custom field not emptied"),
    ],
)
def test_what_is_not_as_it_was_asked_for_is_always_reported(
    asked: JsonObject, record: JsonObject, reported: list[str]
) -> None:
    assert ignored(asked, record) == reported


_TEXTS = st.text(max_size=8)
_VALUES = _TEXTS | st.lists(_TEXTS, max_size=4) | st.integers(-9, 99) | st.booleans()
_IDS = st.integers(1, 50)


def _stored(text: str) -> str:
    return "\r\n".join(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"))


def _kept_by_redmine(value: Any, random: Random) -> Any:
    """A custom field's value as Redmine gives it back: texts, in any order."""
    if isinstance(value, list):
        return [_stored(one) for one in random.sample(value, len(value))]
    return _stored(str(int(value)) if isinstance(value, bool) else str(value))


@given(subject=_TEXTS, status=_IDS, ids=st.lists(_IDS), value=_VALUES, random=st.randoms(use_true_random=False))
def test_any_write_that_was_done_is_found_done(
    subject: str, status: int, ids: list[int], value: Any, random: Random
) -> None:
    asked = {"subject": subject, "status_id": status, "tracker_ids": ids, **_wanting(value)}
    rows = [{"id": id_} for id_ in random.sample(sorted(set(ids)), len(set(ids)))]
    record = {"subject": _stored(subject), "status": {"id": status}, "trackers": rows}

    assert ignored(asked, record | _with_field(_kept_by_redmine(value, random))) == []


@given(old=_TEXTS, new=_TEXTS, one=_IDS, other=_IDS, value=_VALUES)
def test_any_write_that_was_not_done_is_found_out(old: str, new: str, one: int, other: int, value: Any) -> None:
    asked = {"subject": new, "status_id": one, **_wanting(["b", "c"])}
    reported = ignored(asked, {"subject": old, "status": {"id": other}} | _with_field(value))

    assert ("subject" in reported) == (_stored(old).strip() != _stored(new).strip())
    assert ("status_id" in reported) == (one != other)
    there = {_stored(one).strip() for one in value} - {""} if isinstance(value, list) else {value}
    assert ("custom_fields[7]" in reported) == (there != {"b", "c"})


_BEFORE: JsonObject = {
    "id": 1,
    "subject": "Old",
    "description": "x" * 500,
    "status": {"id": 1, "name": "New"},
    "assigned_to": {"id": 6, "name": "Déva Roy", "login": "dev"},
    "updated_on": "2026-09-01",
    "children": [{"id": 2}],
    "custom_fields": [{"id": 7, "name": "Areas", "value": ["Cart"]}, {"id": 8, "name": "Points", "value": "5"}],
}


@pytest.mark.parametrize(
    ("asked", "after", "told"),
    [
        pytest.param({"subject": "New"}, {"subject": "New"}, [], id="only what was asked for"),
        pytest.param(
            {"category_id": 2},
            {"assigned_to": {"id": 9, "name": "Mari Sato"}},
            [{"field": "assigned_to", "from": {"id": 6, "name": "Déva Roy"}, "to": {"id": 9, "name": "Mari Sato"}}],
            id="an assignee that came with something else",
        ),
        pytest.param({}, {"updated_on": "2026-10-01"}, [], id="what moves with every write"),
        pytest.param({}, {"description": "x" * 500 + "\r\n"}, [], id="line ends and blanks"),
        pytest.param(
            {},
            {"description": "short"},
            [{"field": "description", "from": "500 characters", "to": "short"}],
            id="of a long text only its size",
        ),
        pytest.param(
            {},
            {"children": []},
            [{"field": "children", "from": "1 entries", "to": "0 entries"}],
            id="of a list only its size",
        ),
        pytest.param(
            {"tracker_id": 3},
            {"custom_fields": [{"id": 7, "name": "Areas", "value": ["Cart"]}]},
            [{"field": "custom_fields[8] Points", "from": "5", "to": None}],
            id="a custom field that another tracker took away",
        ),
        pytest.param(
            {"custom_fields": [{"id": 8, "value": "6"}]},
            {"custom_fields": [{"id": 7, "name": "Areas", "value": []}, {"id": 8, "name": "Points", "value": "6"}]},
            [{"field": "custom_fields[7] Areas", "from": ["Cart"], "to": []}],
            id="another custom field than the one that was asked for",
        ),
        pytest.param(
            {"enabled_module_names": ["wiki"]}, {"enabled_modules": [{"id": 1, "name": "wiki"}]}, [], id="modules"
        ),
    ],
)
def test_what_changed_without_being_asked_for_is_told(
    asked: JsonObject, after: JsonObject, told: list[JsonObject]
) -> None:
    assert also_changed(asked, _BEFORE, {**_BEFORE, **after}) == told


def test_what_a_new_record_has_by_itself_is_told() -> None:
    record = {
        "subject": "New",
        "assigned_to": {"id": 6, "name": "Déva Roy"},
        "start_date": "2026-11-16",
        "parent": None,
    }

    assert set_by_itself({"subject": "New", "start_date": "2026-11-16"}, record) == [
        {"field": "assigned_to", "to": {"id": 6, "name": "Déva Roy"}}
    ]
