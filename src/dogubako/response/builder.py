"""`ToolResponseBuilder`: build valid answers within the token budget and without secrets."""

import sys
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import Any, Final, Literal

import msgspec

from dogubako.contract.call import ToolResult, text_block
from dogubako.contract.errors import AnswerTooLargeError, DogubakoError
from dogubako.contract.offload import check_size, has_more_values
from dogubako.contract.output import (
    Audio,
    Blocks,
    Content,
    Embedded,
    Image,
    Json,
    Language,
    Link,
    Markdown,
    Message,
    Mixed,
    NextPage,
    Text,
    Xml,
)
from dogubako.contract.redaction import Redactor
from dogubako.response import failures
from dogubako.response import json as json_answers
from dogubako.response import text as text_answers
from dogubako.response.blocks import BLOCK_TOKENS as _BLOCK_TOKENS
from dogubako.response.blocks import block_cost, fit_foreign, media_block, too_large
from dogubako.response.check import assert_content
from dogubako.response.continuation import CUTTABLE, Continuation
from dogubako.response.foreign_block import NOT_JSON, plain_copy
from dogubako.response.jsonable import clean_text, encode, masked_json
from dogubako.response.result_contents import contents_of, envelope_of, failure_in, shared_facts
from dogubako.response.tokens import count_tokens, far_above, far_above_characters
from dogubako.response.truncation import Cut, sentence_for, share_out, take_whole

DEFAULT_MAX_TOKENS = 25_000

# Below this many tokens only the truncation note of a text among others would fit.
_SMALLEST_PART = 200
_NOTE_ROOM = 60
# Between the places of two parts: a note stands behind the last part that it counts.
_NOTE_PLACE: Final = 0.5
# Beside structured data there is room for one text that says what was left out.
_SMALLEST_CONTENT = 60

# Converts the data of an answer to its structured content; raises ValueError if the data violates the output schema.
CheckStructured = Callable[[Any], Any]
_NO_SECRETS = Redactor()


