"""Call a function with its arguments, its context and its dependencies."""

import inspect
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import anyio.to_thread

from dogubako.contract.context import Context

Function = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Depends:
    """Mark a parameter that the server fills in: `Annotated[Database, Depends(open_database)]`.

    The provider runs once per call. It may be `def` or `async def`, may take a `Context` and dependencies of its own,
    and may `yield` its value: the code after the `yield` runs when the call has ended.
    """

    provider: Function


class InjectedFunction:
    """A function whose parameters are sorted into arguments, context and dependencies."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.name = getattr(function, "__name__", type(function).__name__)
        hints = get_type_hints(function, include_extras=True)
        self.returns = hints.pop("return", None)
        parameters = inspect.signature(function).parameters
        self.context_name = next((name for name in parameters if is_context(hints.get(name))), None)
        marked = {name: marker for name in parameters if (marker := _dependency(hints.get(name))) is not None}
        self.dependencies = {name: InjectedFunction(marker.provider) for name, marker in marked.items()}
        filled_in = {self.context_name, *self.dependencies}
        self.parameters = {name: one for name, one in parameters.items() if name not in filled_in}
        self.hints = hints

    @property
    def takes_context(self) -> bool:
        """Whether the function, or one of its dependencies, takes a `Context`."""
        return self.context_name is not None or any(one.takes_context for one in self.dependencies.values())

    async def call(self, arguments: Mapping[str, Any], context: Context[Any]) -> Any:
        """Call the function. Dependencies that yield are closed before this returns."""
        if not self.dependencies:
            return await self._run(self._with_context(arguments, context))
        async with AsyncExitStack() as stack:
            provided = await self._provide(context, stack)
            return await self._run({**self._with_context(arguments, context), **provided})

    async def _provide(self, context: Context[Any], stack: AsyncExitStack) -> dict[str, Any]:
        return {name: await one._value(context, stack) for name, one in self.dependencies.items()}

    async def _value(self, context: Context[Any], stack: AsyncExitStack) -> Any:
        """The value that a provider returns or yields."""
        arguments = {**self._with_context({}, context), **await self._provide(context, stack)}
        if inspect.isasyncgenfunction(self.function):
            return await stack.enter_async_context(asynccontextmanager(self.function)(**arguments))
        if inspect.isgeneratorfunction(self.function):
            return stack.enter_context(contextmanager(self.function)(**arguments))
        return await self._run(arguments)

    def _with_context(self, arguments: Mapping[str, Any], context: Context[Any]) -> dict[str, Any]:
        return {**arguments, self.context_name: context} if self.context_name is not None else dict(arguments)

    async def _run(self, arguments: Mapping[str, Any]) -> Any:
        if self._is_async:
            return await self.function(**arguments)
        # A plain function runs in a thread, so that it does not block the event loop. A timeout abandons the thread.
        return await anyio.to_thread.run_sync(partial(self.function, **arguments), abandon_on_cancel=True)

    @cached_property
    def is_plain(self) -> bool:
        """Whether it is a coroutine function that takes its arguments and nothing else."""
        return self._is_async and not self.dependencies and self.context_name is None

    @cached_property
    def _is_async(self) -> bool:
        return inspect.iscoroutinefunction(self.function)


class Lifespan:
    """Opens what a tools file needs when the server starts; closes it at the end. Tools use it as `context.client`."""

    def __init__(self, function: Function) -> None:
        if not inspect.isasyncgenfunction(function):
            raise TypeError(f"{function.__name__}: a lifespan is an `async def` function that yields once")
        self._function = function

    def __repr__(self) -> str:
        return f"<lifespan {self._function.__name__}>"

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Any]:
        async with asynccontextmanager(self._function)() as value:
            yield value


def lifespan(function: Function) -> Lifespan:
    """Mark the async generator that opens what the tools of a file share; they get its value as `context.client`.

    The code before its `yield` runs when the server starts, the code after it when the server stops.
    """
    return Lifespan(function)


def is_context(hint: Any) -> bool:
    """Whether a parameter takes the context. `Context | None` does too, so that a test can omit it."""
    if get_origin(hint) in (Union, UnionType):
        return any(is_context(member) for member in get_args(hint))
    return hint is Context or get_origin(hint) is Context


def _dependency(hint: Any) -> Depends | None:
    if get_origin(hint) is not Annotated:
        return None
    return next((note for note in get_args(hint) if isinstance(note, Depends)), None)
