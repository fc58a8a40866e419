"""A tool whose arguments are described by a plain JSON Schema, for tools that we learn of at run time."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from dogubako.contract.context import ToolContext
from dogubako.contract.metadata import Effect
from dogubako.contract.tool import BaseTool

Arguments = Mapping[str, Any]
Act = Callable[[Arguments, ToolContext[Any]], Awaitable[Any]]


class SchemaTool(BaseTool[Arguments]):
    """Name, description, schema and an act: what a gateway knows of somebody else's tool."""

    def __init__(
        self,
        name: str,
        description: str,
        schema: Mapping[str, Any],
        act: Act,
        *,
        title: str | None = None,
        output_schema: Mapping[str, Any] | None = None,
        effect: Effect = Effect.WRITE,
        idempotent: bool = False,
        talks: bool = True,
        caches: bool = False,
        version: str = "1.0.0",
        tags: tuple[str, ...] = (),
    ) -> None:
        super().__init__()
        self.name, self.description, self.title = name, description, title
        self.effect, self.idempotent, self.talks = effect, idempotent, talks
        self.version, self.tags, self.caches = version, tags, caches
        self._schema = dict(schema)
        self._output_schema = dict(output_schema) if output_schema is not None else None
        self._act = act

    def input_schema(self) -> dict[str, Any]:
        return self._schema

    def output_schema(self) -> dict[str, Any] | None:
        return self._output_schema

    async def execute(self, args: Arguments) -> Any:
        return await self._act(args, self.context)
