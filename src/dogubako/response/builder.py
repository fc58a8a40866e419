"""`ToolResponseBuilder`: from what a tool returned to an answer that is valid, fits, and keeps our secrets."""

import base64
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from dogubako.contract.call import ToolResult
from dogubako.contract.errors import (
    AnswerTooLargeError,
    DogubakoError,
    ValidationError,
    ValidationErrorContext,
)
from dogubako.contract.output import (
    Audio,
    Content,
    Embedded,
    Image,
    Language,
    Link,
    Markdown,
    Message,
    Mixed,
    Output,
    Page,
    Text,
    Xml,
)
from dogubako.contract.secrets import Redactor
from dogubako.response import envelope, fitting
from dogubako.response.check import assert_mcp_tool_response
from dogubako.response.continuation import Continuation
from dogubako.response.plain import clean_text
from dogubako.response.tokens import count_tokens, far_above
from dogubako.response.trim import Cut, cut_text, sentence_for, share_out, take_whole

DEFAULT_MAX_TOKENS = 25_000

# What the frame around a block costs: its type and the punctuation.
_BLOCK_TOKENS = 12

# Of a text among others, less than this would be all note and no text.
_SMALLEST_PART = 200
_NOTE_ROOM = 60

_BASE64 = ("data", "blob")

CheckStructured = Callable[[Any], None]
_NO_SECRETS = Redactor()


