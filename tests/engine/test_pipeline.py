"""The whole path: what is logged, what is masked, and what happens when something of ours breaks."""

from collections.abc import Mapping
from typing import Any

import pytest
import structlog.testing
from pydantic import SecretStr

from dogubako import Context, Effect, Pack, tool
from dogubako.contract.call import Resume
from dogubako.contract.conversation import ClientLogLevel, InputAnswer, InputRequests
from dogubako.contract.errors import ApiError, ApiErrorContext, EmptyQuery, NoResults
from dogubako.engine.pipeline import Pipeline
from dogubako.engine.policy import Place, Policy
from dogubako.engine.registration import ToolRegistryEntry
from dogubako.engine.registry import ToolRegistry
from dogubako.output import Json
from dogubako.testing import parse_call
from dogubako.tools import (
    Caller,
    ElicitRequest,
    ElicitResult,
    ExecutionOptions,
    PackSettings,
    Root,
    Sample,
    SampleRequest,
    ToolCall,
    ToolResult,
    setting,
)

from .boxes import box_of

SECRET = "a-key-nobody-may-see"


@tool(effect=Effect.READ)
async def find(query: str = "") -> Json:
    """Find three things."""
    return Json(data=[1, 2, 3], count=3)


@tool
async def fail(kind: str) -> str:
    """Fail somehow."""
    context = ApiErrorContext(operation="update", resource_id="7", error_details=f"key {SECRET}")
    raise {
        "api": ApiError(f"Failed: {SECRET} was refused", status_code=400, context=context, hint=f"not {SECRET}"),
        "empty": EmptyQuery(),
        "none": NoResults(),
        "unexpected": RuntimeError(SECRET),
    }[kind]


async def events_of(call: ToolCall, box: Any) -> tuple[ToolResult, list[dict[str, Any]]]:
    with structlog.testing.capture_logs() as events:
        result = await box.pipeline.handle(call)
    return result, [dict(event) for event in events]


async def test_a_call_is_logged_when_it_begins_and_when_it_ends() -> None:
    hanako = Caller(name="Hanako", scopes=frozenset({"read"}))
    call = ToolCall(name="find", parameters={"query": "private"}, door="rest", caller=hanako)

    result, events = await events_of(call, box_of(find))

    invoked, completed = events
    assert invoked == {
        "event": "Tool invoked",
        "log_level": "debug",
        "tool": "find",
        "door": "rest",
        "call_id": call.id,
    }
    assert completed.pop("ms") >= 0
    assert completed == {
        "event": "Tool completed",
        "log_level": "info",
        "tool": "find",
        "door": "rest",
        "caller": "Hanako",
        "code": "OK",
        "tokens": result.tokens,
        "call_id": call.id,
        "count": 3,
    }
    assert "private" not in str(events), "queries are not logged at these levels"


@pytest.mark.parametrize(
    ("name", "parameters", "logged"),
    [
        pytest.param("gone", {}, ("Tool refused", "warning", "TOOL_NOT_FOUND"), id="unknown"),
        pytest.param("fail", {}, ("Tool refused", "warning", "VALIDATION_ERROR"), id="wrong arguments"),
        pytest.param("fail", {"kind": "api"}, ("[fail] Error", "error", "API_ERROR"), id="a service"),
        pytest.param("fail", {"kind": "empty"}, ("[fail] Error", "warning", "EMPTY_QUERY"), id="an empty query"),
        pytest.param("fail", {"kind": "none"}, ("[fail] Error", "info", "NO_RESULTS"), id="no results"),
        pytest.param(
            "fail", {"kind": "unexpected"}, ("[fail] Error", "error", "TOOL_EXECUTION_ERROR"), id="unforeseen"
        ),
    ],
)
async def test_a_failure_is_logged_at_its_own_level(
    name: str, parameters: dict[str, Any], logged: tuple[str, str, str]
) -> None:
    call = ToolCall(name=name, parameters=parameters)

    _, events = await events_of(call, box_of(fail))

    _, middle, completed = events
    assert (middle["event"], middle["log_level"], middle["code"]) == logged
    assert middle["call_id"] == completed["call_id"] == call.id
    assert completed["code"] == ("OK" if logged[2] == "NO_RESULTS" else logged[2])


class Keeper(PackSettings):
    key: SecretStr = setting(SecretStr(SECRET), "KEEPER_KEY", "A key.")


@tool
async def tell(context: Context[None]) -> str:
    """Tell the secret on every way back."""
    await context.progress(1, 1, f"using {SECRET}")
    await context.log("info", f"using {SECRET}")
    await context.ask(f"Is {SECRET} right?")
    await context.sample(f"Rhyme on {SECRET}", system=f"You know {SECRET}")
    await context.roots()
    return f"done with {SECRET}"


