"""Questions of tools and their answers, as MCP writes them."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Final

from dogubako.contract.conversation import (
    URL_ELICITATION,
    ElicitRequest,
    ElicitResult,
    InputAnswer,
    InputRequest,
    InputRequests,
    Root,
    Sample,
    SampleRequest,
    UrlRequest,
    capability_of,
)

_METHODS: Final = {
    "elicitation": "elicitation/create",
    URL_ELICITATION: "elicitation/create",
    "sampling": "sampling/createMessage",
    "roots": "roots/list",
}


def written_requests(requests: InputRequests) -> dict[str, Any]:
    """The `inputRequests` of a result that waits for input."""
    return {
        key: {"method": _METHODS[capability_of(one)], "params": request_params(one)} for key, one in requests.items()
    }


def request_params(request: InputRequest) -> dict[str, Any]:
    """The request as MCP parameters."""
    if isinstance(request, ElicitRequest):
        return {"message": request.message, "requestedSchema": dict(request.schema)}
    if isinstance(request, UrlRequest):
        return {"mode": "url", "message": request.message, "url": request.url}
    if isinstance(request, SampleRequest):
        message = {"role": "user", "content": {"type": "text", "text": request.prompt}}
        system = {"systemPrompt": request.system} if request.system else {}
        return {"messages": [message], "maxTokens": request.max_tokens} | system
    return {}


def written_answer(answer: InputAnswer, question: InputRequest) -> dict[str, Any]:
    """An answer as a client sends it."""
    if isinstance(answer, ElicitResult) and isinstance(question, UrlRequest):
        return {"action": answer.action}
    if isinstance(answer, ElicitResult):
        return {"action": answer.action, **({"content": dict(answer.content)} if answer.accepted else {})}
    if isinstance(answer, Sample):
        content = {"type": "text", "text": answer.text}
        return {"role": "assistant", "content": content, "model": answer.model, "stopReason": "endTurn"}
    return {"roots": [{"uri": root.uri, **({"name": root.name} if root.name else {})} for root in answer]}


def question_digest(key: str, request: InputRequest) -> str:
    """Hash of a question: what the client is shown, and the call that it belongs to."""
    content = {field.name: getattr(request, field.name) for field in fields(request)}
    text = json.dumps([key, type(request).__name__, content], sort_keys=True, default=_jsonable)
    return hashlib.sha256(text.encode()).hexdigest()


def _jsonable(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else str(value)


def read_answer(request: InputRequest, raw: Any) -> InputAnswer | None:
    """The answer if it fits the question, else None: then the question is asked again."""
    if not isinstance(raw, Mapping):
        return None
    if isinstance(request, ElicitRequest):
        return _read_form(raw, request.schema)
    if isinstance(request, UrlRequest):
        return _read_form(raw, None)
    if isinstance(request, SampleRequest):
        return _read_sample(raw)
    roots = raw.get("roots")
    if not isinstance(roots, list) or not all(isinstance(root, Mapping) and "uri" in root for root in roots):
        return None
    return tuple(Root(uri=str(root["uri"]), name=root.get("name")) for root in roots)


def _read_form(raw: Mapping[str, Any], schema: Mapping[str, Any] | None) -> ElicitResult | None:
    action = raw.get("action")
    if action not in ("accept", "decline", "cancel"):
        return None
    if schema is None:
        return ElicitResult(action=action, content={})
    content = raw.get("content") or {}
    # Needed only where somebody was asked.
    import jsonschema_rs  # noqa: PLC0415

    if action == "accept" and not jsonschema_rs.is_valid(dict(schema), content):
        return None
    return ElicitResult(action=action, content=content)


def _read_sample(raw: Mapping[str, Any]) -> Sample | None:
    content = raw.get("content")
    blocks = content if isinstance(content, list) else [content]
    texts = [block["text"] for block in blocks if isinstance(block, Mapping) and isinstance(block.get("text"), str)]
    return Sample(text="\n".join(texts), model=str(raw.get("model", ""))) if texts else None
