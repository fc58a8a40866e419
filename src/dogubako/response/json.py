"""JSON answers: the envelope `{"success": true, "message": …, "data": …}`, truncated to the token budget."""

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

import msgspec

from dogubako.contract.offload import has_more_values
from dogubako.contract.output import Json
from dogubako.response.foreign_block import check_bytes_within
from dogubako.response.jsonable import (
    LONGEST_NAME,
    check_names,
    encode,
    encode_checked,
    masked_json,
    read_back,
    to_plain,
    with_short_names,
)
from dogubako.response.text import Fitted, Mask, Next, whole_or_cut
from dogubako.response.tokens import count_tokens, far_above, far_above_characters, surely_above
from dogubako.response.truncation import (
    NOTE_TOKENS,
    Cut,
    cut_text,
    named_of,
    sentence_for,
    share_out,
    take_whole,
    worth_saying,
)

# To look at each of more fields twice would take longer than to count the largest.
_FEW_FIELDS = 8
# Below this, a truncated value is less useful than none.
_SMALLEST_SHARE = 24


def cost_of(value: Any, enough: int | None = None) -> int:
    """Tokens of a value and the comma after it. A rough upper bound if it is far above `enough`."""
    if enough is not None and has_more_values(value, most := far_above_characters(enough), 1):
        return most + 1
    text = encode(value)
    if enough is not None and far_above(text, enough):
        return len(text)
    return count_tokens(text) + 1


def _is_above(value: Any, budget: int) -> bool:
    """Whether a value costs more. Most that do show it at their beginning."""
    if has_more_values(value, far_above_characters(budget), 1):
        return True
    text = encode(value)
    return surely_above(text, budget - 1) or count_tokens(text) + 1 > budget


def _costs_of(fields: Mapping[str, Any], budget: int) -> list[int]:
    """The cost of each field. What the only one above the budget costs is of no account: it gets what is left."""
    above = [key for key, item in fields.items() if len(fields) <= _FEW_FIELDS and _is_above({key: item}, budget)]
    spared = above[0] if len(above) == 1 else None
    return [budget + 1 if key == spared else cost_of({key: item}, budget) for key, item in fields.items()]


def fit_json(value: Any, budget: int, path: str = "data") -> tuple[Any, list[Cut]]:
    """Truncate plain data to about `budget` tokens. The structure stays; omissions are listed."""
    cuts: list[Cut] = []
    return _fit(value, budget, path, cuts), cuts


def fit_page(value: Any, budget: int, page_path: str, path: str = "data") -> tuple[Any, list[Cut]]:
    """Truncate by omitting the last items of one list, so that the next call can continue there."""
    keys = page_path.split(".") if page_path else []
    items = _at(value, keys)
    if not isinstance(items, list):
        return fit_json(value, budget, path)
    rest = cost_of(_with(value, keys, []))
    shown = take_whole((cost_of(item, budget) for item in items), budget - rest - NOTE_TOKENS)
    list_path = ".".join([path, *keys])
    if shown == 0:
        kept, cuts = fit_json(_with(value, keys, items[:1]), budget - NOTE_TOKENS, path)
        left = _at(kept, keys)
        others = [cut for cut in cuts if cut.path != list_path]
        cut = Cut(path=list_path, shown=len(left) if isinstance(left, list) else 0, total=len(items), unit="items")
        return kept, [cut, *others] if cut.shown < cut.total else others
    cut = Cut(path=list_path, shown=shown, total=len(items), unit="items")
    return _with(value, keys, items[:shown]), [cut] if shown < len(items) else []


def _fit(value: Any, budget: int, path: str, cuts: list[Cut]) -> Any:
    if not _is_above(value, budget):
        return value
    if isinstance(value, dict) and (long := sum(len(key) > LONGEST_NAME for key in value)):
        # First in the list: the call that reads on is made of the last cut, and continues with values.
        cuts.insert(0, Cut(path=path, shown=len(value) - long, total=len(value), unit="names"))
        return _fit(with_short_names(value), budget, path, cuts)
    if isinstance(value, str):
        shortened = cut_text(value, max(budget - 4, 1), encode)
        cuts.append(Cut(path=path, shown=shortened.rfind("… ["), total=len(value), unit="characters"))
        return shortened
    if isinstance(value, list):
        return _fit_list(value, budget, path, cuts)
    if isinstance(value, dict):
        return _fit_dict(value, budget, path, cuts)
    cuts.append(Cut(path=path, shown=0, total=1, unit="items"))
    return None


def _fit_list(items: list[Any], budget: int, path: str, cuts: list[Cut]) -> list[Any]:
    budget -= NOTE_TOKENS
    shown = take_whole((cost_of(item, budget) for item in items), budget)
    if shown == 0 and budget >= _SMALLEST_SHARE:
        kept = [_fit(items[0], budget, f"{path}.0", cuts)]
    else:
        kept = items[:shown]
    if len(kept) < len(items):
        cuts.append(Cut(path=path, shown=len(kept), total=len(items), unit="items"))
    return kept


