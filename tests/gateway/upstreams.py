"""Upstreams for tests: fake servers, and clients of both eras that answer their questions."""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pydantic import SecretStr

from dogubako.contract.call import TRUSTED, Caller
from dogubako.contract.context import Context
from dogubako.contract.conversation import (
    INPUT_REQUIRED,
    URL_ELICITATION,
    ElicitRequest,
    ElicitResult,
    InputAnswer,
    InputRequest,
    InputRequests,
    InputRequired,
    Root,
    Sample,
    SampleRequest,
    UrlRequest,
    capability_of,
)
from dogubako.contract.errors import CapabilityRequiredError
from dogubako.gateway.definitions import Definitions
from dogubako.gateway.settings import ServerSettings
from dogubako.gateway.sign_ins import SignIns
from dogubako.gateway.upstream import Upstream
from dogubako.response.builder import ToolResponseBuilder
from tests.doors import waiting

FAKE: Final = Path(__file__).with_name("fake_server.py")
PATIENCE: Final = 120.0
ALL: Final = frozenset({"elicitation", URL_ELICITATION, "sampling", "roots"})


@dataclass
class Running:
    """An upstream that runs, and what it reported."""

    upstream: Upstream
    marks: Path
    definitions: list[Definitions] = field(default_factory=list)
    updated: list[str] = field(default_factory=list)

    def marked(self, text: str) -> int:
        """How often the server noted this."""
        lines = self.marks.read_text().splitlines() if self.marks.exists() else []
        return sum(line.startswith(text) for line in lines)

    def pids(self) -> list[int]:
        lines = self.marks.read_text().splitlines() if self.marks.exists() else []
        return [int(line.split()[1]) for line in lines if line.startswith("pid ")]

    async def call(
        self, name: str, context: Context[Any] | None = None, *, idempotent: bool = False, **args: Any
    ) -> str:
        """The text of the first block of an answer."""
        async with asyncio.timeout(PATIENCE):
            blocks = await self.upstream.call_tool(name, args, context or client(), idempotent=idempotent)
        return str(blocks.content[0]["text"])

    async def is_in(self, state: str) -> None:
        await until(lambda: self.upstream.state.name == state)


def pids_in(marks: Path) -> list[int]:
    """The processes of the server, oldest first."""
    lines = marks.read_text().splitlines() if marks.exists() else []
    return [int(line.split()[1]) for line in lines if line.startswith("pid ")]


async def until(holds: Callable[[], bool]) -> None:
    """Wait until something holds, with an end."""
    await waiting.until(holds, "what the test waits for", PATIENCE)


def fake(era: str, *faults: str, **settings: Any) -> ServerSettings:
    return ServerSettings(command=sys.executable, args=("-I", "-S", str(FAKE), era, *faults), **settings)


@asynccontextmanager
async def running(
    settings: ServerSettings, folder: Path, name: str = "fake", sign_ins: SignIns | None = None
) -> AsyncIterator[Running]:
    """Run one upstream while the block runs."""
    marks = folder / f"{name}.marks"
    if settings.command is not None:
        settings = settings.model_copy(update={"env": {**settings.env, "MARKS": SecretStr(str(marks))}})
    found = Running(None, marks)  # type: ignore[arg-type]
    found.upstream = Upstream(
        name,
        settings,
        on_definitions=found.definitions.append,
        on_resource_updated=found.updated.append,
        sign_ins=sign_ins,
    )
    task = asyncio.create_task(found.upstream.run())
    try:
        yield found
    finally:
        task.cancel()
        await asyncio.wait({task}, timeout=PATIENCE)


@dataclass
class FakeClient:
    """The conversation of one call. `modern` clients are not asked: they call again with answers."""

    modern: bool = False
    capabilities: frozenset[str] = ALL
    progressed: list[tuple[float, float | None, str | None]] = field(default_factory=list)
    logged: list[tuple[str, str]] = field(default_factory=list)
    asked: list[InputRequest] = field(default_factory=list)
    # What a modern client sends along with its second call, and the questions that it answers with that.
    answers: Mapping[str, InputAnswer] = field(default_factory=dict)
    questions: Mapping[str, InputRequest] = field(default_factory=dict)

    def supports(self, capability: str) -> bool:
        return self.modern if capability == INPUT_REQUIRED else capability in self.capabilities

    async def progress(self, done: float, total: float | None, message: str | None) -> None:
        self.progressed.append((done, total, message))

    async def log(self, level: str, message: str) -> None:
        self.logged.append((level, message))

    async def request(self, requests: InputRequests) -> Mapping[str, InputAnswer]:
        for request in requests.values():
            if not self.supports(capability_of(request)):
                raise CapabilityRequiredError(capability_of(request))
        if not self.modern:
            self.asked += requests.values()
            return {key: answer_to(request) for key, request in requests.items()}
        if missing := {key: request for key, request in requests.items() if self.questions.get(key) != request}:
            raise InputRequired(missing)
        return {key: self.answers[key] for key in requests}


def answer_to(request: InputRequest) -> InputAnswer:
    if isinstance(request, ElicitRequest):
        return ElicitResult(action="accept", content={"name": "Aiko"})
    if isinstance(request, UrlRequest):
        return ElicitResult(action="accept", content={})
    if isinstance(request, SampleRequest):
        return Sample(text="Hello!", model="a-model")
    return (Root(uri="file:///work", name="work"),)


def client(conversation: FakeClient | None = None, caller: Caller = TRUSTED) -> Context[Any]:
    return Context(
        client=None, responses=ToolResponseBuilder(), conversation=conversation or FakeClient(), caller=caller
    )
