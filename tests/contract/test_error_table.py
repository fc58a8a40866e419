"""Every failure has a stable code, a status, advice, and a place in the tree."""

import inspect
import re
from collections.abc import Iterator

import pytest

from dogubako.contract import errors
from dogubako.contract.call import error_facts
from dogubako.contract.errors import (
    ApiError,
    ApiErrorContext,
    DogubakoError,
    HttpError,
    NotFoundError,
    NotFoundErrorContext,
    RateLimitError,
    ValidationError,
    ValidationErrorContext,
    WebSearchError,
)

# class, code, HTTP status, whether an agent should try again, log level
TABLE = [
    ("ToolNotFoundError", "TOOL_NOT_FOUND", 404, False, "warning"),
    ("ToolDisabledError", "TOOL_DISABLED", 403, False, "warning"),
    ("ValidationError", "VALIDATION_ERROR", 400, False, "warning"),
    ("ToolExecutionError", "TOOL_EXECUTION_ERROR", 500, False, "error"),
    ("ToolTimeoutError", "TIMEOUT", 408, True, "warning"),
    ("BusyError", "BUSY", 503, True, "warning"),
    ("CancelledError", "CANCELLED", 499, False, "warning"),
    ("ConfirmationRequiredError", "CONFIRMATION_REQUIRED", 400, False, "warning"),
    ("ReadOnlyError", "READ_ONLY", 403, False, "warning"),
    ("CapabilityRequiredError", "CAPABILITY_REQUIRED", 400, False, "warning"),
    ("AnswerTooLargeError", "ANSWER_TOO_LARGE", 500, False, "warning"),
    ("AuthenticationError", "AUTHENTICATION_ERROR", 401, False, "warning"),
    ("AuthorizationError", "AUTHORIZATION_ERROR", 403, False, "warning"),
    ("CredentialRequiredError", "CREDENTIAL_REQUIRED", 403, False, "warning"),
    ("RateLimitError", "RATE_LIMIT_EXCEEDED", 429, True, "warning"),
    ("ApiError", "API_ERROR", 502, False, "error"),
    ("NotFoundError", "NOT_FOUND", 404, False, "warning"),
    ("ConflictError", "CONFLICT", 409, False, "warning"),
    ("HttpError", "HTTP_ERROR", 502, True, "error"),
    ("HtmlParseError", "HTML_PARSE_ERROR", 502, False, "error"),
    ("JsonParseError", "JSON_PARSE_ERROR", 502, False, "error"),
    ("EmptyQuery", "EMPTY_QUERY", 400, False, "warning"),
    ("Timeout", "TIMEOUT", 408, True, "warning"),
    ("NoResults", "NO_RESULTS", 200, False, "info"),
    ("Blocked", "SEARCH_BLOCKED", 503, True, "warning"),
    ("UrlNotAllowed", "URL_NOT_ALLOWED", 403, False, "warning"),
    ("RouteNotFoundError", "ROUTE_NOT_FOUND", 404, False, "warning"),
    ("MethodNotAllowedError", "METHOD_NOT_ALLOWED", 405, False, "warning"),
    ("PayloadTooLargeError", "PAYLOAD_TOO_LARGE", 413, False, "warning"),
    ("UnsupportedMediaTypeError", "UNSUPPORTED_MEDIA_TYPE", 415, False, "warning"),
    ("GatewayLoopError", "GATEWAY_LOOP", 508, False, "warning"),
    ("InternalError", "INTERNAL_ERROR", 500, False, "error"),
]


def every_class(root: type[DogubakoError] = DogubakoError) -> Iterator[type[DogubakoError]]:
    for child in root.__subclasses__():
        # A pack or the gate may say more about an error; its code, what callers go by, is that of the class above.
        if child.__module__.startswith(("dogubako.packs.", "dogubako.gate.")):
            assert (child.code, child.http_status) == (root.code, root.http_status)
        elif child.__module__.startswith("dogubako."):
            yield child
        yield from every_class(child)


def made(name: str) -> DogubakoError:
    """One of each, with the least that its constructor wants."""
    if name == "ValidationError":
        return ValidationError.of("p", "Required parameter missing: p")
    error: DogubakoError = getattr(errors, name)("something")
    return error


@pytest.mark.parametrize(
    ("name", "code", "status", "retryable", "level"), [pytest.param(*row, id=row[0]) for row in TABLE]
)
def test_each_class_has_the_facts_of_the_table(name: str, code: str, status: int, retryable: bool, level: str) -> None:
    error = made(name)

    assert (error.code, error.http_status, error.retryable, error.log_level) == (code, status, retryable, level)
    assert error.is_error is (name != "NoResults")
    assert error.message


