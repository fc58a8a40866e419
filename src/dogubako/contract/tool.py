"""`BaseTool`: what every tool is, whether written as a class, as a function, or found at another server."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from functools import cache, cached_property
from inspect import cleandoc
from typing import Any, ClassVar, Generic, Self, get_args, get_origin
from uuid import uuid4

import structlog
from pydantic import BaseModel, ConfigDict
from typing_extensions import TypeVar

from dogubako.contract.call import ToolResult
from dogubako.contract.context import ClientT, ToolContext
from dogubako.contract.conversation import InputRequired
from dogubako.contract.errors import DogubakoError, ToolExecutionError
from dogubako.contract.metadata import Effect, ToolExample, ToolMetadata, ToolSchemas
from dogubako.contract.offload import is_large, offload
from dogubako.contract.output import Deferred
from dogubako.contract.schema import parameters_of, schema_of, with_confirmation

log = structlog.get_logger("dogubako.tool")


class ToolArgs(BaseModel):
    """Base of argument models: exact types, no unknown names, unchanged once checked."""

    # A server knows many more tools than one conversation uses: a model is built when it is first needed.
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, populate_by_name=True, defer_build=True)


class NoArgs(ToolArgs):
    """For tools that need nothing."""


ArgsT = TypeVar("ArgsT", default=Any)


class BaseTool(ABC, Generic[ArgsT, ClientT]):
    """A named act with typed arguments. Declares itself on the class; does its work in `execute`."""

    name: str
    description: str = ""
    title: str | None = None
    args_model: ClassVar[type[BaseModel] | None] = None
    output_model: ClassVar[type[BaseModel] | None] = None
    effect: Effect = Effect.WRITE
    idempotent: bool = False
    open_world: bool = True
    talks: bool = False
    # Whether some of its answers are `cacheable`; the cache is asked for no other tool.
    caches: bool = False
    version: str = "1.0.0"
    category: str | None = None
    tags: tuple[str, ...] = ()
    author: str | None = None
    examples: tuple[ToolExample, ...] = ()
    dependencies: tuple[str, ...] = ()
    keywords: Mapping[str, str] = {}
    timeout: int | None = None
    retry: int | None = None

    context: ToolContext[ClientT]

    def __init__(self, context: ToolContext[ClientT] | None = None) -> None:
        if context is not None:
            self.context = context

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        model = _declared_args(cls)
        if model is not None and "args_model" not in cls.__dict__:
            cls.args_model = model
        if not cls.__dict__.get("description") and cls.__doc__ and cls.__dict__.get("__doc__"):
            cls.description = cleandoc(cls.__doc__)

    @property
    def client(self) -> ClientT:
        """The service that this tool works with."""
        return self.context.client

    @abstractmethod
    async def execute(self, args: ArgsT) -> Any:
        """Do the work; return anything of `contract.output`, or plain text, or JSON data. Raise when it fails."""

    def handler(self, args: ArgsT) -> Coroutine[Any, Any, ToolResult]:
        """Run `execute` and answer, whatever happens. Only a cancellation passes through."""
        # Not a coroutine around `answered`: Python would throw a GeneratorExit of the tool into the outer one only.
        return answered(self, self.execute, args)

    async def _answered(self, answer: Any) -> ToolResult:
        """Build the answer to a call that worked. A large one is built in a worker thread."""
        success = self.context.responses.success
        if isinstance(answer, Deferred):
            return await offload(lambda: success(answer.build()))
        return await offload(success, answer) if is_large(answer) else success(answer)

    def bind(self, context: ToolContext[ClientT]) -> Self:
        """The same tool, made ready for one call. Tools keep no state between calls."""
        bound = object.__new__(type(self))
        bound.__dict__.update(self.__dict__)
        bound.context = context
        return bound

    def input_schema(self) -> dict[str, Any]:
        """JSON Schema of the arguments, without `confirm`, which is added for destructive tools."""
        return schema_of(self.args_model or NoArgs)

    def output_schema(self) -> dict[str, Any] | None:
        """JSON Schema of `data`, for tools that promise one."""
        return schema_of(self.output_model) if self.output_model else None

    def consequence(self, args: ArgsT) -> str:
        """What a destructive call would do, for the question whether it is meant."""
        return f"{self.metadata.title} cannot be undone."

    async def foresee(self, args: ArgsT) -> str:
        """The same for a tool that can look: what else would go. Asked only when a confirmation is missing."""
        return self.consequence(args)

    @cached_property
    def metadata(self) -> ToolMetadata:
        """The tool's face. Its schemas are derived once, when somebody first looks at them."""
        return ToolMetadata(
            name=self.name,
            description=self.description,
            title=self.title or self.name.replace("_", " ").replace("-", " ").capitalize(),
            schemas=cache(self._schemas),
            effect=self.effect,
            idempotent=self.idempotent,
            open_world=self.open_world,
            version=self.version,
            category=self.category,
            tags=self.tags,
            author=self.author,
            examples=self.examples,
            dependencies=self.dependencies,
            keywords=self.keywords,
        )

    def to_definition(self) -> dict[str, Any]:
        """The tool as `tools/list` shows it."""
        metadata = self.metadata
        definition: dict[str, Any] = {
            "name": metadata.name,
            "title": metadata.title,
            "description": metadata.description,
            "inputSchema": dict(metadata.input_schema),
            "annotations": metadata.annotations,
        }
        if metadata.output_schema is not None:
            definition["outputSchema"] = dict(metadata.output_schema)
        return definition

    def _schemas(self) -> ToolSchemas:
        schema = with_confirmation(self.input_schema()) if self.effect is Effect.DESTROY else self.input_schema()
        return ToolSchemas(parameters=parameters_of(schema), input=schema, output=self.output_schema())

    def _failed(self, error: BaseException) -> ToolResult:
        error = _sole_cause(error)
        if isinstance(error, InputRequired):
            return ToolResult(content=(), pending=error.requests)
        if isinstance(error, DogubakoError):
            level, shown = error.log_level, error
        else:
            level, shown = "error", ToolExecutionError(f"Tool execution failed: {self.name}")
            shown.error_id = uuid4().hex[:12]
        log.log(
            _LEVELS[level],
            f"[{self.name}] Error",
            call_id=self.context.call_id,
            code=shown.code,
            error_id=shown.error_id,
            exc_info=error,
            **shown.log_fields,
        )
        return self.context.responses.failure(shown)


async def answered(tool: BaseTool[ArgsT, Any], run: Callable[[ArgsT], Awaitable[Any]], args: ArgsT) -> ToolResult:
    """Build the answer from what `run` returns or raises; `run` is the tool's `execute`, or a handler of its own."""
    try:
        return await tool._answered(await run(args))
    except asyncio.CancelledError:
        if _really_cancelled():
            raise
        return tool._failed(RuntimeError("the tool raised CancelledError although nobody cancelled it"))
    except BaseException as error:
        return tool._failed(error)


_LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40}


def _declared_args(cls: type) -> type[BaseModel] | None:
    """The argument model out of `class Echo(BaseTool[EchoArgs])`, so that it is written once."""
    for base in getattr(cls, "__orig_bases__", ()):
        origin = get_origin(base)
        if isinstance(origin, type) and issubclass(origin, BaseTool):
            first = get_args(base)[0]
            if isinstance(first, type) and issubclass(first, BaseModel):
                return first
    return None


def _really_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _sole_cause(error: BaseException) -> BaseException:
    """A task group wraps even a single failure; what an agent needs is the failure itself."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error
