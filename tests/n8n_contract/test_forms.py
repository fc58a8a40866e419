"""A form is filled in as its page would send it."""

from typing import Any, Final
from uuid import uuid4

from dogubako_sandbox.n8n.workflow_parts import JsonObject
from tests.n8n_contract.one_sided import only_where_there_is
from tests.n8n_contract.place import Place
from tests.n8n_contract.test_triggers import got, trigger, workflow_of

OPTIONS: Final = {"values": [{"option": "p"}, {"option": "q"}, {"option": "r"}]}


async def form(place: Place, *rows: JsonObject, version: float = 2.5, **parameters: Any) -> str:
    fields = {"formTitle": "T", "formFields": {"values": list(rows)}, "options": {}}
    return await workflow_of(place, trigger("Form", "formTrigger", version, **fields, **parameters))


async def filled(place: Place, workflow_id: str, data: JsonObject, **more: Any) -> JsonObject:
    return await got(place, await place.call("run_workflow", id=workflow_id, data=data, **more))


@only_where_there_is("any-trigger")
async def test_a_field_with_a_name_of_its_own_is_found_by_label_and_by_name(place: Place) -> None:
    named = await form(place, {"fieldLabel": "My name", "fieldName": "name"}, {"fieldLabel": "Age"})
    older = await form(place, {"fieldLabel": "My name", "fieldName": "name"}, version=2.2)

    twice = await place.refused("run_workflow", id=named, data={"My name": "x", "name": "y"})
    unknown = await place.refused("run_workflow", id=named, data={"Name": "x"})

    assert (await filled(place, named, {"My name": " x "}))["name"] == "x"
    assert (await filled(place, named, {"name": "y"}))["name"] == "y"
    assert (await filled(place, older, {"My name": "z"}))["My name"] == "z"
    assert "has two values" in twice.message
    assert "the form's fields are My name (name), Age" in unknown.message


@only_where_there_is("any-trigger")
async def test_a_form_of_the_first_version_has_the_address_of_a_webhook(place: Place) -> None:
    workflow_id = await form(place, {"fieldLabel": "Ad"}, version=1, path=uuid4().hex)

    assert (await filled(place, workflow_id, {"Ad": "A"}))["Ad"] == "A"


@only_where_there_is("any-trigger")
async def test_what_is_chosen_is_sent_as_the_page_sends_it(place: Place) -> None:
    rows: list[JsonObject] = [
        {"fieldLabel": kind, "fieldType": kind, "fieldOptions": OPTIONS} for kind in ("radio", "checkbox")
    ]
    several = {"fieldLabel": "many", "fieldType": "dropdown", "multiselect": True, "fieldOptions": OPTIONS}
    workflow_id = await form(place, *rows, several, version=2.2)
    newer = await form(place, several, version=2.3)

    texts = await filled(place, workflow_id, {"radio": "q", "checkbox": "p", "many": "r"})
    lists = await filled(place, workflow_id, {"radio": ["q"], "checkbox": ["p", "r"], "many": ["r", "q"]})
    nothing = await filled(place, workflow_id, {"radio": None, "checkbox": []})
    one = await filled(place, newer, {"many": "q"})
    unknown = await place.refused("run_workflow", id=workflow_id, data={"radio": "z"})
    too_many = await place.refused("run_workflow", id=workflow_id, data={"radio": ["p", "q"]})

    assert (texts["radio"], texts["checkbox"], texts["many"]) == ("q", ["p"], ["r"])
    assert (lists["radio"], lists["checkbox"], lists["many"]) == ("q", ["p", "r"], ["r", "q"])
    assert (nothing.get("radio"), nothing["checkbox"], nothing["many"]) == (None, [], [])
    assert one["many"] == "q"
    assert "'radio' may be p, q, r" in unknown.message
    assert "takes 1 of them at most" in too_many.message