def test_the_table_has_every_class() -> None:
    named = {row[0] for row in TABLE} | {"WebSearchError"}

    assert {one.__name__ for one in every_class()} == named
    assert named <= set(errors.__all__)


def test_a_code_means_one_thing() -> None:
    codes = [row[1] for row in TABLE]

    assert {code for code in codes if codes.count(code) > 1} == {"TIMEOUT"}


def test_every_class_stands_in_the_tree_and_explains_itself() -> None:
    tree = re.findall(r"\w+", inspect.getdoc(errors) or "")

    for one in every_class():
        assert tree.count(one.__name__) == 1, f"{one.__name__} is not in the tree of contract/errors"
        assert one.__dict__.get("__doc__"), f"{one.__name__} has no sentence of its own"


@pytest.mark.parametrize(
    ("error", "transient", "retryable"),
    [
        pytest.param(ApiError("x", unreachable=True), True, True, id="no connection"),
        pytest.param(ApiError("x", status_code=502), True, True, id="502"),
        pytest.param(ApiError("x", status_code=503), True, True, id="503"),
        pytest.param(ApiError("x", status_code=504), True, True, id="504"),
        pytest.param(ApiError("x", status_code=429, retry_after=3), True, True, id="429 that says when"),
        pytest.param(ApiError("x", status_code=429), False, True, id="429 that does not"),
        pytest.param(ApiError("x", status_code=500), False, False, id="500"),
        pytest.param(ApiError("x", status_code=401), False, False, id="401 of a service"),
        pytest.param(HttpError("x", passing=True), True, True, id="a page that may come back"),
        pytest.param(HttpError("x"), False, True, id="a page that will not"),
        pytest.param(errors.Timeout(), True, True, id="a slow page"),
        pytest.param(errors.ToolTimeoutError("x"), True, True, id="a slow tool"),
        pytest.param(errors.Blocked(), False, True, id="a challenge is never repeated by us"),
        pytest.param(errors.BusyError("x"), False, True, id="no room is not made by waiting in line again"),
    ],
)
def test_only_passing_trouble_is_tried_again(error: DogubakoError, transient: bool, retryable: bool) -> None:
    assert (error.transient, error.retryable) == (transient, retryable)


def test_a_validation_error_names_every_field_and_no_value() -> None:
    error = ValidationError(
        [
            ValidationErrorContext(field="a", message="Required parameter missing: a"),
            ValidationErrorContext(field="b", message="Invalid type for parameter b: expected string"),
        ],
        hint="Look again.",
    )

    assert error.message == "Required parameter missing: a; Invalid type for parameter b: expected string"
    assert error.details == [
        {"field": "a", "message": "Required parameter missing: a"},
        {"field": "b", "message": "Invalid type for parameter b: expected string"},
    ]
    assert (error.log_fields, error.hint) == ({"fields": ["a", "b"]}, "Look again.")


def test_typed_contexts_are_for_the_log() -> None:
    looked = NotFoundErrorContext(operation="get", resource_type="workflow", resource_id="abc123")
    asked = ApiErrorContext(operation="update", status_code=400, error_details="name is missing")

    assert NotFoundError("Workflow 'abc123' not found", context=looked).log_fields["resource_id"] == "abc123"
    assert NotFoundError("x").log_fields == {}
    assert ApiError("x", status_code=400, context=asked).log_fields["error_details"] == "name is missing"
    assert ApiError("x").log_fields == {"status_code": None}
    assert HttpError("refused").log_fields == {"cause": "refused"}
    assert WebSearchError().log_fields == DogubakoError("x").log_fields == {}


def test_waiting_times_are_kept_where_somebody_gave_one() -> None:
    assert RateLimitError(retry_after=7).retry_after == 7
    assert HttpError("x", retry_after=2).retry_after == 2
    assert ApiError("x", status_code=429, retry_after=1.5).retry_after == 1.5
    assert DogubakoError("x").retry_after is None


def test_web_errors_have_the_sentence_of_the_design_unless_given_another() -> None:
    assert errors.EmptyQuery().message == "Query must not be empty."
    assert errors.Blocked().hint == "Use another provider, or wait before searching again."
    assert errors.Timeout("socket", message="The page took too long.").message == "The page took too long."


def test_a_wait_of_any_length_becomes_a_number_that_can_be_told() -> None:
    for error in (
        RateLimitError(retry_after=10**400),
        errors.BusyError("x", retry_after=10**400),
        ApiError("x", status_code=429, retry_after=10**400),
    ):
        assert error_facts(error)["retryAfter"] == 7 * 24 * 3600
