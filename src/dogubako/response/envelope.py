"""The envelope of JSON tools: `{"success": true, "message": …, "data": …}`."""

from collections.abc import Sequence
from typing import Any

from dogubako.contract.output import Output
from dogubako.response.fitting import Fitted, Next, whole_or_cut
from dogubako.response.json_fit import fit_json, fit_page
from dogubako.response.plain import encode, to_plain
from dogubako.response.tokens import count_tokens
from dogubako.response.trim import Cut, sentence_for


def build(output: Output, message: str, budget: int, next_call: Next) -> Fitted:
    """Encode whole if it fits, else leave out the least and say what."""
    data = _with_guidance(output)
    whole = encode({"success": True, "message": message, "data": data})
    frame = count_tokens(encode({"success": True, "message": message}))

    def cut_to(target: int) -> str:
        plain = to_plain(data)
        room = max(target - frame, 1)
        kept, cuts = fit_page(plain, room, output.page.path) if output.page else fit_json(plain, room)
        return _encode(kept, cuts, next_call(output.page, cuts))

    def _encode(kept: Any, cuts: Sequence[Cut], call: str | None) -> str:
        note: dict[str, Any] = {"message": sentence_for(cuts, budget), "leftOut": [cut.as_json() for cut in cuts[:5]]}
        if call is not None:
            note["next"] = call
        return encode({"success": True, "message": message, "data": kept, "_truncated": note})

    def nothing() -> str:
        return _encode(None, [Cut(path="data", shown=0, total=1, unit="items")], None)

    return whole_or_cut(whole, cut_to, nothing, budget)


def _with_guidance(output: Output) -> Any:
    if output.guidance is None:
        return output.data
    data = to_plain(output.data)
    if not isinstance(data, dict):
        raise TypeError("guidance needs data with named fields")
    return data | {"_guidance": {"message": output.guidance.message, "example": output.guidance.example}}
