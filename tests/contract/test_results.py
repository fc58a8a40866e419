"""Calls on their way in, results on their way out, and the outputs in between."""

import pytest
from pydantic import ValidationError

from dogubako import Context, Effect
from dogubako.contract.call import error_facts
from dogubako.contract.conversation import RootsRequest
from dogubako.contract.errors import BusyError, DogubakoError, RateLimitError, ToolExecutionError
from dogubako.contract.errors import ValidationError as WrongArguments
from dogubako.contract.metadata import ToolSchemas
from dogubako.contract.pack import PackSettings, env_name, secrets_of, setting
from dogubako.tools import ExecutionOptions, ResourceTemplate, ToolCall, ToolMetadata, ToolResult

TEXT = ({"type": "text", "text": '{"success":true,"message":"Done","data":[1]}'},)


def test_is_error_is_said_also_when_it_is_false() -> None:
    assert ToolResult(content=TEXT).to_mcp() == {"content": list(TEXT), "isError": False}


def test_structured_content_is_there_only_where_it_was_promised() -> None:
    assert ToolResult(content=TEXT, structured={"a": 1}).to_mcp()["structuredContent"] == {"a": 1}
    assert ToolResult(content=TEXT, structured={}).to_mcp()["structuredContent"] == {}


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        pytest.param("json", {"success": True, "message": "Done", "data": [1]}, id="a JSON tool: its envelope"),
        pytest.param("text", TEXT[0]["text"], id="a text tool: its text"),
        pytest.param("blocks", list(TEXT), id="anything else: its blocks"),
    ],
)
def test_the_value_is_what_python_and_rest_callers_read(kind: str, expected: object) -> None:
    assert ToolResult(content=TEXT, kind=kind).value == expected  # type: ignore[arg-type]


def test_the_outcome_in_one_word() -> None:
    assert ToolResult(content=TEXT).code == "OK"
    assert ToolResult(content=(), pending={"a": RootsRequest()}).code == "INPUT_REQUIRED"
    assert ToolResult(content=TEXT, is_error=True, error=BusyError("x")).code == "BUSY"


def test_a_failure_carries_what_a_program_needs() -> None:
    error = RateLimitError(retry_after=7, hint="Wait.")

    assert ToolResult(content=TEXT, is_error=True, error=error).to_mcp()["_meta"] == {
        "code": "RATE_LIMIT_EXCEEDED",
        "retryable": True,
        "hint": "Wait.",
        "retryAfter": 7,
    }
    assert ToolResult(content=TEXT, error=error).meta is None


@pytest.mark.parametrize(("wanted", "told"), [(-5, 0), (-0.5, 0), (0, 0), (0.5, 0.5), (10**400, 7 * 24 * 3600)])
def test_a_time_to_wait_is_one_that_somebody_can_wait(wanted: float, told: float) -> None:
    assert RateLimitError(retry_after=wanted).retry_after == told


def test_facts_leave_out_what_is_not_known() -> None:
    broken = ToolExecutionError("Tool execution failed: x")
    broken.error_id = "abc"

    assert error_facts(DogubakoError("x")) == {"code": "INTERNAL_ERROR", "retryable": False}
    assert error_facts(broken)["errorId"] == "abc"
    assert error_facts(WrongArguments.of("a", "wrong"))["details"] == [{"field": "a", "message": "wrong"}]


def test_every_call_has_an_id_of_its_own() -> None:
    assert ToolCall(name="echo").id != ToolCall(name="echo").id


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param({"timeout": 0}, id="no time"),
        pytest.param({"timeout": "30"}, id="text"),
        pytest.param({"retry": -1}, id="less than never"),
        pytest.param({"maxTokens": 99}, id="too small a budget"),
        pytest.param({"patience": 1}, id="unknown"),
    ],
)
def test_options_that_make_no_sense_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        ExecutionOptions.model_validate(wrong)


def test_options_are_written_in_camel_case_and_read_either_way() -> None:
    options = ExecutionOptions(retry_delay=5, max_tokens=500)

    assert options == ExecutionOptions.model_validate({"retryDelay": 5, "maxTokens": 500})
    assert options.model_dump(exclude_none=True) == {"retryDelay": 5, "maxTokens": 500}


@pytest.mark.parametrize(
    ("effect", "idempotent", "repeatable"),
    [
        pytest.param(Effect.READ, False, True, id="a read"),
        pytest.param(Effect.WRITE, True, True, id="a write that may be repeated"),
        pytest.param(Effect.WRITE, False, False, id="a write"),
        pytest.param(Effect.DESTROY, False, False, id="a deletion"),
    ],
)
def test_what_may_be_run_twice(effect: Effect, idempotent: bool, repeatable: bool) -> None:
    schemas = ToolSchemas(parameters=(), input={})
    metadata = ToolMetadata(
        name="x", description="X", title="X", schemas=lambda: schemas, effect=effect, idempotent=idempotent
    )

    assert metadata.repeatable is repeatable


async def read(context: Context[None], variables: object) -> str:
    return ""


@pytest.mark.parametrize(
    ("template", "uri", "variables"),
    [
        pytest.param("n8n://executions/{id}", "n8n://executions/17", {"id": "17"}, id="one variable"),
        pytest.param("x://{a}/of/{b}", "x://1/of/2", {"a": "1", "b": "2"}, id="two variables"),
        pytest.param("x://{name}", "x://%E9%81%93%20x", {"name": "道 x"}, id="percent signs are read"),
        pytest.param("x://a.b/{id}", "x://aXb/1", None, id="a dot is a dot"),
        pytest.param("x://{id}", "x://1/2", None, id="a variable ends at a slash"),
        pytest.param("x://{id}", "x://1?raw", None, id="and at a question mark"),
        pytest.param("x://{id}", "x://", None, id="and is not empty"),
        pytest.param("x://{id}", "y://1", None, id="another family"),
        pytest.param("x://all", "x://all", {}, id="no variable at all"),
    ],
)
def test_an_address_belongs_to_a_family_or_not(template: str, uri: str, variables: dict[str, str] | None) -> None:
    assert ResourceTemplate(uri_template=template, name="x", read=read).match(uri) == variables


def test_a_settings_field_must_name_its_variable() -> None:
    class Good(PackSettings):
        url: str = setting("", "MY_URL", "Where it is.")

    class Bad(PackSettings):
        url: str = ""

    assert env_name(Good, "url") == "MY_URL"
    assert secrets_of(Good()) == []
    with pytest.raises(TypeError, match=r"Bad\.url must be made with setting"):
        env_name(Bad, "url")
