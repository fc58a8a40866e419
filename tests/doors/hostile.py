"""Requests that cost their sender little and a server much, as large as they may be."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal

from . import messages

# A little below the bound on bytes, so that every request reaches what comes after it.
FULL: Final = 3_900_000
# A little below the bounds on values: of a body, and of what is not an argument of a tool.
MANY: Final = 9_900
MANY_IN_PROTOCOL: Final = 1_900

# Too large: refused before it is decoded as a whole. Refused: looked at, and answered with an error.
Kind = Literal["too large", "refused", "answered"]


@dataclass(frozen=True, kw_only=True)
class Message:
    """A JSON-RPC request. `members` are those of its `params`, `meta` those of its `_meta`, as JSON text."""

    name: str
    kind: Kind
    method: str = "tools/call"
    members: Callable[[], str] = lambda: call("echo", '"text": "a"')
    meta: Callable[[], str] = str
    request_id: Callable[[], str] = lambda: "1"
    # A method that only the other era has is refused, if it is not too large before.
    only: Literal["legacy", "modern"] | None = None

    def body(self, *, modern: bool) -> bytes:
        said = json.dumps(messages.envelope())[1:-1] if modern else ""
        meta = ", ".join(part for part in (said, self.meta()) if part)
        members = ", ".join(part for part in (self.members(), f'"_meta": {{{meta}}}' if meta else "") if part)
        method = json.dumps(self.method)
        return f'{{"jsonrpc": "2.0", "id": {self.request_id()}, "method": {method}, "params": {{{members}}}}}'.encode()

    def headers(self, body: bytes, session: str | None) -> dict[str, str]:
        """The headers that repeat what the body says. A header cannot be as long as a body can."""
        if session is not None:
            return messages.legacy_headers(session if self.method != "initialize" else None)
        named = next((field for field in ("name", "uri") if body.find(b'"params": {"%s"' % field.encode()) >= 0), None)
        name = body.split(b'"params": {"', 1)[1].split(b'"', 3)[2].decode()[:1_000] if named else None
        return messages.modern_headers(self.method[:1_000], name)

    def expected(self, *, modern: bool) -> Kind:
        foreign = self.only == ("legacy" if modern else "modern")
        return "refused" if foreign and self.kind == "answered" else self.kind


@dataclass(frozen=True, kw_only=True)
class Rest:
    """A request to a route of the REST API."""

    name: str
    kind: Kind
    path: str
    body: Callable[[], str] = str
    method: str = "POST"


def kind_of(answer: dict[str, Any]) -> Kind:
    """How a JSON-RPC or REST answer reads."""
    error = answer.get("error")
    if answer.get("code") == "PAYLOAD_TOO_LARGE":
        return "too large"
    if isinstance(error, dict) and error["code"] == -32600 and error["message"].startswith("The message has more than"):
        return "too large"
    result = answer.get("result")
    failed = isinstance(result, dict) and result.get("isError")
    return "refused" if failed or error is not None else "answered"


def times(text: str, size: int = FULL) -> str:
    """The text as often as it fits."""
    return text * (size // len(text.encode()))


def names(count: int, value: str = "1") -> str:
    """Members of different names."""
    return ",".join(f'"n{number}":{value}' for number in range(count))


def full_of_names(value: str = "1") -> str:
    """As many members of different names as fit."""
    return names(FULL // (len(value) + 10), value)


def items(value: str, count: int | None = None) -> str:
    """A list of so many, or of as many as fit."""
    return f"[{','.join([value] * (count or FULL // (len(value) + 1)))}]"


def call(tool: str, arguments: str) -> str:
    return f'"name": "{tool}", "arguments": {{{arguments}}}'


def _called(name: str, kind: Kind, tool: str, arguments: Callable[[], str]) -> Message:
    return Message(name=name, kind=kind, members=lambda: call(tool, arguments()))


def _asked(name: str, kind: Kind, method: str, members: Callable[[], str], **more: Any) -> Message:
    return Message(name=name, kind=kind, method=method, members=members, **more)


def _opened(name: str, kind: Kind, capabilities: Callable[[], str] = str, client: Callable[[], str] = str) -> Message:
    def members() -> str:
        info = ", ".join(part for part in ('"name": "a", "version": "1"', client()) if part)
        return f'"protocolVersion": "2025-11-25", "clientInfo": {{{info}}}, "capabilities": {{{capabilities()}}}'

    return Message(name=name, kind=kind, method="initialize", members=members, only="legacy")


def _answered_question(answers: str) -> str:
    asked = call("ask", '"question": "a"')
    return f'{asked}, "inputResponses": {{{answers}}}'


_ACCEPTED: Final = '{"action":"accept","content":{"answer":"x"}}'
_PROMPT: Final = (
    '"ref": {"type": "ref/prompt", "name": "triage_issues"}, "argument": {"name": "issue_id", "value": "b"}'
)

CALLS: Final = (
    _called("unknown names", "too large", "list_issues", full_of_names),
    _called("fewer unknown names", "refused", "list_issues", lambda: names(MANY)),
    _called(
        "unknown names of a tool that is named",
        "refused",
        "call_tool",
        lambda: f'"name": "list_issues", "arguments": {{{names(MANY)}}}',
    ),
    _called(
        "long unknown names",
        "refused",
        "list_issues",
        lambda: ",".join(f'"{"project_i" * 400}{number}": 1' for number in range(1_000)),
    ),
    _called("one very long name", "refused", "list_issues", lambda: f'"{times("a")}": 1'),
    _called("a list of wrong items", "refused", "list_issues", lambda: f'"fields": {items("1", MANY)}'),
    _called(
        "a list of wrong unions",
        "refused",
        "create_issue",
        lambda: f'"project_id": 1, "subject": "a", "watcher_user_ids": {items("{}", MANY)}',
    ),
    _called("a text of commas", "answered", "text_length", lambda: f'"text": "{times(",")}"'),
    _called("a text of brackets and digits", "answered", "text_length", lambda: f'"text": "{times("[1234567,")}"'),
    _called(
        "a text of quotation marks", "answered", "text_length", lambda: f'"text": "{times(chr(92) + chr(34) + ",")}"'
    ),
    _called("a text of backslashes", "answered", "text_length", lambda: f'"text": "{times(chr(92) * 2 + ",")}"'),
    _called("a text in Japanese", "answered", "text_length", lambda: f'"text": "{times("道具箱")}"'),
    _called("a text of escapes", "answered", "text_length", lambda: f'"text": "{times(chr(92) + "u3042")}"'),
    _called("a text that an author's check repeats", "refused", "picky", lambda: f'"text": "{times("word ")}"'),
    _called(
        "many texts that an author's check repeats",
        "refused",
        "picky_list",
        lambda: f'"texts": {items(json.dumps("word " * 8), MANY)}',
    ),
    _called("a list of numbers", "too large", "echo", lambda: f'"text": {items("1")}'),
    _called("numbers of 4,000 digits", "too large", "echo", lambda: f'"text": {items("9" * 4_000)}'),
    _called("numbers of 4,000 digits after all", "refused", "echo", lambda: f'"text": {items("9" * 4_000, 90)}'),
    _called("one number without an end", "too large", "echo", lambda: f'"text": {times("9")}'),
    _called("no number in front of many", "too large", "echo", lambda: f'"text": NaN, "more": {items("0")}'),
    _called("no number in front of a text", "refused", "echo", lambda: f'"more": NaN, "text": "{times("a")}"'),
    _called("a bottomless list", "too large", "echo", lambda: f'"text": {"[" * 1_900_000}{"]" * 1_900_000}'),
    _called("a less deep list", "refused", "echo", lambda: f'"text": {"[" * MANY}{"]" * MANY}'),
    _called(
        "one key again and again", "too large", "echo", lambda: f'{times(chr(34) + "a" + chr(34) + ":1,")}"text": "a"'
    ),
    _called("a long query", "refused", "search_tools", lambda: f'"query": "{times("issue ")}"'),
    _called("the name of a tool", "refused", "describe_tool", lambda: f'"name": "{times("list_issue")}"'),
    _called(
        "a long place to read on",
        "refused",
        "read_more",
        lambda: f'"tool": "big", "arguments": {{"items": 10}}, "path": "{times("a.0.", 60_000)}"',
    ),
    Message(name="the name of the tool itself", kind="refused", members=lambda: call(times("list_issue"), "")),
    Message(
        name="answers to questions", kind="too large", members=lambda: _answered_question(names(60_000, _ACCEPTED))
    ),
    Message(
        name="fewer answers to questions",
        kind="refused",
        members=lambda: _answered_question(names(MANY_IN_PROTOCOL // 4, _ACCEPTED)),
    ),
    Message(
        name="an answer of many parts",
        kind="refused",
        members=lambda: _answered_question(
            f'"a": {{"role": "user", "model": "m", "content": {items("{}", MANY_IN_PROTOCOL)}}}'
        ),
    ),
    Message(
        name="a long state",
        kind="refused",
        members=lambda: f'{call("ask", chr(34) + "question" + chr(34) + ": 1")}, "requestState": "{times("a")}"',
    ),
    Message(name="members of _meta", kind="too large", meta=full_of_names),
    Message(name="a text in _meta", kind="answered", meta=lambda: f'"a": "{times("a")}"'),
    Message(name="unknown options", kind="refused", meta=lambda: f'"dogubako/options": {{{names(MANY_IN_PROTOCOL)}}}'),
    Message(name="a list for a progress token", kind="too large", meta=lambda: f'"progressToken": {items("1")}'),
    Message(name="a long progress token", kind="answered", meta=lambda: f'"progressToken": "{times("a")}"'),
    Message(name="a list for an id", kind="too large", request_id=lambda: items("1")),
    Message(name="a long id", kind="answered", request_id=lambda: f'"{times("a")}"'),
)

# What a session keeps of `initialize` is bounded more tightly than other messages.
IN_INITIALIZE: Final = 300

OTHER_METHODS: Final = (
    _opened("experimental capabilities", "too large", lambda: f'"experimental": {{{full_of_names("{}")}}}'),
    _opened("fewer experimental capabilities", "answered", lambda: f'"experimental": {{{names(IN_INITIALIZE, "{}")}}}'),
    _opened("members of a client", "too large", client=full_of_names),
    _opened("pictures of a client", "refused", client=lambda: f'"icons": {items("{}", IN_INITIALIZE)}'),
    _opened("a client with a long title", "answered", client=lambda: f'"title": "{"a" * 20_000}"'),
    _asked("a long method", "refused", times("a"), str),
    _asked("a long cursor", "refused", "tools/list", lambda: f'"cursor": "{times("a")}"'),
    _asked("a list for a cursor", "too large", "tools/list", lambda: f'"cursor": {items("1")}'),
    _asked("unknown members of a list request", "too large", "tools/list", full_of_names),
    _asked("a long address", "refused", "resources/read", lambda: f'"uri": "n8n://workflows/{times("a/")}"'),
    _asked(
        "a long address to watch", "refused", "resources/subscribe", lambda: f'"uri": "n8n://workflows/{times("a/")}"'
    ),
    _asked(
        "addresses to watch",
        "too large",
        "subscriptions/listen",
        lambda: f'"notifications": {{"resourceSubscriptions": {items(chr(34) + "a:b" + chr(34))}}}',
    ),
    _asked(
        "fewer addresses to watch",
        "refused",
        "subscriptions/listen",
        lambda: f'"notifications": {{"resourceSubscriptions": {items(chr(34) + "a:b" + chr(34), MANY_IN_PROTOCOL)}}}',
    ),
    _asked(
        "blanks that are filled in already",
        "too large",
        "completion/complete",
        lambda: f'{_PROMPT}, "context": {{"arguments": {{{full_of_names(chr(34) * 2)}}}}}',
    ),
    _asked(
        "blanks filled with numbers",
        "refused",
        "completion/complete",
        lambda: f'{_PROMPT}, "context": {{"arguments": {{{names(MANY_IN_PROTOCOL)}}}}}',
    ),
    _asked(
        "arguments of a prompt",
        "too large",
        "prompts/get",
        lambda: f'"name": "triage_issues", "arguments": {{{full_of_names(chr(34) * 2)}}}',
    ),
    _asked(
        "fewer arguments of a prompt",
        "refused",
        "prompts/get",
        lambda: f'"name": "triage_issues", "arguments": {{{names(MANY_IN_PROTOCOL, chr(34) * 2)}}}',
    ),
    _asked("a prompt of a long name", "refused", "prompts/get", lambda: f'"name": "{times("a")}"'),
    _asked("a long level", "refused", "logging/setLevel", lambda: f'"level": "{times("a")}"'),
)


def _long(tool: str, argument: str, text: str, others: str = "") -> Message:
    """A name, an id or a filter of a service, where only a long text is expected to be refused."""
    written = json.dumps(text, ensure_ascii=False)[1:-1]
    value = '["{}"]' if argument == "tags" else '"{}"'
    return _called(
        f"{tool}: {argument}",
        "refused",
        tool,
        lambda: f'{others}"{argument}": {value.format(times(written))}',
    )


LONG_NAMES: Final = (
    _long("list_issues", "project_id", "2024-01-01|"),
    _long("list_issues", "assigned_to_id", "日本"),
    _long("list_issues", "status_id", "1|"),
    _long("list_issues", "subject", "a b "),
    _long("list_issues", "sort", "id,"),
    _long("show_project", "id", "a b "),
    _long("show_issue", "id", "1"),
    _long("search_redmine", "q", "a b "),
    _long("list_workflows", "cursor", "%41"),
    _long("list_workflows", "name", "日本"),
    _long("get_workflow", "id", "日本"),
    _long("get_workflow_node", "nodeName", "日本", '"id": "0c4ef1c893e45d48", '),
    _long("set_workflow_tags", "tags", "a", '"id": "1", '),
    _long("restore_workflow", "backup", "[", '"id": "1", '),
)

# Marks in the wrong order, and a ligature that normalisation makes 18 characters of.
MARKS: Final = "\u0300\u0323"
LIGATURE: Final = "\ufdfa"
NORMALISED: Final = (
    _called("echoed marks", "answered", "echo", lambda: f'"text": "a{times(MARKS)}"'),
    _called("echoed ligatures", "answered", "echo", lambda: f'"text": "{times(LIGATURE)}"'),
    _called("600,000 echoed ligatures", "answered", "echo", lambda: f'"text": "{LIGATURE * 600_000}"'),
    _called("32,000 echoed ligatures", "answered", "echo", lambda: f'"text": "{LIGATURE * 32_000}"'),
    _called("a name of marks", "refused", "echo", lambda: f'"text": "a", "a{times(MARKS)}": 1'),
    _called("a query of marks", "refused", "search_tools", lambda: f'"query": "a{times(MARKS)}"'),
    _called("a project of marks", "refused", "list_issues", lambda: f'"project_id": "a{times(MARKS, 3_900)}"'),
)

MESSAGES: Final = CALLS + OTHER_METHODS + LONG_NAMES + NORMALISED

_CALL: Final = "/v1/tools/call"
_SEARCH: Final = "/v1/tools/search"
RESTS: Final = (
    Rest(
        name="unknown names",
        kind="too large",
        path=_CALL,
        body=lambda: f'{{"name": "list_issues", "parameters": {{{full_of_names()}}}}}',
    ),
    Rest(
        name="fewer unknown names",
        kind="refused",
        path=_CALL,
        body=lambda: f'{{"name": "list_issues", "parameters": {{{names(MANY)}}}}}',
    ),
    Rest(
        name="unknown names beside the name",
        kind="refused",
        path=_CALL,
        body=lambda: f'{{"name": "echo", {names(MANY)}}}',
    ),
    Rest(
        name="unknown options",
        kind="refused",
        path=_CALL,
        body=lambda: f'{{"name": "echo", "options": {{{names(MANY)}}}}}',
    ),
    Rest(
        name="a text of commas",
        kind="answered",
        path=_CALL,
        body=lambda: f'{{"name": "text_length", "parameters": {{"text": "{times(",")}"}}}}',
    ),
    Rest(
        name="a text of marks",
        kind="answered",
        path=_CALL,
        body=lambda: f'{{"name": "echo", "parameters": {{"text": "a{times(MARKS)}"}}}}',
    ),
    Rest(name="no JSON at all", kind="refused", path=_CALL, body=lambda: times("a")),
    Rest(name="a list of empty texts", kind="too large", path=_CALL, body=lambda: items('""')),
    Rest(name="a list of empty objects", kind="too large", path=_CALL, body=lambda: items("{}")),
    Rest(name="a long query", kind="refused", path=_SEARCH, body=lambda: f'{{"query": "{times("issue ")}"}}'),
    Rest(
        name="wrong tags",
        kind="refused",
        path=_SEARCH,
        body=lambda: f'{{"query": "a", "filters": {{"tags": {items("1", MANY)}}}}}',
    ),
    Rest(
        name="one tag again and again",
        kind="answered",
        path=_SEARCH,
        body=lambda: f'{{"query": "a", "filters": {{"tags": {items(chr(34) + "issues" + chr(34), MANY)}}}}}',
    ),
    Rest(
        name="unknown names of a switch",
        kind="refused",
        path="/v1/tools/echo",
        method="PATCH",
        body=lambda: f'{{"enabled": true, {names(MANY)}}}',
    ),
    Rest(
        name="unknown parameters of a query",
        kind="refused",
        path=f"/v1/tools?{'&'.join(f'a{number}' for number in range(2_500))}",
        method="GET",
    ),
    Rest(name="tags of a query", kind="answered", path=f"/v1/tools?tag={','.join(['redmine'] * 1_900)}", method="GET"),
    Rest(name="the name of a tool", kind="refused", path=f"/v1/tools/{times('list_issue', 15_000)}", method="GET"),
)