class ToolResponseBuilder:
    """Builds every answer of one call, or of all calls that have no wishes of their own."""

    __slots__ = ("check_structured", "continuation", "language", "max_tokens", "redactor")

    def __init__(
        self,
        *,
        language: Language = "en",
        max_tokens: int = DEFAULT_MAX_TOKENS,
        redactor: Redactor = _NO_SECRETS,
        check_structured: CheckStructured | None = None,
        continuation: Continuation | None = None,
    ) -> None:
        self.language = language
        self.max_tokens = max_tokens
        self.redactor = redactor
        self.check_structured = check_structured
        self.continuation = continuation

    def for_call(
        self,
        max_tokens: int | None,
        check_structured: CheckStructured | None = None,
        continuation: Continuation | None = None,
    ) -> "ToolResponseBuilder":
        """The same builder with a smaller budget, for a tool's own output schema, for one call's rest."""
        return ToolResponseBuilder(
            language=self.language,
            max_tokens=min(max_tokens, self.max_tokens) if max_tokens else self.max_tokens,
            redactor=self.redactor,
            check_structured=check_structured,
            continuation=continuation,
        )

    def success(self, answer: Any) -> ToolResult:
        """Build the answer to a call that worked. What another tool has answered already passes unchanged."""
        if isinstance(answer, ToolResult):
            return answer
        if self.continuation is not None:
            answer = self.continuation.begin(answer, self.redactor.known)
        result = self._build(answer, self.max_tokens - _BLOCK_TOKENS)
        if result.tokens > self.max_tokens:
            raise AnswerTooLargeError(
                f"The answer does not fit {self.max_tokens:,} tokens.", hint="Call again with a larger maxTokens."
            )
        if self.check_structured is not None and result.structured is None:
            raise TypeError("a tool that declares an output schema must return data")
        assert_mcp_tool_response(result.to_mcp())
        return result

    def failure(self, error: DogubakoError) -> ToolResult:
        """The message is the first block, exactly; the hint, if there is room, is the second."""
        room = self.max_tokens - 2 * _BLOCK_TOKENS
        error.message = self._short(self.redactor.mask(clean_text(error.message)), room * 2 // 3)
        error.hint = self._short(self.redactor.mask(clean_text(error.hint)), room // 3) if error.hint else None
        if isinstance(error, ValidationError):
            error.errors = [self._discreet(one) for one in error.errors]
        texts = [error.message or error.code, *([error.hint] if error.hint else [])]
        return ToolResult(
            content=tuple({"type": "text", "text": text} for text in texts),
            kind="text",
            is_error=error.is_error,
            error=error if error.is_error else None,
            tokens=sum(count_tokens(text) + _BLOCK_TOKENS for text in texts),
            count=None if error.is_error else 0,
        )

    def _discreet(self, wrong: ValidationErrorContext) -> ValidationErrorContext:
        mask = self.redactor.mask
        return replace(wrong, field=mask(clean_text(wrong.field)), message=mask(clean_text(wrong.message)))

    def _build(self, answer: Any, budget: int) -> ToolResult:
        mask = self.redactor.known
        match answer:
            case str():
                return self._plain_text(answer, budget)
            case Text():
                return self._text_result(fitting.plain_text(answer, budget, self._next, mask), answer)
            case Markdown():
                return self._text_result(fitting.markdown(answer, budget, self._next, mask), answer)
            case Xml():
                return self._text_result(fitting.xml(answer, budget, self._next, mask), answer)
            case Image() | Audio() | Embedded() | Link():
                return self._block_result(answer, budget)
            case Mixed():
                return self._mixed(answer.parts, answer, budget)
            case list() | tuple() if answer and all(isinstance(part, Content) for part in answer):
                return self._mixed(answer, None, budget)
            case Output():
                return self._json(answer, budget)
            case _:
                return self._json(Output(data=answer), budget)

    def _plain_text(self, answer: str, budget: int) -> ToolResult:
        text = self.redactor.known(clean_text(answer))
        if not far_above(text, budget) and (tokens := count_tokens(text)) <= budget:
            return ToolResult(content=({"type": "text", "text": text},), kind="text", tokens=tokens + _BLOCK_TOKENS)
        fitted = fitting.plain_text(Text(text=text), budget, self._next, self.redactor.known)
        return self._text_result(fitted, answer=None)

    def _text_result(self, fitted: fitting.Fitted, answer: Content | None) -> ToolResult:
        return ToolResult(
            content=({"type": "text", "text": fitted.text},),
            kind="text",
            tokens=fitted.tokens + _BLOCK_TOKENS,
            count=answer.count if answer else None,
            cacheable=answer.cacheable if answer else False,
            trimmed=fitted.trimmed,
        )

    def _json(self, output: Output, budget: int) -> ToolResult:
        structured = self.check_structured is not None
        # A declared output travels twice, as text for old clients and as data for new ones.
        share = budget // 2 if structured else budget
        built = envelope.build(output, self._message(output), share, self._next, self.redactor.known)
        result = ToolResult(
            content=({"type": "text", "text": built.text},),
            kind="json",
            tokens=built.tokens + _BLOCK_TOKENS,
            count=output.count,
            cacheable=output.cacheable,
            trimmed=built.trimmed,
        )
        if self.check_structured is None:
            return result
        data = result.value["data"]
        try:
            self.check_structured(data)
        except ValueError:
            if not built.trimmed:
                raise
            raise _too_large("The answer, cut to fit, would break the tool's own output schema.") from None
        return msgspec.structs.replace(result, structured=data, tokens=result.tokens * 2)

    def _block_result(self, answer: Image | Audio | Embedded | Link, budget: int) -> ToolResult:
        block = self._clean(_block(answer))
        tokens = _block_tokens(block)
        if tokens > budget:
            block = self._clean(_stand_in(answer, tokens, budget))
            tokens = _block_tokens(block)
        return ToolResult(
            content=(block,), tokens=tokens + _BLOCK_TOKENS, count=answer.count, cacheable=answer.cacheable
        )

    def _mixed(self, parts: Sequence[Content | str], whole: Content | None, budget: int) -> ToolResult:
        """Pictures and files keep their place or fail; texts share what is left."""
        results: dict[int, ToolResult] = {}
        for index, part in enumerate(parts):
            if not isinstance(part, str | Text | Markdown | Xml | Output):
                results[index] = self._build(part, budget - _BLOCK_TOKENS)
                budget -= results[index].tokens
        results |= self._share({index: part for index, part in enumerate(parts) if index not in results}, budget)
        ordered = [results[index] for index in sorted(results)]
        return ToolResult(
            content=tuple(block for result in ordered for block in result.content),
            structured=next((result.structured for result in ordered if result.structured is not None), None),
            tokens=sum(result.tokens for result in ordered),
            count=whole.count if whole else None,
            cacheable=whole.cacheable if whole else False,
            trimmed=any(result.trimmed for result in ordered),
        )

    def _share(self, texts: Mapping[int, Content | str], budget: int) -> dict[int, ToolResult]:
        """Short texts whole, long ones cut to equal shares; of too many the last ones go, and are counted."""
        results = {index: self._build(part, budget - _BLOCK_TOKENS) for index, part in texts.items()}
        costs = {index: result.tokens for index, result in results.items()}
        if sum(costs.values()) <= budget:
            return results
        budget -= _NOTE_ROOM
        shares = dict(zip(texts, share_out(list(costs.values()), budget), strict=True))
        if any(share < min(costs[index], _SMALLEST_PART) for index, share in shares.items()):
            shown = max(take_whole(costs.values(), budget), 1)
            shares = {index: min(costs[index], budget) for index in list(texts)[:shown]}
        results = {index: self._build(texts[index], share - _BLOCK_TOKENS) for index, share in shares.items()}
        if len(results) < len(texts):
            cut = Cut(path="", shown=len(results), total=len(texts), unit="parts")
            note = self._build(f"[{sentence_for([cut], self.max_tokens)}]", budget)
            results[max(texts) + 1] = msgspec.structs.replace(note, trimmed=True)
        return results

    def _clean(self, block: dict[str, Any]) -> dict[str, Any]:
        """The texts of a block without secrets and half characters; base64 stays as it is."""
        return {key: self._clean_value(key, value) for key, value in block.items()}

    def _clean_value(self, key: str, value: Any) -> Any:
        if isinstance(value, dict):
            return self._clean(value)
        return self.redactor.known(clean_text(value)) if isinstance(value, str) and key not in _BASE64 else value

    def _next(self, page: Page | None, cuts: Sequence[Cut]) -> str | None:
        """The call that gets what was left out: the tool's own paging where it has one, else the general way."""
        if page is not None:
            paths = ("", page.path, f"data.{page.path}".rstrip("."))
            parts = (cut.shown for cut in cuts if cut.path in paths and cut.unit != "characters")
            if shown := next(parts, 0):
                return self.redactor.known(page.next_call(shown))
        return self.continuation.next_call(cuts[-1]) if self.continuation is not None and cuts else None

    def _message(self, output: Output) -> str:
        return output.message.text(self.language) if isinstance(output.message, Message) else output.message

    def _short(self, text: str, budget: int) -> str:
        return text if count_tokens(text) <= budget else cut_text(text, budget)


def _block(answer: Image | Audio | Embedded | Link) -> dict[str, Any]:
    match answer:
        case Link():
            named = {"title": answer.title, "description": answer.description, "size": answer.size}
            known = {key: value for key, value in named.items() if value is not None}
            return {"type": "resource_link", "uri": answer.uri, "name": answer.name} | known | _mime(answer)
        case Embedded(body=str(text)):
            resource: dict[str, Any] = {"uri": answer.uri, "text": text} | _mime(answer)
            return {"type": "resource", "resource": resource}
        case Embedded(body=bytes(blob)):
            resource = {"uri": answer.uri, "blob": base64.b64encode(blob).decode()} | _mime(answer)
            return {"type": "resource", "resource": resource}
        case Image() | Audio():
            kind = "image" if isinstance(answer, Image) else "audio"
            return {"type": kind, "data": base64.b64encode(answer.data).decode(), "mimeType": answer.mime_type}
    raise TypeError(f"a tool returned {type(answer).__name__}, which is no content")


def _stand_in(answer: Content, tokens: int, budget: int) -> dict[str, Any]:
    """Half a picture is no picture: show where the whole one is, or say that it does not fit."""
    uri = getattr(answer, "uri", None)
    if uri is None or isinstance(answer, Link):
        raise _too_large(f"The answer needs about {tokens:,} tokens and the response budget is {budget:,}.")
    return {"type": "resource_link", "uri": uri, "name": uri.rsplit("/", 1)[-1] or uri} | _mime(answer)


def _too_large(message: str) -> AnswerTooLargeError:
    return AnswerTooLargeError(message, hint="Ask for a smaller version, or for a link instead of the content.")


def _mime(answer: Content) -> dict[str, str]:
    mime_type = getattr(answer, "mime_type", None)
    return {"mimeType": mime_type} if mime_type else {}


def _block_tokens(block: dict[str, Any]) -> int:
    parts = {**block, **block.get("resource", {})}
    return sum(count_tokens(value) for value in parts.values() if isinstance(value, str))
