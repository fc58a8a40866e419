"""`BaseTool` and its subclasses `RawTool`, `SchemaTool` and `PassingTool`."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from functools import cache, cached_property
from inspect import cleandoc
from typing import Any, ClassVar, Generic, Literal, NamedTuple, Self, get_args, get_origin
from uuid import uuid4

import structlog
from pydantic import BaseModel, ConfigDict, Field, create_model
from typing_extensions import TypeVar

from dogubako.contract.call import Resume, ToolResult
from dogubako.contract.context import ClientT, Context
from dogubako.contract.conversation import InputRequired, TaskRequired
from dogubako.contract.credentials import INSTANCE
from dogubako.contract.errors import DogubakoError, ToolExecutionError
from dogubako.contract.metadata import Effect, LongRunning, ToolExample, ToolMetadata, ToolSchemas
from dogubako.contract.offload import has_more_values, is_large, offload, offload_if_large, running_attempt
from dogubako.contract.output import Deferred, example_instance
from dogubako.contract.schema import INSTANCE_DESCRIPTION, parameters_of, schema_of, with_confirmation

log = structlog.get_logger("dogubako.tool")

# Data with more values and characters is encoded in pieces.
_FEW_CHARACTERS = 100_000


class ToolArgs(BaseModel):
    """Base class of argument models: types are exact, unknown arguments are refused, and instances are frozen."""

    # Most tools of a server are never called: a model is built when it is first needed.
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, populate_by_name=True, defer_build=True)


class NoArgs(ToolArgs):
    """The arguments of a tool without arguments."""


ArgsT = TypeVar("ArgsT", default=Any)


class BaseTool(ABC, Generic[ArgsT, ClientT]):
    """A tool as a class: class attributes describe it, `execute` does the work.

    `class Echo(BaseTool[EchoArgs, EchoClient])` names the model of its arguments and the type of `self.client`.
    """

    # Unique in the server: at most 64 letters, digits, `_` and `-`, not `-` first.
    name: str
    # What agents read. The class's docstring, if nothing else is set.
    description: str = ""
    title: str | None = None
    # The model of the arguments; usually taken from the type parameter.
    args_model: type[BaseModel] | None = None
    # The model of the answer's `data`, for tools that promise an output schema.
    output_model: ClassVar[type[BaseModel] | None] = None
    effect: Effect = Effect.WRITE
    # Whether a second call with the same arguments changes nothing more, so that the engine may repeat it.
    idempotent: bool = False
    # Whether it works with things outside of this server (MCP's `openWorldHint`).
    open_world: bool = True
    # Whether it reports progress, logs to the client, or asks the user.
    talks: bool = False
    # Whether a client that takes tasks gets one instead of the answer. Other clients wait, unless it is "required".
    long_running: LongRunning = False
    # Whether it belongs to another server: it keeps the name that it has there, and seldom talks although it may.
    foreign: bool = False
    # Whether some of its answers are `cacheable`. The cache is used for no other tool.
    caches: bool = False
    # Whether it answers `read_more` from what it kept of an earlier answer, although it must not run twice.
    keeps_answers: bool = False
    version: str = "1.0.0"
    category: str | None = None
    tags: tuple[str, ...] = ()
    author: str | None = None
    examples: tuple[ToolExample, ...] = ()
    # The tools without which it is disabled, by name.
    dependencies: tuple[str, ...] = ()
    # More words for tool search, by language.
    keywords: Mapping[str, str] = {}
    # The instances of its service, if there are several: then the argument `instance` names one of them.
    instances: tuple[str, ...] = ()
    # Whether it works with two instances. Such a tool exists only where there are several.
    between_instances: bool = False
    # Milliseconds for one attempt. None: the server's default.
    timeout: int | None = None
    # How often a failed call is repeated. None: the pack's default.
    retry: int | None = None

    context: Context[ClientT]
    # The client of the service that this tool works with.
    client: ClientT

    def __init__(self, context: Context[ClientT] | None = None) -> None:
        if context is not None:
            self.context = context
            self.client = context.client

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "cacheable" in cls.__dict__:
            advice = "return Json(data=…, cacheable=True), and declare that a tool has such answers with caches = True"
            raise TypeError(f"{cls.__name__}: cacheable belongs to an answer, not to a tool: {advice}")
        model = _declared_args(cls)
        if model is not None and "args_model" not in cls.__dict__:
            cls.args_model = model
        if not cls.__dict__.get("description") and cls.__doc__ and cls.__dict__.get("__doc__"):
            cls.description = cleandoc(cls.__doc__)

    @abstractmethod
    async def execute(self, args: ArgsT) -> Any:
        """Do the work and return something of `contract.output`, text, or JSON data. Raise when it fails."""

    def handler(self, args: ArgsT) -> Coroutine[Any, Any, ToolResult]:
        """Run `execute` and build the answer, also from an error. Only a cancellation propagates."""
        # Not a coroutine around `answered`: Python would throw a GeneratorExit of the tool only into the outer one.
        return answered(self, self.execute, args)

    async def _answered(self, answer: Any) -> ToolResult:
        """Build the answer to a successful call. A large one is built in a worker thread."""
        success = self.context.responses.success
        if isinstance(answer, Deferred):
            return await offload(
                lambda: success(built := answer.build(), in_pieces=has_more_values(built, _FEW_CHARACTERS, 1))
            )
        if not is_large(answer):
            return success(answer)
        if (attempt := running_attempt.get()) is not None:
            attempt.weigh(answer)
        return await offload_if_large(
            answer, lambda: success(answer, in_pieces=has_more_values(answer, _FEW_CHARACTERS, 1))
        )

    def bind(self, context: Context[ClientT]) -> Self:
        """Return a copy of the tool for one call. Tools keep no state between calls."""
        bound = object.__new__(type(self))
        bound.__dict__ = {**self.__dict__, "context": context, "client": context.client}
        return bound

    def choose_instance(self, instances: Sequence[str], default: str | None) -> None:
        """Add the argument `instance`. It may be left out if there is a default."""
        model = self.args_model or NoArgs
        names: Any = Literal[tuple(instances)]
        described = Field(... if default is None else default, description=INSTANCE_DESCRIPTION)
        self.args_model = create_model(model.__name__, __base__=model, instance=(names, described))
        self.instances = tuple(instances)
        # A copy of a tool has the description of the original.
        self.__dict__.pop("metadata", None)

    def input_schema(self) -> dict[str, Any]:
        """Return the JSON Schema of the arguments. `confirm` is added to it for destructive tools."""
        return schema_of(self.args_model or NoArgs)

    def checked_schema(self) -> dict[str, Any] | None:
        """Return the schema that arguments are checked against, if it is not the one that clients see."""
        return None

    def output_schema(self) -> dict[str, Any] | None:
        """Return the JSON Schema of `data`, or None for tools that promise none."""
        return schema_of(self.output_model, of_answer=True) if self.output_model else None

    @property
    def wraps_output(self) -> bool:
        """Whether `data` is not an object, so that the structured content has it as `result`."""
        return False

    def consequence(self, args: ArgsT) -> str:
        """What a destructive call would do, for the confirmation question."""
        return f"{self.metadata.title} cannot be undone."

    async def foresee(self, args: ArgsT) -> str:
        """The same after a look at the service: what else would be deleted. Called only without a confirmation."""
        return self.consequence(args)

    @cached_property
    def metadata(self) -> ToolMetadata:
        """The description of the tool. Its schemas are derived when they are first needed."""
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
        """Return the tool as MCP's `tools/list` shows it."""
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
        if isinstance(error, InputRequired) and error.requests:
            return ToolResult(content=(), pending=error.requests)
        if isinstance(error, TaskRequired):
            return ToolResult(content=(), becomes_task=True)
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
        result = self.context.responses.failure(shown)
        # The error was logged. Its frames would keep their local values until the next garbage collection.
        shown.drop_traceback()
        return result