class ToolResponseBuilder(msgspec.Struct, kw_only=True, eq=False):
    """Builds the answers of one call, or of all calls with default options."""

    language: Language = "en"
    max_tokens: int = DEFAULT_MAX_TOKENS
    redactor: Redactor = _NO_SECRETS
    check_structured: CheckStructured | None = None
    continuation: Continuation | None = None
    # Whether data has to be encoded in pieces.
    large: bool = False

    def for_call(
        self,
        max_tokens: int | None,
        check_structured: CheckStructured | None = None,
        continuation: Continuation | None = None,
        secrets: Sequence[str] = (),
    ) -> "ToolResponseBuilder":
        """A copy of the builder with the options of one call: budget, output schema, continuation, more to mask."""
        return ToolResponseBuilder(
            language=self.language,
            max_tokens=min(max_tokens, self.max_tokens) if max_tokens else self.max_tokens,
            redactor=self.redactor.including(*secrets) if secrets else self.redactor,
            check_structured=check_structured,
            continuation=continuation,
        )

    def success(self, answer: Any, *, in_pieces: bool = False) -> ToolResult:
        """Build the answer to a successful call. The result of another call is taken apart and rebuilt.

        `in_pieces`: the answer is so large that no step may work on all of it. It is refused if that is not possible.
        """
        if in_pieces:
            check_size(answer)
            builder = copy(self)
            builder.large = True
            return builder.success(answer)
        if isinstance(answer, ToolResult):
            return self._rebuilt(answer)
        if self.continuation is not None and self.continuation.resume is not None:
            answer = self.continuation.begin(answer, self.redactor.mask_configured)
        budget = self.max_tokens - _BLOCK_TOKENS
        result = self._plain_text(answer, budget) if type(answer) is str else self._build(answer, budget)
        if result.tokens > self.max_tokens:
            raise AnswerTooLargeError(
                f"The answer does not fit {self.max_tokens:,} tokens.", hint="Call again with a larger maxTokens."
            )
        if self.check_structured is not None and result.structured is None:
            raise TypeError("a tool that declares an output schema must return data")
        # What else `assert_mcp_tool_response` wants is so by the type of the result.
        assert_content(result.content)
        return result

    def failure(self, error: DogubakoError) -> ToolResult:
        """Build the answer to a failed call: the message is the first block; the hint, if there is room, the second."""
        return failures.failed(error, self.redactor.mask_all, self.max_tokens)

    def presentable(self, error: DogubakoError) -> DogubakoError:
        """A copy of the error without secrets and within the budget, for errors that are not a tool's answer."""
        return failures.presentable(error, self.redactor.mask_all, self.max_tokens)

    def _rebuilt(self, result: ToolResult) -> ToolResult:
        """Build the result of another call again, so that it fits, is valid and holds no secret."""
        if result.pending:
            return ToolResult(content=(), pending=result.pending)
        if (error := failure_in(result)) is not None:
            return self.failure(error)
        built = self._note_kept(result)
        if built is None:
            built = self.success(contents_of(result, structured=self.check_structured is not None))
        # A text of several blocks is still of kind `text`.
        kind = "text" if result.kind == "text" and built.content[0]["type"] == "text" else built.kind
        return msgspec.structs.replace(built, kind=kind, trimmed=built.trimmed or result.trimmed is True)

    def _note_kept(self, result: ToolResult) -> ToolResult | None:
        """A truncated JSON answer that still fits: its note names the call for the rest."""
        plain = self.check_structured is None and (self.continuation is None or not self.continuation.resumes)
        cut = envelope_of(result) if plain else None
        if cut is None or cut.keys() != {"success", "message", "data", json_answers.TRUNCATED}:
            return None
        text = masked_json(encode(cut), self.redactor.mask_configured)
        if far_above(text, self.max_tokens) or (tokens := count_tokens(text) + _BLOCK_TOKENS) > self.max_tokens:
            return None
        return ToolResult(content=(text_block(text),), kind="json", tokens=tokens, trimmed=True, **shared_facts(result))

    def _build(self, answer: Any, budget: int) -> ToolResult:
        mask = self.redactor.mask_configured
        match answer:
            case str():
                return self._plain_text(answer, budget)
            case Text():
                return self._text_result(text_answers.plain_text(answer, budget, self._next, mask), answer)
            case Markdown():
                return self._text_result(text_answers.markdown(answer, budget, self._next, mask), answer)
            case Xml():
                return self._text_result(text_answers.xml(answer, budget, self._next, mask), answer)
            case Image() | Audio() | Embedded() | Link():
                return self._block_result(answer, budget)
            case Blocks():
                return self._blocks(answer, budget)
            case Mixed():
                return self._mixed(answer.parts, answer, budget)
            case list() | tuple() if answer and all(isinstance(part, Content) for part in answer):
                return self._mixed(answer, None, budget)
            case Json():
                return self._json(answer, budget)
            case _:
                return self._json(Json(data=answer), budget)

    def _plain_text(self, answer: str, budget: int) -> ToolResult:
        text = self.redactor.mask_configured(clean_text(answer))
        # A text that has fewer characters than tokens are allowed is not far above.
        looks_short = len(text) <= budget or not far_above(text, budget)
        if looks_short and (tokens := count_tokens(text)) <= budget:
            return ToolResult(content=({"type": "text", "text": text},), kind="text", tokens=tokens + _BLOCK_TOKENS)
        fitted = text_answers.plain_text(Text(text=text), budget, self._next, self.redactor.mask_configured)
        return self._text_result(fitted, answer=None)

    def _text_result(self, fitted: text_answers.Fitted, answer: Content | None) -> ToolResult:
        return ToolResult(
            content=(text_block(fitted.text),),
            kind="text",
            tokens=fitted.tokens + _BLOCK_TOKENS,
            count=answer.count if answer else None,
            cacheable=answer.cacheable if answer else False,
            trimmed=fitted.trimmed,
        )

    def _json(self, output: Json, budget: int) -> ToolResult:
        structured = self.check_structured is not None
        # Declared output is sent twice: as text for old clients and as data for new ones. `budget` has one block off.
        share = (budget - _BLOCK_TOKENS) // 2 if structured else budget
        message, mask = self._message(output), self.redactor.mask_configured
        built = json_answers.build(output, message, share, self._next, mask, large=self.large)
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
        try:
            structured_content = self.check_structured(result.value["data"])
        except ValueError:
            if not built.trimmed:
                raise
            raise too_large("The answer, cut to fit, would break the tool's own output schema.") from None
        return msgspec.structs.replace(result, structured=structured_content, tokens=result.tokens * 2)

    def _blocks(self, answer: Blocks, budget: int) -> ToolResult:
        """Check foreign blocks and share the budget among them."""
        content, structured, spent, next_call = answer.content, None, 0, self._next
        if self.check_structured is not None:
            structured, spent = self._structured(answer.structured, budget)
            # The text repeats the data, which is complete.
            next_call = _no_next
        elif not content and answer.structured is not None:
            try:
                data = plain_copy(answer.structured, self.redactor.mask_configured)
            except NOT_JSON:
                content = [text_block("[The structured data was left out: not JSON.]")]
            else:
                return self._json(Json(data=data, count=answer.count, cacheable=answer.cacheable), budget)
        fitted = fit_foreign(content, budget - spent, next_call, self.redactor.mask_configured)
        return ToolResult(
            content=fitted.content,
            structured=structured,
            tokens=fitted.tokens + spent,
            count=answer.count,
            cacheable=answer.cacheable,
            trimmed=fitted.trimmed,
        )

    def _structured(self, structured: Any, budget: int) -> tuple[Any, int]:
        """The structured data, validated and masked, and its cost."""
        if structured is None or self.check_structured is None:
            return None, 0
        if has_more_values(structured, far_above_characters(budget), 1):
            raise too_large("The structured data does not fit the response budget.")
        data = plain_copy(structured, self.redactor.mask_configured)
        cost = count_tokens(encode(data)) + _BLOCK_TOKENS
        if cost > budget - _SMALLEST_CONTENT:
            raise too_large("The structured data does not fit the response budget.")
        return self.check_structured(data), cost

    def _block_result(self, answer: Image | Audio | Embedded | Link, budget: int) -> ToolResult:
        block = media_block(answer, budget, self.redactor.mask_configured)
        return ToolResult(content=(block,), tokens=block_cost(block), count=answer.count, cacheable=answer.cacheable)

    def _mixed(self, parts: Sequence[Content | str], whole: Content | None, budget: int) -> ToolResult:
        """Pictures and files keep their place or fail; links are shown until one does not fit; texts share the rest."""
        results: dict[float, ToolResult] = {}
        texts = {index: part for index, part in enumerate(parts) if isinstance(part, CUTTABLE)}
        links = {index: part for index, part in enumerate(parts) if isinstance(part, Link)}
        for index, part in enumerate(parts):
            if index not in texts and index not in links:
                results[index] = self._build(part, budget - _BLOCK_TOKENS)
                budget -= results[index].tokens
        shown = self._links(links, budget // 2 if texts else budget, only=len(links) == len(parts))
        budget -= sum(result.tokens for result in shown.values())
        results |= shown | self._share(texts, budget)
        ordered = [results[index] for index in sorted(results)]
        return ToolResult(
            content=tuple(block for result in ordered for block in result.content),
            structured=next((result.structured for result in ordered if result.structured is not None), None),
            tokens=sum(result.tokens for result in ordered),
            count=whole.count if whole else None,
            cacheable=whole.cacheable if whole else False,
            trimmed=any(result.trimmed for result in ordered),
        )

    def _links(self, links: Mapping[int, Link], budget: int, *, only: bool) -> dict[float, ToolResult]:
        """The first links that fit, and a note that counts the others. An answer of links alone has at least one."""
        results: dict[float, ToolResult] = {}
        blocks = (
            (index, media_block(link, sys.maxsize, self.redactor.mask_configured)) for index, link in links.items()
        )
        for index, block in blocks:
            cost = block_cost(block)
            # The note has room until the last link has been shown.
            if cost > budget - (_NOTE_ROOM if len(results) + 1 < len(links) else 0):
                break
            results[index] = ToolResult(content=(block,), tokens=cost)
            budget -= cost
        if only and links and not results:
            return {0: self._build(links[0], budget)}
        if len(results) < len(links):
            results[max(links) + _NOTE_PLACE] = self._left_out(len(results), len(links), "links", budget)
        return results

    def _share(self, texts: Mapping[int, Content | str], budget: int) -> dict[float, ToolResult]:
        """Short texts whole, long ones cut to equal shares; of too many the last ones go, and are counted."""
        if len(texts) > 1 and self.continuation is not None:
            # A call that reads on could not say in which of them.
            return self._without_continuation()._share(texts, budget)
        costs, built = self._costs(texts, budget)
        if len(costs) == len(texts) and sum(costs.values()) <= budget:
            shares = costs
        else:
            budget -= _NOTE_ROOM
            shares = dict(zip(costs, share_out(list(costs.values()), budget), strict=True))
            if len(costs) < len(texts) or any(
                share < min(costs[index], _SMALLEST_PART) for index, share in shares.items()
            ):
                shown = max(take_whole(costs.values(), budget), 1)
                shares = {index: min(costs[index], budget) for index in list(texts)[:shown]}
        results: dict[float, ToolResult] = {
            index: built[index]
            if index in built and costs[index] <= share
            else self._build(texts[index], share - _BLOCK_TOKENS)
            for index, share in shares.items()
        }
        if len(results) < len(texts):
            results[max(texts) + _NOTE_PLACE] = self._left_out(len(results), len(texts), "parts", budget)
        return results

    def _without_continuation(self) -> "ToolResponseBuilder":
        builder = copy(self)
        builder.continuation = None
        return builder

    def _costs(self, texts: Mapping[int, Content | str], budget: int) -> tuple[dict[int, int], dict[int, ToolResult]]:
        """Count the tokens of each text, of no more texts than fit, and return the texts that were built for it.

        Each is read once. A text that is too long costs the whole budget, and is cut only to what will be shown of it.
        """
        budget, costs = max(budget, 1), dict[int, int]()
        built: dict[int, ToolResult] = {}
        least = 0
        for index, part in texts.items():
            if least > budget:
                break
            if isinstance(part, str | Text):
                costs[index] = self._text_cost(part if isinstance(part, str) else part.text, budget)
            else:
                built[index] = self._build(part, budget - _BLOCK_TOKENS)
                costs[index] = built[index].tokens
            least += min(costs[index], _SMALLEST_PART)
        return costs, built

    def _text_cost(self, text: str, budget: int) -> int:
        if far_above(text, budget):
            return budget
        return min(count_tokens(self.redactor.mask_configured(clean_text(text))) + _BLOCK_TOKENS, budget)

    def _left_out(self, shown: int, total: int, unit: Literal["parts", "links"], budget: int) -> ToolResult:
        cut = Cut(path="", shown=shown, total=total, unit=unit)
        note = self._build(f"[{sentence_for([cut], self.max_tokens)}]", max(budget, _NOTE_ROOM))
        return msgspec.structs.replace(note, trimmed=True)

    def _next(self, page: NextPage | None, cuts: Sequence[Cut]) -> str | None:
        """The call for the omitted part: the tool's own paging if it has one, else `read_more`."""
        if page is not None:
            paths = ("", page.path, f"data.{page.path}".rstrip("."))
            parts = (cut.shown for cut in cuts if cut.path in paths and cut.unit != "characters")
            if shown := next(parts, 0):
                return self.redactor.mask_configured(page.next_call(shown))
        # The rest of a name is nowhere to be read.
        rest = [cut for cut in cuts if cut.unit != "names"]
        return self.continuation.next_call(rest[-1]) if self.continuation is not None and rest else None

    def _message(self, output: Json) -> str:
        message = output.message
        if isinstance(message, Message):
            return message.ja if self.language == "ja" else message.en
        return message


def _no_next(page: NextPage | None, cuts: Sequence[Cut]) -> str | None:
    return None
