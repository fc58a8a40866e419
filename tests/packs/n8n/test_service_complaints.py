"""A service that says which field it does not take: what was sent as that field, and who made it."""

import json
from typing import Any

import pytest

from dogubako.packs.n8n.diagnosis.report import Diagnosis

from .made import JsonObject, as_read, cause_told, failed_run, items, made, node, run

MESSAGE = "Bad request - please check your parameters"
NUMBER = {"message": "amount must be a number", "path": ["amount"]}
BODY = "={{ { nick: $json.nick, amount: $json.sum } }}"


def diagnosed(
    answer: Any, *, body: str = BODY, bills: Any = None, sent: Any = None, code: str = "400", **settings: Any
) -> JsonObject:
    """The diagnosis of a refused request 'Book' after 'Bills', for the second of two items."""
    data = bills or [{"nick": "al", "sum": 5}, {"nick": None, "sum": "7,00"}]
    book = node("Book", type="n8n-nodes-base.httpRequest", parameters={"jsonBody": body, **settings})
    told = f"{code} - {json.dumps(json.dumps(answer))}"
    context = {"itemIndex": 1, "request": {"body": sent or {"nick": None, "amount": "7,00"}}}
    failed = failed_run(MESSAGE, after="Bills", httpCode=code, messages=[told], context=context)
    runs = {"Start": [run(items({}))], "Bills": [run(items(*data), after="Start")], "Book": [failed]}
    return Diagnosis(as_read(made(runs, book))).report()


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(NUMBER, id="a path"),
        pytest.param({"errors": [{"field": "amount", "code": "invalid"}]}, id="a list of fields"),
        pytest.param({"errors": {"amount": ["invalid"]}}, id="by field"),
        pytest.param({"error": {"code": 400, "message": "Bad: amount is not a number"}}, id="a sentence"),
        pytest.param({"message": "Invalid value for 'amount'"}, id="another sentence"),
    ],
)
def test_the_value_of_the_field_is_traced_and_another_hole_is_not_blamed(answer: Any) -> None:
    report = diagnosed(answer)

    assert cause_told(report)["nodeName"] == "Bills"
    assert cause_told(report)["itemIndex"] == 1
    assert 'sum is "7,00" (string), which is sent as amount' in report["explanation"]
    assert "nick" not in cause_told(report)["problem"]
    assert "origin" not in report


def test_a_field_of_another_name_that_is_not_there_is_found() -> None:
    report = diagnosed(NUMBER, bills=[{"sum": 5}, {"Sum": 7}], sent={"nick": None})

    assert "item 1 of it has no sum; item 0 has one" in report["explanation"]


def test_a_row_of_the_body_is_found() -> None:
    rows = {"parameters": [{"name": "amount", "value": "={{ $json.sum }}"}]}
    report = diagnosed(NUMBER, body="", bodyParameters=rows)

    assert 'sum is "7,00"' in report["explanation"]


def test_a_value_that_the_request_makes_itself_is_told_as_it_was_sent() -> None:
    report = diagnosed(NUMBER, body="={{ { amount: $json.sum + $json.nick } }}", sent={"amount": "7,00null"})

    assert cause_told(report)["nodeName"] == "Book"
    made = """made from sum, which is "7,00" (string), from 'Bills' and nick, which is null (null), from 'Bills'"""
    assert f'it sends amount as "7,00null" (string), {made}' in report["explanation"]


def test_a_value_that_is_made_of_something_missing_says_so() -> None:
    report = diagnosed(NUMBER, body="={{ { amount: $json.sum + $json.tax } }}", sent={"amount": None})

    assert "tax, which is undefined" in report["explanation"]


def test_an_element_that_a_list_does_not_have_is_told() -> None:
    report = diagnosed(NUMBER, body="={{ { amount: $json.sums[2] } }}", bills=[{"sums": [1]}, {"sums": [1, 2]}])

    assert "it reads index 2 of sums, a list of 2" in report["explanation"]


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        pytest.param({"status": 400, "error": "Bad Request", "path": "/api/amount"}, "400", id="the address"),
        pytest.param({"error": "quota of amount"}, "400", id="only a word"),
        pytest.param({"error": "amount is above the limit of requests"}, "429", id="another status"),
    ],
)
def test_nothing_is_blamed_where_the_answer_does_not_name_a_field(answer: Any, code: str) -> None:
    report = diagnosed(answer, code=code)

    assert cause_told(report)["nodeName"] == "Book"
    assert "complains about" not in report["explanation"]


def test_two_fields_are_told_as_they_were_sent() -> None:
    report = diagnosed({"errors": {"amount": ["x"], "nick": ["y"]}})

    assert cause_told(report)["nodeName"] == "Book"
    assert 'amount as "7,00" (string) and nick as null (null)' in report["explanation"]


def test_a_value_that_exists_already_is_told() -> None:
    report = diagnosed({"message": "amount already exists"}, code="409")

    assert cause_told(report)["nodeName"] == "Book"
    assert """it sends amount as "7,00" (string), from 'Bills'""" in report["explanation"]


def test_a_hole_is_not_blamed_for_a_word_before_it() -> None:
    """The answer names `bill`, the service's word for the whole, and not the note of the bill."""
    body = "={{ { note: $json.bill.note } }}"
    report = diagnosed({"message": "cannot store this bill"}, body=body, bills=[{"bill": {}}, {"bill": {}}], sent={})

    assert "note" not in report["explanation"]


def test_a_form_that_lacks_a_field_is_told() -> None:
    book = node("Book", type="n8n-nodes-base.httpRequest", parameters={"contentType": "form-urlencoded"})
    told = '400 - "{\\"error_description\\": \\"grant_type is missing\\"}"'
    context = {"itemIndex": 0, "request": {"form": {"granttype": "x"}}}
    failed = failed_run(MESSAGE, after="Bills", httpCode="400", messages=[told], context=context)
    runs = {"Bills": [run(items({"grant": "x"}))], "Book": [failed]}
    report = Diagnosis(as_read(made(runs, book))).report()

    assert "it does not send grant_type, which the service asks for; there is granttype" in report["explanation"]


def test_an_empty_token_explains_a_refused_login() -> None:
    rows = {"parameters": [{"name": "Authorization", "value": "=Bearer {{ $json.token }}"}]}
    bills = [{"token": "a"}, {"token": ""}]
    report = diagnosed({"error": "invalid"}, code="401", bills=bills, body="", headerParameters=rows)

    assert cause_told(report)["nodeName"] == "Bills"
    assert "token is" in report["explanation"]
