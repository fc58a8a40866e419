"""What a caller is shown of an error: a copy without secrets, with message, hint and details inside the budget."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from dogubako.contract.call import ToolResult, error_facts
from dogubako.contract.errors import DogubakoError, ToolExecutionError, ValidationError, ValidationErrorContext
from dogubako.response.blocks import BLOCK_TOKENS, text_block
from dogubako.response.plain import clean_text, encode
from dogubako.response.tokens import count_tokens, fits
from dogubako.response.trim import cut_text

Mask = Callable[[str], str]

_CODE = re.compile(r"[A-Z][A-Z0-9_]{0,63}")
_ERROR_STATUS: Final = range(400, 600)
_MOST_DETAILS: Final = 100
_LONGEST_FIELD: Final = 200
_LONGEST_DETAIL: Final = 1_000
_LONGEST_ID: Final = 64
_SMALLEST_ROOM: Final = 30
# Estimates of parts do not add up exactly; each round aims a little lower until the whole fits.
_ROUNDS: Final = 8
# What a note about details that were left out costs.
_NOTE_TOKENS: Final = 25


def failed(error: DogubakoError, mask: Mask, budget: int) -> ToolResult:
    """The message is the first block, exactly; the hint, if there is one, is the second."""
    shown = presentable(error, mask, budget)
    return ToolResult(
        content=tuple(map(text_block, _texts(shown))),
        kind="text",
        is_error=shown.is_error,
        error=shown if shown.is_error else None,
        tokens=_cost(shown),
        count=None if shown.is_error else 0,
    )


def presentable(error: DogubakoError, mask: Mask, budget: int) -> DogubakoError:
    """A copy of the error that may be shown. The error itself stays as it is, for the log and for who raises it again.

    The copy has no traceback, which would keep the values of every frame alive.
    """
    shown = _copy(error)
    _repair(shown, mask)
    message, hint = mask(_text(error.message)), mask(_text(error.hint)) if error.hint else None
    shown.hint, shown.message, shown.shown_details = None, "", []
    room = max(budget - _cost(shown), _SMALLEST_ROOM)
    for attempt in range(_ROUNDS):
        _fill(shown, error, message, hint, mask, room * (_ROUNDS - attempt) // _ROUNDS)
        if _cost(shown) <= budget:
            break
    shown.args = (shown.message,)
    return shown


def _fill(shown: DogubakoError, error: DogubakoError, message: str, hint: str | None, mask: Mask, room: int) -> None:
    """Give the message up to two thirds of the room, then the hint what it needs, then the details the rest."""
    shown.message, shown.hint = _short(message, room * 2 // 3), None
    room -= count_tokens(shown.message)
    if hint and room > _SMALLEST_ROOM:
        shown.hint = _short(hint, max(room - BLOCK_TOKENS, 1), _twice)
        room -= count_tokens(_twice(shown.hint)) + BLOCK_TOKENS
    shown.shown_details = _details(error, mask, room)


def _twice(hint: str) -> str:
    """A hint is sent twice: as a text, and as a fact for programs."""
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
    """Classes of others may say anything; what programs read must have its form."""
    facts = shown.__dict__
    if not (isinstance(shown.code, str) and _CODE.fullmatch(shown.code) and mask(shown.code) == shown.code):
        facts["code"] = ToolExecutionError.code
    if shown.is_error and not (isinstance(shown.http_status, int) and shown.http_status in _ERROR_STATUS):
        facts["http_status"] = ToolExecutionError.http_status
    if shown.error_id is not None:
        shown.error_id = mask(_text(shown.error_id))[:_LONGEST_ID]
    if isinstance(shown, ValidationError):
        shown.errors = [_discreet(one, mask) for one in shown.errors[:_MOST_DETAILS]]


def _discreet(wrong: ValidationErrorContext, mask: Mask) -> ValidationErrorContext:
    return ValidationErrorContext(
        field=_entry(wrong.field, mask, _LONGEST_FIELD),
        message=_entry(wrong.message, mask, _LONGEST_DETAIL),
        expected_type=wrong.expected_type,
        received_type=wrong.received_type,
        constraint=wrong.constraint,
    )


def _details(error: DogubakoError, mask: Mask, room: int) -> list[dict[str, str]]:
    found: Sequence[Any] = error.details if error.shown_details is None else error.shown_details
    found = found if isinstance(found, list | tuple) else ()
    shown: list[dict[str, str]] = []
    room -= _NOTE_TOKENS
    for one in found[:_MOST_DETAILS]:
        detail = _detail(one, mask)
        room -= count_tokens(encode(detail)) + 1
        if room < 0:
            break
        shown.append(detail)
    if shown and len(shown) < len(found):
        shown.append({"field": "", "message": f"{len(found) - len(shown):,} more were left out."})
    return shown


def _detail(one: Any, mask: Mask) -> dict[str, str]:
    one = one if isinstance(one, Mapping) else {"message": one}
    return {
        "field": _entry(one.get("field", ""), mask, _LONGEST_FIELD),
        "message": _entry(one.get("message", ""), mask, _LONGEST_DETAIL),
    }


def _entry(value: Any, mask: Mask, longest: int) -> str:
    text = mask(_text(value))
    return text if len(text) <= longest else f"{text[:longest]}…"


def _text(value: Any) -> str:
    return clean_text(value if isinstance(value, str) else str(value))


def _short(text: str, budget: int, spelled: Callable[[str], str] = str) -> str:
    return text if fits(spelled(text), budget) else cut_text(text, budget, spelled)