@only_where_there_is("any-trigger")
async def test_what_nobody_fills_in_has_the_value_of_the_page(place: Place) -> None:
    hidden: JsonObject = {"fieldType": "hiddenField", "fieldName": "hid", "fieldValue": "h"}
    rows: list[JsonObject] = [
        {"fieldLabel": "A", "defaultValue": "D"},
        {"fieldLabel": "R", "fieldType": "radio", "fieldOptions": OPTIONS, "defaultValue": "q"},
        {"fieldLabel": "C", "fieldType": "checkbox", "fieldOptions": OPTIONS, "defaultValue": "p, r"},
        {"fieldLabel": "Empty"},
        {"fieldType": "html", "html": "<b>x</b>"},
        {"fieldType": "html", "html": "<b>y</b>", "elementName": "shown"},
    ]
    for version in (2.2, 2.5):
        workflow_id = await form(place, hidden, *rows, version=version)

        left = await filled(place, workflow_id, {})
        given = await filled(place, workflow_id, {"hid": "mine", "A": ""}, query={"Empty": "asked"})

        assert (left["hid"], left["A"], left["R"], left["C"]) == ("h", "D", "q", ["p", "r"])
        assert (left["Empty"], left["shown"], "" in left) == ("", "<b>y</b>", False)
        assert (given["hid"], given["A"], given["Empty"]) == ("mine", "", "asked")

    computed = await form(place, {**hidden, "fieldValue": "={{ 1 + 1 }}"})
    unknown = await place.refused("run_workflow", id=computed)
    assert "only n8n knows the value of 'hid'" in unknown.message
    assert (await filled(place, computed, {"hid": "2"}))["hid"] == "2"


@only_where_there_is("any-trigger")
async def test_of_two_fields_with_one_label_none_is_taken_by_chance(place: Place) -> None:
    named = await form(place, {"fieldLabel": "Dup", "fieldName": "d1"}, {"fieldLabel": "Dup", "fieldName": "d2"})
    unnamed = await form(place, {"fieldLabel": "Dup"}, {"fieldLabel": "Dup"}, {"fieldLabel": "A"}, version=2.2)

    which = await place.refused("run_workflow", id=named, data={"Dup": "x"})
    alike = await place.refused("run_workflow", id=unnamed, data={"Dup": "x"})
    received = await filled(place, named, {"d2": "x"})

    assert "2 fields are called 'Dup'. Give d1 or d2" in which.message
    assert "Only other labels can tell them apart" in alike.message
    assert (received["d1"], received["d2"]) == ("", "x")
    assert (await filled(place, unnamed, {"A": "x"}))["A"] == "x"


@only_where_there_is("any-trigger")
async def test_the_text_of_a_file_arrives_as_a_file(place: Place) -> None:
    upload = {"fieldLabel": "up", "fieldType": "file", "requiredField": True, "acceptFileTypes": ".csv, .json"}
    workflow_id = await form(place, upload, {"fieldLabel": "A"})

    missing = await place.refused("run_workflow", id=workflow_id, data={"A": "x"})
    wrong = await place.refused("run_workflow", id=workflow_id, data={"up": {"a": 1}})
    ran = await place.call("run_workflow", id=workflow_id, data={"up": "名前,n\nx,1", "A": "x"})

    assert "The form needs 'up'" in missing.message
    assert "'up' is a file: give its text" in wrong.message
    (file,) = (await got(place, ran))["up"]
    assert (file["filename"], file["mimetype"], file["size"]) == ("file.csv", "text/csv", 12)


@only_where_there_is("any-trigger")
async def test_what_the_page_would_not_send_is_refused(place: Place) -> None:
    limit = {"limitSelection": "exact", "numberOfSelections": 2}
    rows: list[JsonObject] = [
        {"fieldLabel": "Mail", "fieldType": "email"},
        {"fieldLabel": "Day", "fieldType": "date"},
        {"fieldLabel": "N", "fieldType": "number"},
        {"fieldLabel": "Two", "fieldType": "checkbox", "fieldOptions": OPTIONS, **limit},
    ]
    workflow_id = await form(place, *rows)
    right: JsonObject = {"Mail": "a@example.com", "Day": "2026-05-06", "N": 2.50, "Two": ["p", "q"]}

    refusals: dict[str, JsonObject] = {
        "'Mail' has to be an email address": {"Mail": "a"},
        "'Day' has to be a date as YYYY-MM-DD": {"Day": "06.05.2026"},
        "'N' has to be a number": {"N": True},
        "'Two' needs 2 of them at least": {"Two": "p"},
        "'Two' takes 2 of them at most": {"Two": ["p", "q", "r"]},
        "a form has a Content-Type of its own": {},
    }
    for told, wrong in refusals.items():
        headers = {} if wrong else {"content-type": "application/json"}
        error = await place.refused("run_workflow", id=workflow_id, data=right | wrong, headers=headers)
        assert told in error.message
    received = await filled(place, workflow_id, right)

    assert {name: received[name] for name in right} == right
