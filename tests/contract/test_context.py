"""What a running tool may ask of its surroundings."""

import asyncio
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import BaseModel

from dogubako import Context
from dogubako.contract.conversation import ClientLogLevel, InputAnswer, InputRequests, capability_of
from dogubako.contract.errors import CapabilityRequiredError
from dogubako.response.builder import ToolResponseBuilder
from dogubako.tools import ElicitRequest, ElicitResult, Root, RootsRequest, Sample, SampleRequest


class Listener:
    """A client that answers everything and remembers what it heard."""

    def __init__(self) -> None:
        self.heard: list[Any] = []
        self.asked: dict[str, Any] = {}

    def supports(self, capability: str) -> bool:
        return capability == "roots"

    async def progress(self, done: float, total: float | None, message: str | None) -> None:
        self.heard.append((done, total, message))

    async def log(self, level: ClientLogLevel, message: str) -> None:
        self.heard.append((level, message))

    async def request(self, requests: InputRequests) -> Mapping[str, InputAnswer]:
        self.asked |= requests
        return {key: self._answer(request) for key, request in requests.items()}

    def _answer(self, request: Any) -> InputAnswer:
        if isinstance(request, ElicitRequest):
            return ElicitResult(action="accept", content={"answer": "yes"})
        if isinstance(request, SampleRequest):
            return Sample(text="a poem", model="small")
        return (Root(uri="file:///home"),)


def context_with(listener: Listener | None = None) -> Context[None]:
    made: Context[None] = Context(client=None, responses=ToolResponseBuilder())
    if listener is not None:
        made.conversation = listener
    return made


async def test_frequent_progress_is_thinned_out_and_the_last_report_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("dogubako.contract.context.time", SimpleNamespace(monotonic=lambda: now[0]))
    listener = Listener()
    context = context_with(listener)

    for step in range(5):
        await context.progress(step, 5)
    now[0] += 1
    await context.progress(4.5, 5, "nearly")
    await context.progress(5, 5, "done")

    assert listener.heard == [(0, 5, None), (4.5, 5, "nearly"), (5, 5, "done")]


async def test_log_lines_and_capabilities_go_to_the_client() -> None:
    listener = Listener()
    context = context_with(listener)

    await context.log("warning", "careful")

    assert listener.heard == [("warning", "careful")]
    assert context.supports("roots")
    assert not context.supports("sampling")


async def test_a_person_is_asked_with_a_form_of_one_text_unless_another_is_given() -> None:
    class Form(BaseModel):
        """Which one?"""

        name: str
        age: int = 0

    listener = Listener()
    context = context_with(listener)

    assert (await context.ask("Go on?")).accepted
    await context.ask("Who?", Form)
    await context.ask("What?", {"type": "object"}, key="what")

    assert listener.asked["input_1"].schema["required"] == ["answer"]
    assert listener.asked["input_2"].schema["properties"]["age"] == {"type": "integer", "default": 0}
    assert listener.asked["what"].schema == {"type": "object"}


async def test_a_model_and_the_open_folders_can_be_asked_for() -> None:
    listener = Listener()
    context = context_with(listener)

    assert (await context.sample("Write.", max_tokens=10, system="Short.")).text == "a poem"
    assert await context.roots() == (Root(uri="file:///home"),)
    assert listener.asked["input_1"] == SampleRequest(prompt="Write.", max_tokens=10, system="Short.")


async def test_several_things_can_be_asked_in_one_round() -> None:
    answers = await context_with(Listener()).request(
        sure=ElicitRequest(message="Sure?", schema={}), folders=RootsRequest()
    )

    assert answers["sure"] == ElicitResult(action="accept", content={"answer": "yes"})
    assert answers["folders"] == (Root(uri="file:///home"),)


@pytest.mark.parametrize(
    ("request_", "capability"),
    [
        pytest.param(ElicitRequest(message="?", schema={}), "elicitation", id="a question"),
        pytest.param(SampleRequest(prompt="?"), "sampling", id="a sample"),
        pytest.param(RootsRequest(), "roots", id="folders"),
    ],
)
async def test_where_nobody_listens_a_question_fails_with_the_missing_capability(
    request_: Any, capability: str
) -> None:
    assert capability_of(request_) == capability
    with pytest.raises(CapabilityRequiredError) as caught:
        await context_with().request(it=request_)

    assert caught.value.capability == capability
    assert caught.value.message == f"This tool needs a client that supports {capability}."


async def test_where_nobody_listens_progress_and_log_lines_go_nowhere() -> None:
    context = context_with()

    await context.progress(1, 1)
    await context.log("info", "anyone?")

    assert not context.supports("elicitation")


async def test_a_checkpoint_stops_a_cancelled_call() -> None:
    context = context_with()
    reached = asyncio.Event()

    async def work() -> None:
        while True:
            reached.set()
            await context.checkpoint()

    task = asyncio.create_task(work())
    await asyncio.wait_for(reached.wait(), 5)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 5)


async def test_a_context_of_its_own_has_no_other_tools() -> None:
    with pytest.raises(RuntimeError, match="no registry"):
        await context_with().tools.call("echo", {})