async def answered(tool: BaseTool[ArgsT, Any], run: Callable[[ArgsT], Awaitable[Any]], args: ArgsT) -> ToolResult:
    """Build the answer from what `run` returns or raises. `run` is the tool's `execute` or its own handler."""
    if tool.instances:
        # The attempt runs in a task of its own, so this ends with it.
        example_instance.set(getattr(args, INSTANCE))
    try:
        if (attempt := running_attempt.get()) is not None and tool.name in attempt.large_tools:
            await attempt.wait_for_room()
        return await tool._answered(await run(args))
    except asyncio.CancelledError:
        if is_cancelled():
            raise
        return tool._failed(RuntimeError("the tool raised CancelledError although nobody cancelled it"))
    except BaseException as error:
        return tool._failed(error)


_LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40}


def _declared_args(cls: type) -> type[BaseModel] | None:
    """The argument model of `class Echo(BaseTool[EchoArgs])`."""
    for base in getattr(cls, "__orig_bases__", ()):
        origin = get_origin(base)
        if isinstance(origin, type) and issubclass(origin, BaseTool):
            first = get_args(base)[0]
            if isinstance(first, type) and issubclass(first, BaseModel):
                return first
    return None


def is_cancelled() -> bool:
    """Whether somebody cancelled the running task. Code of an author may raise CancelledError by itself."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _sole_cause(error: BaseException) -> BaseException:
    """The only error inside a group: a task group wraps even a single one."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error