class Telling(Pack[Keeper, None]):
    name = "telling"
    settings = Keeper
    tools = (tell, fail)


class Ear:
    """A client that hears everything."""

    def __init__(self) -> None:
        self.heard: list[Any] = []

    def supports(self, capability: str) -> bool:
        return True

    async def progress(self, done: float, total: float | None, message: str | None) -> None:
        self.heard.append(message)

    async def log(self, level: ClientLogLevel, message: str) -> None:
        self.heard.append(message)

    async def request(self, requests: InputRequests) -> Mapping[str, InputAnswer]:
        self.heard.append(dict(requests))
        return {key: self._answer(request) for key, request in requests.items()}

    def _answer(self, request: Any) -> InputAnswer:
        if isinstance(request, ElicitRequest):
            return ElicitResult(action="accept", content={"answer": "yes"})
        return Sample(text="rhyme", model="m") if isinstance(request, SampleRequest) else (Root(uri="file:///"),)


async def test_a_secret_of_a_pack_is_masked_on_every_way_out() -> None:
    ear, box = Ear(), box_of(packs=[Telling()])

    told = await box.pipeline.handle(ToolCall(name="tell", conversation=ear))
    failed = await box.call("fail", {"kind": "api"})

    assert told.value == "done with ***"
    assert len(ear.heard) == 5
    assert SECRET not in repr(ear.heard)
    assert [block["text"] for block in failed.content] == ["Failed: *** was refused", "not ***"]
    assert SECRET not in repr((told.to_mcp(), failed.to_mcp()))


class Broken(Policy):
    async def check(self, entry: ToolRegistryEntry, call: ToolCall) -> Place:
        raise ZeroDivisionError("our own mistake")


@pytest.mark.parametrize(
    ("development", "message"),
    [
        pytest.param(False, "Internal server error", id="production"),
        pytest.param(True, "our own mistake", id="development"),
    ],
)
async def test_a_mistake_of_ours_is_answered_with_a_reference(development: bool, message: str) -> None:
    registry = ToolRegistry()
    registry.register(find)
    pipeline = Pipeline(registry, policy=Broken(), show_internal_errors=development)

    with structlog.testing.capture_logs() as events:
        result = await pipeline.handle(ToolCall(name="find"))

    assert (result.code, result.content[0]["text"]) == ("INTERNAL_ERROR", message)
    (event,) = [event for event in events if event["event"] == "Internal error"]
    assert event["error_id"] == (result.meta or {})["errorId"]
    assert isinstance(event["exc_info"], ZeroDivisionError)


async def test_the_environment_decides_what_an_internal_error_shows() -> None:
    for environment, message in (("production", "Internal server error"), ("development", "boom")):
        box = box_of(find, environment=environment)

        assert box.pipeline.broken(RuntimeError("boom")).content[0]["text"] == message


async def test_a_tool_may_call_another_down_the_same_path() -> None:
    @tool
    async def ask_around(context: Context[None]) -> Any:
        """Ask another tool."""
        found = await context.tools.call("find", {"query": "x"})
        missing = await context.tools.call("gone", {})
        return {"found": found.value["data"], "missing": missing.code}

    result = await box_of(ask_around, find).call("ask_around")

    assert result.value["data"] == {"found": [1, 2, 3], "missing": "TOOL_NOT_FOUND"}


async def test_a_caller_may_ask_for_a_smaller_answer() -> None:
    @tool(effect=Effect.READ)
    async def much() -> Json:
        """Answer a lot."""
        return Json(data=[f"word {number}" for number in range(2_000)])

    box = box_of(much)

    whole = await box.call("much")
    small = await box.call("much", options=ExecutionOptions(max_tokens=700))

    assert not whole.trimmed
    assert small.tokens <= 700
    assert parse_call(small.value["_truncated"]["next"])[0] == "read_more"


async def test_only_what_reads_can_be_read_on() -> None:
    ran: list[int] = []

    @tool(effect=Effect.WRITE)
    async def write() -> str:
        """Write."""
        ran.append(1)
        return "written"

    box = box_of(write, find)

    refused = await box.pipeline.handle(ToolCall(name="write", resume=Resume(offset=1)))
    rest = await box.pipeline.handle(ToolCall(name="find", resume=Resume(offset=2)))

    assert (refused.code, ran) == ("VALIDATION_ERROR", [])
    assert rest.value["data"] == [3]


async def test_a_place_that_an_answer_does_not_have_is_a_wrong_argument() -> None:
    result = await box_of(find).pipeline.handle(ToolCall(name="find", resume=Resume(path="nowhere")))

    assert result.content[0]["text"] == "Invalid value for parameter path: the answer has no such place"
