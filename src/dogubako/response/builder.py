"""`ToolResponseBuilder`: from what a tool returned to an answer that is valid, fits, and keeps our secrets."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from dogubako.contract.call import ToolResult
from dogubako.contract.errors import AnswerTooLargeError, DogubakoError
from dogubako.contract.output import (
    Audio,
    Blocks,
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
from dogubako.response import envelope, failures, fitting
from dogubako.response.blocks import BLOCK_TOKENS as _BLOCK_TOKENS
from dogubako.response.blocks import block_cost, fit_foreign, text_block
from dogubako.response.check import assert_mcp_tool_response
from dogubako.response.continuation import Continuation
from dogubako.response.foreign_block import NOT_JSON, plain_copy
from dogubako.response.media import media_block, too_large
from dogubako.response.plain import clean_text, encode, masked_json
from dogubako.response.taken_apart import contents_of, envelope_of, failure_in, shared_facts
from dogubako.response.tokens import count_tokens, far_above
from dogubako.response.trim import Cut, sentence_for, share_out, take_whole

DEFAULT_MAX_TOKENS = 25_000

# Of a text among others, less than this would be all note and no text.
_SMALLEST_PART = 200
_NOTE_ROOM = 60
# Beside structured data there is room for one text that says what was left out.
_SMALLEST_CONTENT = 60

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
        """Build the answer to a call that worked. The result of another call is taken apart and built again."""
        if isinstance(answer, ToolResult):
            return self._rebuilt(answer)
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
        result = failures.failed(error, self.redactor.mask, self.max_tokens)
        # It was logged. Its frames would keep everything that they worked on until the next garbage collection.
        error.drop_traceback()
        return result

    def presentable(self, error: DogubakoError) -> DogubakoError:
        """A copy of the error without secrets and inside the budget, for what is no answer of a tool."""
        return failures.presentable(error, self.redactor.mask, self.max_tokens)

    def _rebuilt(self, result: ToolResult) -> ToolResult:
        """Whoever made the result: it fits, is valid and holds no secret afterwards."""
        if result.pending is not None:
            return ToolResult(content=(), pending=result.pending)
        if (error := failure_in(result)) is not None:
            return self.failure(error)
        built = self._note_kept(result)
        if built is None:
            built = self.success(contents_of(result, structured=self.check_structured is not None))
        # A text that consists of several blocks is still read as a text.
        kind = "text" if result.kind == "text" and built.content[0]["type"] == "text" else built.kind
        return msgspec.structs.replace(built, kind=kind, trimmed=built.trimmed or result.trimmed is True)

    def _note_kept(self, result: ToolResult) -> ToolResult | None:
        """A JSON answer that was cut before and still fits: its note names the call that shows the rest."""
        plain = self.check_structured is None and (self.continuation is None or not self.continuation.resumes)
        cut = envelope_of(result) if plain else None
        if cut is None or cut.keys() != {"success", "message", "data", envelope.TRUNCATED}:
            return None
        text = masked_json(encode(cut), self.redactor.known)
        if far_above(text, self.max_tokens) or (tokens := count_tokens(text) + _BLOCK_TOKENS) > self.max_tokens:
            return None
        return ToolResult(content=(text_block(text),), kind="json", tokens=tokens, trimmed=True, **shared_facts(result))

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
            case Blocks():
                return self._blocks(answer, budget)
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
            return ToolResult(content=(text_block(text),), kind="text", tokens=tokens + _BLOCK_TOKENS)
        fitted = fitting.plain_text(Text(text=text), budget, self._next, self.redactor.known)
        return self._text_result(fitted, answer=None)

    def _text_result(self, fitted: fitting.Fitted, answer: Content | None) -> ToolResult:
        return ToolResult(
            content=(text_block(fitted.text),),
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
            content=(text_block(built.text),),
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
            raise too_large("The answer, cut to fit, would break the tool's own output schema.") from None
        return msgspec.structs.replace(result, structured=data, tokens=result.tokens * 2)

    def _blocks(self, answer: Blocks, budget: int) -> ToolResult:
        """Blocks from elsewhere: each is checked, and they share the budget."""
        content, structured, spent, next_call = answer.content, None, 0, self._next
        if self.check_structured is not None:
            structured, spent = self._structured(answer.structured, budget)
            # The text repeats the data, which is there as a whole.
            next_call = _no_next
        elif not content and answer.structured is not None:
            try:
                data = plain_copy(answer.structured, self.redactor.known)
            except NOT_JSON:
                content = [text_block("[The structured data was left out: not JSON.]")]
            else:
                return self._json(Output(data=data, count=answer.count, cacheable=answer.cacheable), budget)
        fitted = fit_foreign(content, budget - spent, next_call, self.redactor.known)
        return ToolResult(
            content=fitted.content,
            structured=structured,
            tokens=fitted.tokens + spent,
            count=answer.count,
            cacheable=answer.cacheable,
            trimmed=fitted.trimmed,
        )

    def _structured(self, structured: Any, budget: int) -> tuple[Any, int]:
        """Data that was promised, checked and without secrets, and what it costs."""
        if structured is None or self.check_structured is None:
            return None, 0
        if far_above(encode(structured), budget):
            raise too_large("The structured data does not fit the response budget.")
        data = plain_copy(structured, self.redactor.known)
        cost = count_tokens(encode(data)) + _BLOCK_TOKENS
        if cost > budget - _SMALLEST_CONTENT:
            raise too_large("The structured data does not fit the response budget.")
        self.check_structured(data)
        return data, cost

    def _block_result(self, answer: Image | Audio | Embedded | Link, budget: int) -> ToolResult:
        block = media_block(answer, budget, self.redactor.known)
        return ToolResult(content=(block,), tokens=block_cost(block), count=answer.count, cacheable=answer.cacheable)

    def _mixed(self, parts: Sequence[Content | str], whole: Content | None, budget: int) -> ToolResult:
        """Pictures and files keep their place or fail; texts share what is left."""
        results: dict[int, ToolResult] = {}
        for index, part in enumerate(parts):
            if not isinstance(part, str | Text | Markdown | Xml | Output | Blocks):
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


def _no_next(page: Page | None, cuts: Sequence[Cut]) -> str | None:
    return None