DataT = TypeVar("DataT", default=Any)

_RAW = Field(default=False, description="Return the service's own answer instead of the short view.")


class RawTool(BaseTool[ArgsT, ClientT], Generic[ArgsT, DataT, ClientT]):
    """A tool that fetches, then formats. It has the argument `raw`, which asks for the service's own answer."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        model = cls.args_model
        if model is not None and "raw" not in model.model_fields:
            cls.args_model = _WithRaw(model)  # type: ignore[assignment]

    @abstractmethod
    async def execute_core(self, args: ArgsT) -> DataT:
        """Fetch the data."""

    @abstractmethod
    def format_response(self, data: DataT, args: ArgsT, raw: bool) -> Any:
        """Format the fetched data: the short view, or with `raw` all of it."""

    async def execute(self, args: ArgsT) -> Any:
        data, raw = await self.execute_core(args), getattr(args, "raw", False)
        if is_large(data):
            return Deferred(lambda: self.format_response(data, args, raw))
        return self.format_response(data, args, raw)


class _WithRaw:
    """Adds `raw` to an argument model on first use: building a second model per tool would slow the start."""

    def __init__(self, model: type[BaseModel]) -> None:
        self._model = model

    def __get__(self, tool: object, kind: type) -> type[BaseModel]:
        return self._extended

    @cached_property
    def _extended(self) -> type[BaseModel]:
        model = self._model
        return create_model(model.__name__, __base__=model, __module__=model.__module__, raw=(bool, _RAW))


Arguments = Mapping[str, Any]
Act = Callable[[Arguments, Context[Any]], Awaitable[Any]]


class SchemaTool(BaseTool[Arguments]):
    """A tool whose arguments a plain JSON Schema describes, for example the tool of another server.

    `act` gets the arguments as a mapping, and the context.
    """

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


class PassedOn(NamedTuple):
    """The call that replaces a call of a passing tool. `resume` says where in the answer to continue."""

    name: str
    arguments: Mapping[str, Any]
    resume: Resume | None = None
    as_task: bool = False


class PassingTool(BaseTool[ArgsT]):
    """A tool whose calls the pipeline replaces by calls of another tool.

    Permissions, timeouts and errors are therefore those of the other tool.
    """

    effect = Effect.DELEGATE
    # The argument with the name of the other tool.
    target: ClassVar[str] = "name"

    @abstractmethod
    def passed_on(self, args: ArgsT) -> PassedOn:
        """The other tool and its arguments."""

    async def execute(self, args: ArgsT) -> Any:
        """Call the other tool, when used outside the pipeline."""
        other = self.passed_on(args)
        return await self.context.tools.call(other.name, other.arguments, other.resume)
