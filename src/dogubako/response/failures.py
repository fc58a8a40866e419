"""Present errors to callers: a copy without secrets, with message, hint and details within the budget."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, Self

from dogubako.contract.call import ToolResult, error_facts, text_block
from dogubako.contract.errors import DogubakoError, ToolExecutionError, ValidationError, ValidationErrorContext
from dogubako.contract.offload import has_more_values
from dogubako.response.blocks import BLOCK_TOKENS
from dogubako.response.jsonable import clean_text, encode
from dogubako.response.tokens import count_tokens, fits
from dogubako.response.truncation import cut_text, take_whole

Mask = Callable[[str], str]

_CODE = re.compile(r"[A-Z][A-Z0-9_]{0,63}")
_ERROR_ID = re.compile(r"[\w-]{1,32}", re.ASCII)
_ERROR_STATUS: Final = range(400, 600)
_MOST_DETAILS: Final = 100
_LONGEST_FIELD: Final = 200
_LONGEST_DETAIL: Final = 1_000
_SMALLEST_ROOM: Final = 30
# An error is shown on the event loop. To mask or to count a message of megabytes would stop it.
_LONGEST_WORDS: Final = 8_000
_LONGEST_SECRET: Final = 1_000
# Estimates of parts do not add up exactly; each round aims a little lower until the whole fits.
_ROUNDS: Final = 8
# The cost of a note about omitted details.
_NOTE_TOKENS: Final = 25


class Words(NamedTuple):
    """The beginning of a text without secrets, and how many characters of the text follow it."""

    text: str
    missing: int

    @classmethod
    def of(cls, value: Any, mask: Mask, longest: int = _LONGEST_WORDS) -> Self:
        whole = value if isinstance(value, str) else _written(value)
        if len(whole) <= longest + _LONGEST_SECRET:
            return cls(mask(clean_text(whole)), 0)
        # A secret that this cut divides is at the end, which is left out.
        masked = mask(clean_text(whole[: longest + _LONGEST_SECRET]))[:-_LONGEST_SECRET]
        return cls(masked, len(whole) - longest)

    def short(self, budget: int, spelled: Callable[[str], str] = str) -> str:
        whole = not self.missing and fits(spelled(self.text), budget)
        return self.text if whole else cut_text(self.text, budget, spelled, self.missing)


def _written(value: Any) -> str:
    """Whatever another author calls a message, as text. To write millions of values would be one long step in C."""
    return f"[{type(value).__name__}]" if has_more_values(value, _LONGEST_WORDS, 1) else str(value)


def failed(error: DogubakoError, mask: Mask, budget: int) -> ToolResult:
    """Build the answer to a failed call: the message is the first block; the hint, if any, the second."""
    shown, tokens = _presented(error, mask, budget)
    return ToolResult(
        content=tuple(map(text_block, _texts(shown))),
        kind="text",
        is_error=shown.is_error,
        error=shown if shown.is_error else None,
        tokens=tokens,
        count=None if shown.is_error else 0,
    )


def presentable(error: DogubakoError, mask: Mask, budget: int) -> DogubakoError:
    """A copy of the error that may be shown. The error itself stays unchanged, for the log and for a re-raise.

    The copy has no traceback, which would keep the values of every frame alive.
    """
    return _presented(error, mask, budget)[0]


def _presented(error: DogubakoError, mask: Mask, budget: int) -> tuple[DogubakoError, int]:
    shown = _copy(error)
    _repair(shown, mask)
    message, hint = Words.of(error.message, mask), Words.of(error.hint or "", mask)
    details, total = _details(error, mask)
    cost = budget + 1
    for attempt in range(_ROUNDS):
        room = _fill(shown, message, hint, max(budget * (_ROUNDS - attempt) // _ROUNDS, _SMALLEST_ROOM))
        shown.shown_details = _fitting(details, total, room - _NOTE_TOKENS)
        if (cost := _cost(shown)) <= budget:
            break
    shown.args = (shown.message,)
    return shown, cost


def _fill(shown: DogubakoError, message: Words, hint: Words, room: int) -> int:
    """Give the message up to two thirds of the room, then the hint what it needs; what is left is for the details."""
    shown.message, shown.hint = message.short(room * 2 // 3), None
    room -= count_tokens(shown.message)
    if hint.text and room > _SMALLEST_ROOM:
        shown.hint = hint.short(room, _twice)
        room -= count_tokens(_twice(shown.hint))
    return room


def _twice(hint: str) -> str:
    """The hint as it is sent: once as text, and once as JSON in the error facts."""
    return hint + encode(hint)


def _texts(shown: DogubakoError) -> list[str]:
    return [shown.message or shown.code, *([shown.hint] if shown.hint else [])]


def _cost(shown: DogubakoError) -> int:
    facts = count_tokens(encode(error_facts(shown))) if shown.is_error else 0
    return sum(count_tokens(text) + BLOCK_TOKENS for text in _texts(shown)) + facts


def _copy(error: DogubakoError) -> DogubakoError:
    # Not `copy.copy`: it would call the class with the arguments of another class's constructor.
    copied = type(error).__new__(type(error))
    copied.__dict__.update(error.__dict__)
    return copied


def _repair(shown: DogubakoError, mask: Mask) -> None:
    """Replace malformed facts: error classes of other authors may hold anything."""
    facts = shown.__dict__
    if not _is_plain(shown.code, _CODE, mask):
        facts["code"] = ToolExecutionError.code
    if shown.is_error and not (isinstance(shown.http_status, int) and shown.http_status in _ERROR_STATUS):
        facts["http_status"] = ToolExecutionError.http_status
    if shown.error_id is not None and not _is_plain(shown.error_id, _ERROR_ID, mask):
        shown.error_id = None
    if isinstance(shown, ValidationError):
        shown.errors = [_discreet(one, mask) for one in shown.errors[:_MOST_DETAILS]]


def _is_plain(value: object, form: re.Pattern[str], mask: Mask) -> bool:
    return isinstance(value, str) and form.fullmatch(value) is not None and mask(value) == value


def _discreet(wrong: ValidationErrorContext, mask: Mask) -> ValidationErrorContext:
    return ValidationErrorContext(
        field=_entry(wrong.field, mask, _LONGEST_FIELD),
        message=_entry(wrong.message, mask, _LONGEST_DETAIL),
        expected_type=wrong.expected_type,
        received_type=wrong.received_type,
        constraint=wrong.constraint,
    )


def _details(error: DogubakoError, mask: Mask) -> tuple[list[dict[str, str]], int]:
    """The first details without secrets, and how many there are."""
    details = error.details if error.shown_details is None else error.shown_details
    if not isinstance(details, list | tuple):
        return [], 0
    return [_detail(one, mask) for one in details[:_MOST_DETAILS]], len(details)


def _fitting(details: Sequence[dict[str, str]], total: int, room: int) -> list[dict[str, str]]:
    shown = take_whole((count_tokens(encode(detail)) + 1 for detail in details), room)
    if shown in (0, total):
        return list(details[:shown])
    return [*details[:shown], {"field": "", "message": f"{total - shown:,} more were left out."}]


def _detail(one: Any, mask: Mask) -> dict[str, str]:
    one = one if isinstance(one, Mapping) else {"message": one}
    return {
        "field": _entry(one.get("field", ""), mask, _LONGEST_FIELD),
        "message": _entry(one.get("message", ""), mask, _LONGEST_DETAIL),
    }


def _entry(value: Any, mask: Mask, longest: int) -> str:
    text = Words.of(value, mask, longest).text
    return text if len(text) <= longest else f"{text[:longest]}…"
