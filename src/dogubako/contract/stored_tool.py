"""Tools that a file describes. Their classes are imported by the first call, so that lists need not wait for them."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import msgspec
from pydantic import BaseModel

from dogubako.contract.context import Context
from dogubako.contract.metadata import Effect, ToolExample
from dogubako.contract.offload import offload
from dogubako.contract.schema import with_instance
from dogubako.contract.tool import BaseTool

# Written by `make docs`.
FILE: Final = "definitions.json"

ToolClasses = Sequence[type[BaseTool[Any, Any]]]


class Definition(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One tool in the file: the attributes of its class that are not the default, and its schemas."""

    name: str
    description: str
    effect: Effect
    title: str | None = None
    idempotent: bool = False
    open_world: bool = True
    talks: bool = False
    caches: bool = False
    keeps_answers: bool = False
    version: str = "1.0.0"
    category: str | None = None
    tags: tuple[str, ...] = ()
    author: str | None = None
    examples: tuple[ToolExample, ...] = ()
    dependencies: tuple[str, ...] = ()
    keywords: Mapping[str, str] = {}
    between_instances: bool = False
    timeout: int | None = None
    retry: int | None = None
    # Not decoded before somebody looks at the tool: most are never looked at.
    schema: msgspec.Raw
    answer_schema: msgspec.Raw


class StoredTool(BaseTool[Any, Any]):
    """Describes itself with a stored definition, and lets the tool itself do the rest."""

    def __init__(self, definition: Definition, find: Callable[[str], type[BaseTool[Any, Any]]]) -> None:
        super().__init__()
        attributes = msgspec.structs.asdict(definition)
        self._schema: msgspec.Raw = attributes.pop("schema")
        self._answer_schema: msgspec.Raw = attributes.pop("answer_schema")
        self.__dict__.update(attributes)
        self._find = find
        self._default_instance: str | None = None

    @cached_property
    def tool(self) -> BaseTool[Any, Any]:
        """The tool itself. To import it takes a tenth of a second: see `load`."""
        tool = self._find(self.name)()
        if self.instances:
            tool.choose_instance(self.instances, self._default_instance)
        # It says the same of itself, and would have to derive it.
        tool.__dict__["metadata"] = self.metadata
        return tool

    @property
    def is_loaded(self) -> bool:
        return "tool" in self.__dict__

    async def load(self) -> None:
        """Import the tool in a worker thread, unless it is there."""
        if not self.is_loaded:
            await offload(lambda: self.tool)

    def choose_instance(self, instances: Sequence[str], default: str | None) -> None:
        self.instances, self._default_instance = tuple(instances), default
        # This is a copy, which has both from the original.
        for made_before in ("metadata", "tool"):
            self.__dict__.pop(made_before, None)

    def input_schema(self) -> dict[str, Any]:
        schema: dict[str, Any] = msgspec.json.decode(self._schema)
        return with_instance(schema, self.instances, self._default_instance) if self.instances else schema

    def output_schema(self) -> dict[str, Any] | None:
        schema: dict[str, Any] | None = msgspec.json.decode(self._answer_schema)
        return schema

    @property
    def args_model(self) -> type[BaseModel] | None:  # type: ignore[override]
        return self.tool.args_model

    def bind(self, context: Context[Any]) -> BaseTool[Any, Any]:  # type: ignore[override]
        """The tool itself, for one call."""
        return self.tool.bind(context)

    async def execute(self, args: Any) -> Any:
        return await self.tool.bind(self.context).execute(args)


def stored_tools(folder: Path, load: Callable[[], ToolClasses]) -> Sequence[StoredTool] | ToolClasses:
    """The tools of a pack, as the file in its folder describes them. `load` returns their classes.

    Without the file these are the tools: then `make docs` can write it again.
    """
    file = folder / FILE
    if not file.is_file():
        return load()
    classes: dict[str, type[BaseTool[Any, Any]]] = {}

    def find(name: str) -> type[BaseTool[Any, Any]]:
        if not classes:
            classes.update({one.name: one for one in load()})
        return classes[name]

    return tuple(StoredTool(one, find) for one in _decode(file.read_bytes()))


_decode = msgspec.json.Decoder(list[Definition]).decode
