"""`@tool` turns a typed function into a tool. It stays callable."""

import inspect
import warnings
from collections.abc import Callable, Mapping
from functools import partial, update_wrapper
from typing import Annotated, Any, Generic, Literal, ParamSpec, TypeVar, cast, get_args, get_origin, overload

from pydantic import BaseModel, Field, create_model

from dogubako.contract.injection import Function, InjectedFunction
from dogubako.contract.metadata import Effect, LongRunning, ToolExample
from dogubako.contract.schema import OutputSchema
from dogubako.contract.tool import BaseTool, ToolArgs

P = ParamSpec("P")
ReturnT = TypeVar("ReturnT")
EffectName = Literal["read", "write", "destroy"]

# Options of `dogubako.output.Json` that authors look for here, and how they are written there.
_OPTIONS_OF_ANSWERS = {
    "cacheable": "cacheable=True), and declare that the tool has such answers with @tool(caches=True",
    "count": "count=…",
    "page": "page=NextPage(…)",
    "guidance": "guidance=…",
    "message": "message=…",
}


class FunctionTool(BaseTool[BaseModel], Generic[P, ReturnT]):
    """A tool that `@tool` made from a function. Calling it calls the function itself, without the pipeline."""

    def __init__(
        self,
        function: Callable[P, ReturnT],
        *,
        name: str | None = None,
        title: str | None = None,
        effect: Effect | EffectName = Effect.WRITE,
        idempotent: bool = False,
        open_world: bool = True,
        caches: bool = False,
        structured: bool = True,
        version: str = "1.0.0",
        category: str | None = None,
        tags: tuple[str, ...] = (),
        author: str | None = None,
        examples: tuple[ToolExample, ...] = (),
        dependencies: tuple[str, ...] = (),
        keywords: Mapping[str, str] | None = None,
        timeout: int | None = None,
        retry: int | None = None,
        long_running: LongRunning = False,
    ) -> None:
        super().__init__()
        self._injected = InjectedFunction(function)
        self.function = function
        self.talks = self._injected.takes_context
        self.name = name or self._injected.name
        self.description = inspect.getdoc(function) or ""
        self.title, self.effect, self.idempotent, self.open_world = title, Effect(effect), idempotent, open_world
        self.version, self.category, self.tags, self.author = version, category, tags, author
        self.examples, self.dependencies, self.keywords = examples, dependencies, keywords or {}
        self.timeout, self.retry, self.caches, self.long_running = timeout, retry, caches, long_running
        # An instance attribute: every function has its own model, the class has none.
        self.args_model = _model_of(self._injected)
        self.argument_names = tuple(self.args_model.model_fields)
        self._output = OutputSchema(self._injected.returns if structured else None)
        update_wrapper(cast("Any", self), function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> ReturnT:
        return self.function(*args, **kwargs)

    def __repr__(self) -> str:
        parameters = inspect.signature(self.function)
        return f"<tool {self.name}{parameters} effect={self.effect.value}>"

    @property
    def wraps_output(self) -> bool:
        return self._output.wraps

    def output_schema(self) -> dict[str, Any] | None:
        return self._output.schema

    async def execute(self, args: BaseModel) -> Any:
        if self._injected.is_plain and not self.instances:
            # Most tools: without a coroutine in between. The model is ours, and has the arguments alone.
            return await self._injected.function(**args.__dict__)
        arguments = {name: getattr(args, name) for name in self.argument_names}
        return await self._injected.call(arguments, self.context)


@overload
def tool(function: Callable[P, ReturnT], /) -> FunctionTool[P, ReturnT]: ...


@overload
def tool(
    *,
    name: str | None = ...,
    title: str | None = ...,
    effect: Effect | EffectName = ...,
    idempotent: bool = ...,
    open_world: bool = ...,
    caches: bool = ...,
    structured: bool = ...,
    version: str = ...,
    category: str | None = ...,
    tags: tuple[str, ...] = ...,
    author: str | None = ...,
    examples: tuple[ToolExample, ...] = ...,
    dependencies: tuple[str, ...] = ...,
    keywords: Mapping[str, str] | None = ...,
    timeout: int | None = ...,
    retry: int | None = ...,
    long_running: LongRunning = ...,
) -> Callable[[Callable[P, ReturnT]], FunctionTool[P, ReturnT]]: ...


def tool(function: Function | None = None, /, **options: Any) -> Any:
    """Turn a typed function into a tool. Its name, docstring and annotations become name, description and schema.

    The server fills in a parameter of type `Context`, and parameters that are marked with `Depends`; they are not
    arguments of the tool. A return type such as a pydantic model, `int` or `list[Model]` becomes the output schema,
    unless `structured=False`. The options have the meaning of the attributes of `dogubako.tools.BaseTool`.
    """
    if isinstance(function, str):
        raise TypeError(f"@tool takes its options by name: @tool(name={function!r})")
    if isinstance(function, type):
        raise TypeError(f"{function.__name__}: @tool decorates a function; a tool as a class is a subclass of BaseTool")
    if function is not None:
        return FunctionTool(function)
    _check_options(options)
    return partial(FunctionTool, **options)


def _check_options(options: Mapping[str, Any]) -> None:
    """Raise TypeError, with the right place or the options that exist. Type checkers find the same mistakes."""
    known = sorted(inspect.signature(FunctionTool).parameters.keys() - {"function"})
    for option in options:
        if option in _OPTIONS_OF_ANSWERS:
            correct = _OPTIONS_OF_ANSWERS[option]
            raise TypeError(f"{option} belongs to an answer, not to a tool: return Json(data=…, {correct})")
        if option not in known:
            raise TypeError(f"@tool has no option {option}. It has: {', '.join(known)}.")


def _model_of(function: InjectedFunction) -> type[BaseModel]:
    fields: dict[str, Any] = {}
    for name, parameter in function.parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
            raise TypeError(f"{function.name}: *{name} cannot be an argument of a tool")
        if name not in function.hints:
            raise TypeError(f"{function.name}: parameter {name} needs a type")
        default = ... if parameter.default is parameter.empty else parameter.default
        fields[name] = (_described(function.hints[name]), default)
    with warnings.catch_warnings():
        # An argument may be called `json` or `schema`; nothing calls the model's methods of these names.
        warnings.filterwarnings("ignore", message="Field name .* shadows an attribute", category=UserWarning)
        return create_model(f"{function.name}_args", __base__=ToolArgs, **fields)


def _described(hint: Any) -> Any:
    """`Annotated[str, "What to say."]` is short for a pydantic field with that description."""
    if get_origin(hint) is not Annotated:
        return hint
    base, *notes = get_args(hint)
    fields = [Field(description=note) if isinstance(note, str) else note for note in notes]
    return cast("Any", Annotated)[(base, *fields)]
