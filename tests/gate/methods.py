"""Every MCP method, in both eras, and what each kind of caller gets."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from tests.doors import messages

from .callers import NEEDED, TASK_TOOLS, Kind
from .guarded import skill_of
from .seen import who_gives

Era = Literal["2025", "2026"]
ERAS: Final[tuple[Era, ...]] = ("2025", "2026")

FINDERS: Final = TASK_TOOLS | {"search_tools", "describe_tool", "call_tool"}


@dataclass(frozen=True, kw_only=True)
class Method:
    """One request. `eras` know the method; `answers` says what a caller of a kind gets there."""

    answers: Callable[[Kind], Any]
    params: Mapping[str, Any] | None = None
    eras: tuple[Era, ...] = ERAS

    @property
    def name(self) -> str | None:
        """What modern clients repeat in a header."""
        params = self.params or {}
        return params.get("name") or params.get("uri")


def error(code: int, message: str, data: Any) -> dict[str, Any]:
    return {"error": {"code": code, "message": message, "data": data}}


def no_scope(kind: Kind, pack: str, **more: Any) -> dict[str, Any]:
    hint = who_gives(f"a caller with {kind.scope}", kind.scopes, f"{pack}:read")
    facts = {"code": "AUTHORIZATION_ERROR", "retryable": False, "hint": hint, **more}
    return error(-32600, f"This needs the scope {pack}:read.", facts)


def unknown(method: str) -> dict[str, Any]:
    """What a client hears that uses a word of the other era."""
    return error(-32601, "Method not found", method)


def _reading(answer: Any, **more: Any) -> Callable[[Kind], Any]:
    return lambda kind: answer if "redmine" in kind.packs else no_scope(kind, "redmine", **more)


def _everybody(answer: Any) -> Callable[[Kind], Any]:
    return lambda _kind: answer


def _tools(kind: Kind) -> Any:
    return {"tools": sorted(kind.sees - FINDERS)}


def refused_call(tool: str, kind: Kind) -> dict[str, Any]:
    """A result that says which scope is missing."""
    message = f"{tool} needs the scope {NEEDED[tool]}."
    hint = who_gives(f"a caller with {kind.scope}", kind.scopes, NEEDED[tool])
    blocks = [{"type": "text", "text": message}, {"type": "text", "text": hint}]
    meta = {"code": "AUTHORIZATION_ERROR", "retryable": False, "hint": hint}
    return {"content": blocks, "isError": True, "_meta": meta}


def refused_token_call(tool: str, kind: Kind) -> dict[str, Any]:
    """What a client with a token hears instead, so that it can fetch a better one."""
    refused = refused_call(tool, kind)
    return error(-32090, refused["content"][0]["text"], refused["_meta"])


def refused_token_reading(kind: Kind) -> dict[str, Any]:
    """The same for what is read beside tools."""
    facts = {
        "code": "AUTHORIZATION_ERROR",
        "retryable": False,
        "hint": who_gives(f"a caller with {kind.scope}", kind.scopes, "redmine:read"),
    }
    return error(-32090, "This needs the scope redmine:read.", facts)


def _call(kind: Kind) -> Any:
    if kind.may("write_redmine"):
        return {"content": [{"type": "text", "text": "done"}], "isError": False}
    return refused_call("write_redmine", kind)


def _names(key: str, form: str) -> Callable[[Kind], Any]:
    return lambda kind: {key: sorted(form.replace("PACK", pack) for pack in kind.packs)}


_NEWS: Final = "redmine://news"
_SKILL: Final = dict(skill_of("redmine").entry)
_COMPLETE: Final = {"ref": {"type": "ref/prompt", "name": "redmine-start"}, "argument": {"name": "id", "value": "1"}}
_MESSAGE: Final = {"role": "user", "content": {"type": "text", "text": "begin"}}

_TASKS: Final = "io.modelcontextprotocol/tasks"
# What a client hears that did not declare the extension.
_NO_TASKS: Final = error(
    -32021,
    f"This tool needs a client that supports {_TASKS}.",
    {
        "requiredCapabilities": {"extensions": {_TASKS: {}}},
        "code": "CAPABILITY_REQUIRED",
        "retryable": False,
        "hint": "Call it from an MCP client that declares this capability.",
    },
)
_ANY_TASK: Final = {"taskId": "one"}

METHODS: Final[dict[str, Method]] = {
    "initialize": Method(answers=_everybody("welcome"), params=messages.initialize(), eras=("2025",)),
    "server/discover": Method(answers=_everybody("welcome"), eras=("2026",)),
    "ping": Method(answers=_everybody({}), eras=("2025",)),
    "logging/setLevel": Method(answers=_everybody({}), params={"level": "info"}, eras=("2025",)),
    "tools/list": Method(answers=_tools),
    "tools/call": Method(answers=_call, params={"name": "write_redmine", "arguments": {}}),
    "resources/list": Method(answers=_names("resources", "PACK://news")),
    "resources/templates/list": Method(answers=_names("resourceTemplates", "PACK://items/{id}")),
    "resources/read": Method(
        answers=_reading({"contents": [{"uri": _NEWS, "mimeType": "text/plain", "text": "read"}]}, uri=_NEWS),
        params={"uri": _NEWS},
    ),
    "resources/subscribe": Method(answers=_reading({}, uri=_NEWS), params={"uri": _NEWS}, eras=("2025",)),
    "resources/unsubscribe": Method(answers=_everybody({}), params={"uri": _NEWS}, eras=("2025",)),
    "subscriptions/listen": Method(
        answers=_reading("listening"), params={"notifications": {"resourceSubscriptions": [_NEWS]}}, eras=("2026",)
    ),
    "skills/list": Method(answers=_names("skills", "skill://PACK/guide/SKILL.md")),
    "skills/get": Method(answers=_reading({"skill": _SKILL}, uri=_SKILL["uri"]), params={"uri": _SKILL["uri"]}),
    "prompts/list": Method(answers=_names("prompts", "PACK-start")),
    "prompts/get": Method(
        answers=_reading({"description": "Begin.", "messages": [_MESSAGE]}), params={"name": "redmine-start"}
    ),
    "completion/complete": Method(
        answers=_reading({"completion": {"values": ["17", "18"], "total": 2, "hasMore": False}}), params=_COMPLETE
    ),
    "tasks/get": Method(answers=_everybody(_NO_TASKS), params=_ANY_TASK, eras=("2026",)),
    "tasks/update": Method(answers=_everybody(_NO_TASKS), params={**_ANY_TASK, "inputResponses": {}}, eras=("2026",)),
    "tasks/cancel": Method(answers=_everybody(_NO_TASKS), params=_ANY_TASK, eras=("2026",)),
}
