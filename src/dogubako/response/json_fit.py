"""Make JSON smaller by leaving out whole items and shortening long strings."""

from collections.abc import Mapping
from itertools import islice
from typing import Any

from dogubako.response.plain import encode
from dogubako.response.tokens import count_tokens, far_above
from dogubako.response.trim import NOTE_TOKENS, Cut, cut_text, share_out, take_whole

# Below this, a shortened value says less than its absence.
_SMALLEST_SHARE = 24


def cost_of(value: Any, enough: int | None = None) -> int:
    """Tokens of a value and of the comma behind it. Far above `enough` any number that is too large will do."""
    text = encode(value)
    if enough is not None and far_above(text, enough):
        return len(text)
    return count_tokens(text) + 1


def fit_json(value: Any, budget: int, path: str = "data") -> tuple[Any, list[Cut]]:
    """Shrink plain data to about `budget` tokens. Structure stays; what is missing is listed."""
    cuts: list[Cut] = []
    return _fit(value, budget, path, cuts), cuts


def fit_page(value: Any, budget: int, page_path: str, path: str = "data") -> tuple[Any, list[Cut]]:
    """Shrink by leaving out the last items of one list, so that the next call can begin where this one ends."""
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
    if cost_of(value, budget) <= budget:
        return value
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
        # Each costs at least a token: nobody's share would be enough to show something.
        shown = take_whole((cost_of({key: item}, budget) for key, item in fields.items()), budget - NOTE_TOKENS)
        cuts.append(Cut(path=path, shown=shown, total=len(fields), unit="fields"))
        return dict(islice(fields.items(), shown))
    costs = [cost_of({key: item}, budget) for key, item in fields.items()]
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