def _fit_dict(fields: dict[str, Any], budget: int, path: str, cuts: list[Cut]) -> dict[str, Any]:
    if len(fields) > budget:
        # Each field costs at least a token: no share would be large enough to show something.
        shown = take_whole((cost_of({key: item}, budget) for key, item in fields.items()), budget - NOTE_TOKENS)
        cuts.append(Cut(path=path, shown=shown, total=len(fields), unit="fields"))
        return dict(islice(fields.items(), shown))
    costs = _costs_of(fields, budget)
    shares = share_out(costs, budget - NOTE_TOKENS)
    if any(share < cost and share < _SMALLEST_SHARE for share, cost in zip(shares, costs, strict=True)):
        shown = take_whole(costs, budget - NOTE_TOKENS)
        cuts.append(Cut(path=path, shown=shown, total=len(fields), unit="fields"))
        return dict(list(fields.items())[:shown])
    return {
        key: item if share >= cost else _fit(item, share - cost_of(key), f"{path}.{key}", cuts)
        for (key, item), share, cost in zip(fields.items(), shares, costs, strict=True)
    }


def _at(value: Any, keys: list[str]) -> Any:
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _with(value: Any, keys: list[str], items: list[Any]) -> Any:
    if not keys:
        return items
    return {**value, keys[0]: _with(value[keys[0]], keys[1:], items)}


_GUIDANCE = "_guidance"
_NEXT = "next"
TRUNCATED = "_truncated"


def build(output: Json, message: str, budget: int, next_call: Next, mask: Mask, *, large: bool) -> Fitted:
    """Encode whole if it fits, else leave out the least and say what. `large` data is encoded in pieces."""
    if large:
        check_names(output.data)
    whole_data = _with_next(output)
    if large:
        plain, masked = _masked_in_pieces(whole_data, message, mask)
        # Other parts, and what a model leaves out, were counted as well: this may fit all the same.
        hopeless = has_more_values(plain, far_above_characters(budget), 1)
        whole = None if hopeless else encode({"success": True, **plain})
    else:
        written = encode_checked({"success": True, "message": message, "data": whole_data})
        whole = masked_json(written, mask)
        plain, masked = None, whole is not written
    if masked:
        check_bytes_within(output.data, mask)
    if whole is not None and not surely_above(whole, budget) and (tokens := count_tokens(whole)) <= budget:
        # The usual case: no preparation for a cut.
        return Fitted(text=whole, tokens=tokens, trimmed=False)
    if plain is None:
        # Without secrets it is what was encoded above.
        plain = _masked_in_pieces(whole_data, message, mask)[0] if masked else msgspec.json.decode(whole or "")

    def cut_to(target: int) -> str:
        frame_cuts = list[Cut]()
        frame = {"success": True, "message": _short(plain["message"], budget, frame_cuts)}
        # Each round takes other parts out of it.
        data = dict(plain["data"]) if isinstance(plain["data"], dict) else plain["data"]
        guidance = _guidance_of(data, budget, frame_cuts)
        room = max(target - count_tokens(encode(frame | guidance)), 1)
        if output.page and output.page.after:
            # It continues after the original page; the note names the right call.
            del data[_NEXT]
        kept, cuts = fit_page(data, room, output.page.path) if output.page else fit_json(data, room)
        call = next_call(output.page, cuts)
        return _encode(frame, kept | guidance if guidance else kept, [*frame_cuts, *cuts], call, budget)

    def nothing() -> str:
        frame = {"success": True, "message": _short(plain["message"], budget, [])}
        return mask(_encode(frame, None, [Cut(path="data", shown=0, total=1, unit="items")], None, budget))

    return whole_or_cut(None, cut_to, nothing, budget)


def _masked_in_pieces(data: Any, message: str, mask: Mask) -> tuple[dict[str, Any], bool]:
    """Message and data, plain and without secrets whatever the tool returned, and whether there was a secret."""
    masked = False

    def noting(text: str) -> str:
        nonlocal masked
        result = mask(text)
        masked |= result is not text
        return result

    plain: dict[str, Any] = read_back({"message": message, "data": data}, noting)
    return plain, masked


def _with_next(output: Json) -> Any:
    data = _with_guidance(output)
    return data | {_NEXT: output.page.after} if output.page and output.page.after else data


def _with_guidance(output: Json) -> Any:
    if output.guidance is None:
        return output.data
    data = to_plain(output.data)
    if not isinstance(data, dict):
        raise TypeError("guidance needs data with named fields")
    return data | {_GUIDANCE: {"message": output.guidance.message, "example": output.guidance.example}}


def _short(message: str, budget: int, cuts: list[Cut]) -> str:
    if not far_above(message, budget) and worth_saying(encode(message), budget):
        return message
    shortened = cut_text(message, budget // 4, encode)
    cuts.append(Cut(path="message", shown=shortened.rfind("… ["), total=len(message), unit="characters"))
    return shortened


def _guidance_of(data: Any, budget: int, cuts: list[Cut]) -> dict[str, Any]:
    """Take the guidance out of the data that may be truncated: it is kept whole or omitted."""
    guidance = data.pop(_GUIDANCE, None) if isinstance(data, dict) else None
    if guidance is None:
        return {}
    if cost_of(guidance, budget) <= budget // 4:
        return {_GUIDANCE: guidance}
    cuts.append(Cut(path=f"data.{_GUIDANCE}", shown=0, total=1, unit="items"))
    return {}


def _encode(frame: dict[str, Any], data: Any, cuts: Sequence[Cut], call: str | None, budget: int) -> str:
    named = [cut.as_json() for cut in named_of(cuts, budget)]
    note: dict[str, Any] = {"message": sentence_for(cuts, budget), "leftOut": named}
    if call is not None and worth_saying(encode(call), budget):
        note["next"] = call
    return encode({**frame, "data": data, TRUNCATED: note})
