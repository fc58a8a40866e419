"""A workbench: six small tools that show what a tool can do, and that our own tests use.

dogubako serve --tools examples/workbench.py
"""

import base64
from collections.abc import Callable
from typing import Annotated, Literal

import anyio
from pydantic import Field

from dogubako import Context, Effect, errors, tool
from dogubako.output import Image, Json, Message, NextPage, example_call

# A red dot of one pixel.
_PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
)

_MADE = Message(en="Items made", ja="項目を作成しました")

_FAILURES: dict[str, Callable[[], Exception]] = {
    "TOOL_NOT_FOUND": lambda: errors.ToolNotFoundError("Tool not found: nothing", hint="Did you mean echo?"),
    "TOOL_DISABLED": lambda: errors.ToolDisabledError(
        "Tool is disabled: nothing", hint="It was switched off; an administrator can enable it."
    ),
    "VALIDATION_ERROR": lambda: errors.ValidationError.of("kind", "Required parameter missing: kind"),
    "TOOL_EXECUTION_ERROR": lambda: errors.ToolExecutionError("Tool execution failed: nothing"),
    "TIMEOUT": lambda: errors.ToolTimeoutError(
        "Execution timeout after 30000ms", hint="Try again, or ask for less at once."
    ),
    "BUSY": lambda: errors.BusyError("Too many calls are waiting for workbench."),
    "CANCELLED": lambda: errors.CancelledError("The call was cancelled."),
    "CONFIRMATION_REQUIRED": lambda: errors.ConfirmationRequiredError(
        "This would delete everything.", hint="Call again with confirm: true to go on."
    ),
    "READ_ONLY": lambda: errors.ReadOnlyError("The server is read-only: nothing was run."),
    "CAPABILITY_REQUIRED": lambda: errors.CapabilityRequiredError("elicitation"),
    "ANSWER_TOO_LARGE": lambda: errors.AnswerTooLargeError(
        "The answer needs about 90,000 tokens and the response budget is 25,000."
    ),
    "AUTHENTICATION_ERROR": lambda: errors.AuthenticationError("Authentication is required."),
    "AUTHORIZATION_ERROR": lambda: errors.AuthorizationError("This key may not write."),
    "CREDENTIAL_REQUIRED": lambda: errors.CredentialRequiredError(
        "redmine is used with your own key, and you have none."
    ),
    "CONFLICT": lambda: errors.ConflictError("Workflow 'abc123' was changed in the same place."),
    "RATE_LIMIT_EXCEEDED": lambda: errors.RateLimitError(retry_after=7, hint="Wait 7 seconds."),
    "API_ERROR": lambda: errors.ApiError("Failed to update workflow: name is required", status_code=400),
    "NOT_FOUND": lambda: errors.NotFoundError("Workflow 'abc123' not found", hint="list_workflows has the ids."),
    "HTTP_ERROR": lambda: errors.HttpError("connection refused"),
    "HTML_PARSE_ERROR": lambda: errors.HtmlParseError("no results, no marker"),
    "JSON_PARSE_ERROR": lambda: errors.JsonParseError("not JSON"),
    "EMPTY_QUERY": errors.EmptyQuery,
    "SEARCH_BLOCKED": errors.Blocked,
    "URL_NOT_ALLOWED": errors.UrlNotAllowed,
    "ROUTE_NOT_FOUND": lambda: errors.RouteNotFoundError("Route not found"),
    "METHOD_NOT_ALLOWED": lambda: errors.MethodNotAllowedError("Method not allowed"),
    "PAYLOAD_TOO_LARGE": lambda: errors.PayloadTooLargeError("The body is too large."),
    "UNSUPPORTED_MEDIA_TYPE": lambda: errors.UnsupportedMediaTypeError("The body must be JSON."),
    "GATEWAY_LOOP": lambda: errors.GatewayLoopError("This gateway leads back to itself."),
    "INTERNAL_ERROR": lambda: errors.InternalError("Internal server error"),
    "unexpected": lambda: RuntimeError("this was not foreseen, and its text stays in the log"),
}

FailureKind = Literal[
    "TOOL_NOT_FOUND",
    "TOOL_DISABLED",
    "VALIDATION_ERROR",
    "TOOL_EXECUTION_ERROR",
    "TIMEOUT",
    "BUSY",
    "CANCELLED",
    "CONFIRMATION_REQUIRED",
    "READ_ONLY",
    "CAPABILITY_REQUIRED",
    "ANSWER_TOO_LARGE",
    "CREDENTIAL_REQUIRED",
    "CONFLICT",
    "AUTHENTICATION_ERROR",
    "AUTHORIZATION_ERROR",
    "RATE_LIMIT_EXCEEDED",
    "API_ERROR",
    "NOT_FOUND",
    "HTTP_ERROR",
    "HTML_PARSE_ERROR",
    "JSON_PARSE_ERROR",
    "EMPTY_QUERY",
    "SEARCH_BLOCKED",
    "URL_NOT_ALLOWED",
    "ROUTE_NOT_FOUND",
    "METHOD_NOT_ALLOWED",
    "PAYLOAD_TOO_LARGE",
    "UNSUPPORTED_MEDIA_TYPE",
    "GATEWAY_LOOP",
    "INTERNAL_ERROR",
    "unexpected",
]


@tool(effect=Effect.READ, open_world=False)
async def echo(text: Annotated[str, "What to say back."]) -> str:
    """Say the same text back."""
    return text


@tool(effect=Effect.READ, open_world=False, timeout=60_000)
async def slow(seconds: Annotated[float, Field(ge=0, le=50, description="How long to take.")], context: Context) -> str:
    """Take some time, report progress, and stop at once when cancelled."""
    steps = max(1, round(seconds * 10))
    for step in range(steps):
        await context.progress(step, steps, f"step {step} of {steps}")
        await anyio.sleep(seconds / steps)
    await context.progress(steps, steps, "done")
    return f"Took {seconds:g} s."


@tool(effect=Effect.READ, open_world=False)
async def big(
    items: Annotated[int, Field(ge=0, le=1_000_000, description="How many items there are.")],
    offset: Annotated[int, Field(ge=0, description="Which item to begin with.")] = 0,
) -> Json:
    """Answer with a long JSON list, to see how an answer is cut to fit."""
    made = [{"id": number, "name": f"Item {number}", "note": "x" * 40} for number in range(offset, items)]
    page = NextPage("items", lambda shown: example_call("big", items=items, offset=offset + shown))
    return Json(message=_MADE, data={"total": items, "offset": offset, "items": made}, page=page, count=len(made))


@tool(effect=Effect.READ, open_world=False)
async def fail(kind: Annotated[FailureKind, "The code of the error to raise."]) -> str:
    """Fail in the way that was asked for, to see how a failure reads."""
    raise _FAILURES[kind]()


@tool(effect=Effect.READ, open_world=False)
async def picture() -> Image:
    """Show a picture: one red pixel, as PNG."""
    return Image(data=_PNG, mime_type="image/png")


@tool(effect=Effect.READ, open_world=False)
async def ask(question: Annotated[str, Field(min_length=1, description="What to ask.")], context: Context) -> str:
    """Ask the user a question and return the answer."""
    answer = await context.ask(question)
    return str(answer.content["answer"]) if answer.accepted else f"The user chose to {answer.action}."


TOOLS = (echo, slow, big, fail, picture, ask)
