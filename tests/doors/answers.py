"""One comparable form for the answers of all doors."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from dogubako.tools import ToolResult

_FACTS: Final = ("code", "retryable", "hint", "errorId", "retryAfter", "details")


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What an agent learns, whatever door it used. `frame` is the JSON-RPC code where the answer came as one."""

    content: Sequence[Any]
    is_error: bool
    facts: Mapping[str, Any] = field(default_factory=dict)
    error_id: str | None = None
    frame: int | None = None

    @property
    def code(self) -> str:
        return str(self.facts.get("code", "OK"))

    @property
    def text(self) -> str:
        """The first block, which must be text."""
        text = self.content[0]["text"]
        assert isinstance(text, str)
        return text

    @property
    def envelope(self) -> dict[str, Any]:
        """The answer of a JSON tool."""
        value = self.content[0]["json"]
        assert isinstance(value, dict)
        return value

    def comparable(self) -> "Answer":
        """Without what differs from call to call and from door to door: the id's value, and the frame."""
        return replace(self, error_id="given" if self.error_id else None, frame=None)


def from_result(result: ToolResult) -> Answer:
    return from_mcp(result.to_mcp())


def from_mcp(result: Mapping[str, Any]) -> Answer:
    """A `tools/call` result, from the wire or from the command line."""
    assert isinstance(result["isError"], bool), "isError must be there, also when it is false"
    facts, error_id = _facts(result.get("_meta") or {})
    return Answer(
        content=[_block(one) for one in result["content"]], is_error=result["isError"], facts=facts, error_id=error_id
    )


def from_response(response: Mapping[str, Any]) -> Answer:
    """A JSON-RPC response: a result, or one of the few failures for which the protocol has a code of its own."""
    if "result" in response:
        return from_mcp(response["result"])
    error = response["error"]
    facts, error_id = _facts(error.get("data") or {})
    texts = [error["message"], *([facts["hint"]] if "hint" in facts else [])]
    content = [_block({"type": "text", "text": text}) for text in texts]
    return Answer(content=content, is_error=True, facts=facts, error_id=error_id, frame=error["code"])


def from_rest(body: Mapping[str, Any]) -> Answer:
    """A REST body: parsed envelope, plain text or content blocks, or a failure."""
    if not body["success"]:
        facts, error_id = _facts(body)
        texts = [body["error"], *([body["hint"]] if "hint" in body else [])]
        content = [_block({"type": "text", "text": text}) for text in texts]
        # REST always lists details; elsewhere an empty list is left out.
        facts = {key: value for key, value in facts.items() if value != []}
        return Answer(content=content, is_error=True, facts=facts, error_id=error_id)
    result = body["result"]
    if isinstance(result, str):
        return Answer(content=[_block({"type": "text", "text": result})], is_error=False)
    if isinstance(result, list):
        return Answer(content=[_block(one) for one in result], is_error=False)
    return Answer(content=[{"json": result}], is_error=False)


def _facts(source: Mapping[str, Any]) -> tuple[dict[str, Any], str | None]:
    facts = {key: source[key] for key in _FACTS if key in source}
    return facts, facts.pop("errorId", None)


def _block(block: Mapping[str, Any]) -> dict[str, Any]:
    """A JSON tool's text is compared as data: REST shows it parsed, all others as text."""
    if block["type"] == "text":
        try:
            value = json.loads(block["text"])
        except ValueError:
            return dict(block)
        if isinstance(value, dict):
            return {"json": value}
    return dict(block)
