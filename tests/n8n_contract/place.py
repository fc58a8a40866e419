"""One n8n to ask, ours in small or a real one: through our tools, and directly."""

from collections.abc import Awaitable, Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeVar
from uuid import uuid4

import anyio

from dogubako.app import Toolbox
from dogubako.contract.errors import DogubakoError
from dogubako_sandbox.n8n.workflow_parts import JsonObject
from dogubako_sandbox.n8n.workflows import WORKFLOWS
from tests.sandbox.n8n_client import N8n

Side = Literal["sandbox", "real", "given"]
Answer = TypeVar("Answer")

PATIENCE: Final = 30
_TICK: Final = 0.1


@dataclass(frozen=True, kw_only=True)
class Place:
    """Which side it is, and what can be found there: workflows by key, executions by kind."""

    side: Side
    box: Toolbox
    n8n: N8n
    workflows: Mapping[str, str]
    executions: Mapping[str, str]
    shows: frozenset[str]
    files: Path

    async def call(self, tool: str, **arguments: Any) -> JsonObject:
        """What a tool answers when all is well."""
        result = await self.box.call(tool, arguments)
        assert result.error is None, f"{result.error} {result.error.hint}"
        data: JsonObject = result.value["data"]
        return data

    async def refused(self, tool: str, **arguments: Any) -> DogubakoError:
        """Why a tool does not do it."""
        result = await self.box.call(tool, arguments)
        assert result.error is not None, result.content
        return result.error

    async def execution(self, kind: str, **query: str) -> JsonObject:
        """n8n's own words about an execution of this kind, with its data."""
        return await self.details(self.executions[kind], **query)

    async def details(self, execution_id: str, **query: str) -> JsonObject:
        params = {"includeData": "true", **query}
        found: JsonObject = await self.n8n.told("GET", f"executions/{execution_id}", params=params)
        return found

    async def runs(self, kind: str) -> dict[str, list[JsonObject]]:
        found: dict[str, list[JsonObject]] = (await self.execution(kind))["data"]["resultData"]["runData"]
        return found

    async def copy_of(self, key: str, *, published: bool = False, **changes: Any) -> str:
        """A workflow of its own that does what another does, to be changed or removed by one test."""
        made = await self.n8n.told("POST", "workflows", copied_body(key, **changes))
        if published:
            await self.n8n.told("POST", f"workflows/{made['id']}/publish", {})
        return str(made["id"])

    async def workflow(self, workflow_id: str) -> JsonObject:
        found: JsonObject = await self.n8n.told("GET", f"workflows/{workflow_id}")
        return found

    async def started(self, key: str, status: str) -> str:
        """The id of a new execution, made by calling the workflow's webhook, once it is in this state."""
        known = await self._ids(key, status)
        await self.n8n.told("POST", f"/webhook/{WORKFLOWS[key].webhook_path}", {})
        now = await eventually(lambda: self._ids(key, status), lambda ids: bool(ids - known))
        return str(max(now - known, key=int))

    async def _ids(self, key: str, status: str) -> set[str]:
        query = {"workflowId": self.workflows[key], "status": status}
        page = await self.n8n.told("GET", "executions", params=query)
        return {one["id"] for one in page["data"]}


def copied_body(key: str, **changes: Any) -> JsonObject:
    """A definition under a name and on a webhook path that nobody else has."""
    body = deepcopy(dict(WORKFLOWS[key].body)) | {"name": f"Copy {uuid4().hex[:12]}"} | changes
    for node in body["nodes"]:
        if "path" in node.get("parameters", {}):
            node["parameters"]["path"] = uuid4().hex
            node["webhookId"] = str(uuid4())
    return body


async def eventually(ask: Callable[[], Awaitable[Answer]], wanted: Callable[[Answer], bool]) -> Answer:
    """Ask again and again until the answer is the wanted one; fail with the last answer."""
    for _ in range(round(PATIENCE / _TICK)):
        answer = await ask()
        if wanted(answer):
            return answer
        await anyio.sleep(_TICK)
    raise AssertionError(f"within {PATIENCE} s this was all that came: {answer}")
