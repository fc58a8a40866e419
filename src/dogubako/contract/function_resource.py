"""`@resource` and `@prompt` turn typed functions into resources and prompts. They stay callable."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Final, Generic, ParamSpec, TypeVar, get_args, get_origin

from pydantic import TypeAdapter, ValidationError

from dogubako.contract.context import Context
from dogubako.contract.errors import AnswerTooLargeError, NotFoundError
from dogubako.contract.injection import InjectedFunction
from dogubako.contract.output import Content
from dogubako.contract.resources import (
    Body,
    Complete,
    Prompt,
    PromptArgument,
    PromptMessage,
    Resource,
    ResourceTemplate,
    variables_of,
)

_MOST_MESSAGES: Final = 10_000

P = ParamSpec("P")
ReturnT = TypeVar("ReturnT")


class FunctionResource(Resource, Generic[P, ReturnT], frozen=True, kw_only=True):
    """A resource made of a function."""

    function: Callable[P, ReturnT]

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> ReturnT:
        return self.function(*args, **kwargs)


class FunctionResourceTemplate(ResourceTemplate, Generic[P, ReturnT], frozen=True, kw_only=True):
    """A resource template made of a function whose parameters are the variables of the address."""

    function: Callable[P, ReturnT]

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> ReturnT:
        return self.function(*args, **kwargs)


class FunctionPrompt(Prompt, Generic[P, ReturnT], frozen=True, kw_only=True):
    """A prompt made of a function whose parameters are the prompt's arguments."""

    function: Callable[P, ReturnT]

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> ReturnT:
        return self.function(*args, **kwargs)


def resource(
    uri: str,
    *,
    name: str | None = None,
    title: str | None = None,
    mime_type: str | None = None,
    completions: Mapping[str, Complete] | None = None,
) -> Callable[[Callable[P, ReturnT]], FunctionResource[P, ReturnT] | FunctionResourceTemplate[P, ReturnT]]:
    """Turn a function into a resource. With variables in `uri` (`notes://{id}`) it becomes a resource template.

    The function returns text, bytes, or data, which is written as JSON. Its parameters are the variables. If a value
    does not fit the type of its parameter, the resource is not found.
    """
    if not isinstance(uri, str):
        raise TypeError('@resource needs a URI: @resource("notes://{id}")')

    def decorate(
        function: Callable[P, ReturnT],
    ) -> FunctionResource[P, ReturnT] | FunctionResourceTemplate[P, ReturnT]:
        injected = InjectedFunction(function)
        variables = variables_of(uri)
        _check_variables(injected, uri, variables)
        common: dict[str, Any] = {
            "name": name or injected.name,
            "title": title,
            "description": inspect.getdoc(function),
            "mime_type": mime_type or _mime_type(injected.returns),
            "function": function,
            "read": _reader(injected, uri),
        }
        if variables:
            return FunctionResourceTemplate(uri_template=uri, completions=completions, **common)
        return FunctionResource(uri=uri, **common)

    return decorate


def prompt(function: Callable[P, ReturnT]) -> FunctionPrompt[P, ReturnT]:
    """Turn a function into a prompt. Its parameters become the arguments, its docstring becomes the description.

    The function returns the text of one user message, a `PromptMessage`, or a list of either.
    """
    injected = InjectedFunction(function)
    arguments = tuple(_prompt_argument(injected, name) for name in injected.parameters)

    async def render(context: Context[Any], values: Mapping[str, str]) -> Sequence[PromptMessage]:
        answer = await injected.call(values, context)
        answers = answer if isinstance(answer, list | tuple) else [answer]
        if len(answers) > _MOST_MESSAGES:
            raise AnswerTooLargeError(f"The prompt has {len(answers):,} messages, which do not fit the budget.")
        return [_message(one) for one in answers]

    return FunctionPrompt(
        name=injected.name,
        description=inspect.getdoc(function) or "",
        render=render,
        arguments=arguments,
        function=function,
    )


def _check_variables(function: InjectedFunction, uri: str, variables: Sequence[str]) -> None:
    required = {name for name, one in function.parameters.items() if one.default is one.empty}
    if not (required <= set(variables) <= set(function.parameters)):
        wanted, actual = ", ".join(function.parameters) or "none", ", ".join(variables) or "none"
        raise TypeError(f"{function.name}: its parameters ({wanted}) are not the variables of {uri} ({actual})")


def _reader(function: InjectedFunction, uri: str) -> Callable[[Context[Any], Mapping[str, str]], Any]:
    types = {name: TypeAdapter(function.hints.get(name, str)) for name in function.parameters}

    async def read(context: Context[Any], variables: Mapping[str, str]) -> Body:
        try:
            arguments = {name: types[name].validate_strings(value) for name, value in variables.items()}
        except ValidationError as error:
            name = next(iter(variables)) if len(variables) == 1 else ", ".join(variables)
            message = f"Resource not found: {name} of {uri} has another form."
            raise NotFoundError(message, hint="resources/templates/list has the addresses.") from error
        body: Body = await function.call(arguments, context)
        return body

    return read


def _mime_type(returns: Any) -> str:
    if returns in (str, None):
        return "text/plain"
    return "application/octet-stream" if returns is bytes else "application/json"


def _prompt_argument(function: InjectedFunction, name: str) -> PromptArgument:
    parameter, hint = function.parameters[name], function.hints.get(name, str)
    notes = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
    description = next((note for note in notes if isinstance(note, str)), "")
    return PromptArgument(name=name, description=description, required=parameter.default is parameter.empty)


def _message(answer: Any) -> PromptMessage:
    if isinstance(answer, PromptMessage):
        return answer
    return PromptMessage(content=answer if isinstance(answer, str | Content) else str(answer))
