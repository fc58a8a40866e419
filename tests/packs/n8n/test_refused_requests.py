"""A request that a service refused because of a field that it did not get: who left it out."""

import json
from typing import Any

import pytest

from dogubako.packs.n8n.diagnosis.report import Diagnosis

from .made import JsonObject, as_read, cause_told, failed_run, items, made, node, run

MESSAGE = "Your request is invalid or could not be processed by the service"
WHOLE = "={{ JSON.stringify($json) }}"


def diagnosed(answer: Any, sent: JsonObject, body: str = WHOLE, code: str = "422") -> JsonObject:
    """The diagnosis of a request 'Send' after a Set node 'Form', whose item is what was sent."""
    form = node("Form", type="n8n-nodes-base.set", parameters={"assignments": {"assignments": []}})
    send = node("Send", type="n8n-nodes-base.httpRequest", parameters={"sendBody": True, "jsonBody": body})
    told = f"{code} - {json.dumps(json.dumps(answer))}"
    failed = failed_run(
        MESSAGE, after="Form", httpCode=code, messages=[told], description=told, context={"request": {"body": sent}}
    )
    runs = {
        "Card": [run(items({"born": "1980-01-02"}))],
        "Form": [run(items({"birthday": "1980-01-02"}), after="Card")],
        "Send": [failed],
    }
    return Diagnosis(as_read(made(runs, form, send))).report()


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param({"errors": {"birthdate": ["is required"]}}, id="by field"),
        pytest.param({"errors": [{"field": "birthdate", "message": "must be given"}]}, id="a list"),
        pytest.param({"detail": [{"loc": ["body", "birthdate"], "msg": "Field required"}]}, id="with a location"),
        pytest.param({"errors": [{"source": {"pointer": "/data/birthdate"}}]}, id="with a pointer"),
        pytest.param({"message": "birthdate is required"}, id="a sentence"),
        pytest.param("Missing required parameter: 'birthdate'", id="a text"),
    ],
)
def test_the_maker_of_an_item_that_is_sent_as_it_is_left_the_field_out(answer: Any) -> None:
    report = diagnosed(answer, {"birthday": "1980-01-02"})

    assert cause_told(report)["nodeName"] == "Form"
    assert "no birthdate, which the service asks for" in report["explanation"]
    assert "there is birthday" in report["explanation"]


def test_a_request_with_a_body_of_its_own_left_the_field_out_itself() -> None:
    report = diagnosed({"errors": {"birthdate": ["is required"]}}, {"day": "x"}, '={ "day": "{{ $json.birthday }}" }')

    assert cause_told(report)["nodeName"] == "Send"
    assert "does not send birthdate" in report["explanation"]


@pytest.mark.parametrize(
    ("answer", "sent"),
    [
        pytest.param({"errors": {"birthday": ["is too old"]}}, {"birthday": "1980-01-02"}, id="sent, and not accepted"),
        pytest.param({"errors": {"a": ["is required"], "b": ["is required"]}}, {"birthday": "x"}, id="several"),
        pytest.param({"error": "quota"}, {"birthday": "x"}, id="another reason"),
    ],
)
def test_otherwise_only_the_refusal_is_told(answer: Any, sent: JsonObject) -> None:
    report = diagnosed(answer, sent)

    assert "asks for" not in report["explanation"]
    assert "HTTP 422" in report["explanation"]


def test_a_body_that_happens_to_be_like_the_item_is_still_its_own() -> None:
    body = '={ "birthday": "{{ $json.birthday }}" }'
    report = diagnosed({"errors": {"birthdate": ["is required"]}}, {"birthday": "1980-01-02"}, body)

    assert cause_told(report)["nodeName"] == "Send"
