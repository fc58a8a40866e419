"""`@tool`: a typed function becomes a tool."""

import inspect
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from typing import Annotated, Any, cast, get_args, get_origin, get_type_hints, overload

import anyio.to_thread
from pydantic import BaseModel, Field, create_model

from dogubako.contract.context import ToolContext
from dogubako.contract.metadata import Effect, ToolExample
from dogubako.contract.tool import BaseTool, ToolArgs

Function = Callable[..., Any]


class FunctionTool(BaseTool[BaseModel]):
    """A function with a tool's face."""

    def __init__(
        self,
        function: Function,
        *,
        name: str | None = None,
        title: str | None = None,
        effect: Effect = Effect.WRITE,
        idempotent: bool = False,
        open_world: bool = True,
        caches: bool = False,
        version: str = "1.0.0",
        category: str | None = None,
        tags: tuple[str, ...] = (),
        author: str | None = None,
        examples: tuple[ToolExample, ...] = (),
        dependencies: tuple[str, ...] = (),
        keywords: Mapping[str, str] | None = None,
        timeout: int | None = None,
        retry: int | None = None,
    ) -> None:
        super().__init__()
        hints = get_type_hints(function, include_extras=True)
        self.function = function
        self.blocks = not inspect.iscoroutinefunction(function)
        self.context_name = _context_name(hints)
        self.talks = self.context_name is not None
        self.name = name or function.__name__
        self.description = inspect.getdoc(function) or ""
        self.title, self.effect, self.idempotent, self.open_world = title, effect, idempotent, open_world
        self.version, self.category, self.tags, self.author = version, category, tags, author
        self.examples, self.dependencies, self.keywords = examples, dependencies, keywords or {}
        self.timeout, self.retry, self.caches = timeout, retry, caches
        # An instance attribute: every function has a model of its own, the class has none.
        self.args_model = _model_of(function, hints, self.context_name)  # type: ignore[misc]
        self.argument_names = tuple(self.args_model.model_fields)

    async def execute(self, args: BaseModel) -> Any:
        arguments = {name: getattr(args, name) for name in self.argument_names}
        if self.context_name is not None:
            arguments[self.context_name] = self.context
        if self.blocks:
            # In a thread of its own a plain function blocks nobody, and a timeout leaves it behind.
            return await anyio.to_thread.run_sync(partial(self.function, **arguments), abandon_on_cancel=True)
        return await self.function(**arguments)


@overload
def tool(function: Function, /) -> FunctionTool: ...


@overload
def tool(
    *,
    name: str | None = ...,
    title: str | None = ...,
    effect: Effect = ...,
    idempotent: bool = ...,
    open_world: bool = ...,
    caches: bool = ...,
    version: str = ...,
    category: str | None = ...,
    tags: tuple[str, ...] = ...,
    author: str | None = ...,
    examples: tuple[ToolExample, ...] = ...,
    dependencies: tuple[str, ...] = ...,
    keywords: Mapping[str, str] | None = ...,
    timeout: int | None = ...,
    retry: int | None = ...,
) -> Callable[[Function], FunctionTool]: ...


def tool(function: Function | None = None, /, **options: Any) -> FunctionTool | Callable[[Function], FunctionTool]:
    """Turn a typed function into a tool: its name, docstring and annotations are the tool's.

    A parameter of type `ToolContext` is filled in by us and is no argument of the tool.
    """
    if function is not None:
        return FunctionTool(function)
    return partial(FunctionTool, **options)


def _context_name(hints: Mapping[str, Any]) -> str | None:
    for name, hint in hints.items():
        if name != "return" and (hint is ToolContext or get_origin(hint) is ToolContext):
            return name
    return None


def _model_of(function: Function, hints: Mapping[str, Any], context_name: str | None) -> type[BaseModel]:
    fields: dict[str, Any] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if name == context_name:
            continue
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
            raise TypeError(f"{function.__name__}: *{name} cannot be an argument of a tool")
        if name not in hints:
            raise TypeError(f"{function.__name__}: parameter {name} needs a type")
        default = ... if parameter.default is parameter.empty else parameter.default
        fields[name] = (_described(hints[name]), default)
    with warnings.catch_warnings():
        # An argument may well be called `json` or `schema`; nobody asks this model for its methods.
        warnings.filterwarnings("ignore", message="Field name .* shadows an attribute", category=UserWarning)
        return create_model(f"{function.__name__}_args", __base__=ToolArgs, **fields)


def _described(hint: Any) -> Any:
    """`Annotated[str, "What to say."]` is short for a pydantic field with that description."""
    if get_origin(hint) is not Annotated:
        return hint
    base, *notes = get_args(hint)
    fields = [Field(description=note) if isinstance(note, str) else note for note in notes]
    return cast("Any", Annotated)[(base, *fields)]
