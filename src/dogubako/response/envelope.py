"""The envelope of JSON tools: `{"success": true, "message": …, "data": …}`."""

from collections.abc import Sequence
from typing import Any

import msgspec

from dogubako.contract.offload import collection_paused
from dogubako.contract.output import Output
from dogubako.response.fitting import Fitted, Mask, Next, whole_or_cut
from dogubako.response.json_fit import cost_of, fit_json, fit_page
from dogubako.response.plain import encode, masked_json, to_plain
from dogubako.response.tokens import count_tokens
from dogubako.response.trim import Cut, cut_text, named_of, sentence_for, worth_saying

_GUIDANCE = "_guidance"
_NEXT = "next"
TRUNCATED = "_truncated"


def build(output: Output, message: str, budget: int, next_call: Next, mask: Mask) -> Fitted:
    """Encode whole if it fits, else leave out the least and say what."""
    whole = masked_json(encode({"success": True, "message": message, "data": _with_next(output)}), mask)

    def cut_to(target: int) -> str:
        # Read back, because it is plain and without secrets now, whatever the tool returned.
        with collection_paused():
            plain, said = msgspec.json.decode(whole), list[Cut]()
        frame = {"success": True, "message": _short(plain["message"], budget, said)}
        guidance = _guidance_of(plain["data"], budget, said)
        room = max(target - count_tokens(encode(frame | guidance)), 1)
        data = plain["data"]
        if output.page and output.page.after:
            # It continues after what is cut now; the note names the right call.
            del data[_NEXT]
        kept, cuts = fit_page(data, room, output.page.path) if output.page else fit_json(data, room)
        call = next_call(output.page, cuts)
        return _encode(frame, kept | guidance if guidance else kept, [*said, *cuts], call, budget)

    def nothing() -> str:
        frame = {"success": True, "message": _short(message, budget, [])}
        return mask(_encode(frame, None, [Cut(path="data", shown=0, total=1, unit="items")], None, budget))

    return whole_or_cut(whole, cut_to, nothing, budget)


def _with_next(output: Output) -> Any:
    data = _with_guidance(output)
    return data | {_NEXT: output.page.after} if output.page and output.page.after else data


def _with_guidance(output: Output) -> Any:
    if output.guidance is None:
        return output.data
    data = to_plain(output.data)
    if not isinstance(data, dict):
        raise TypeError("guidance needs data with named fields")
    return data | {_GUIDANCE: {"message": output.guidance.message, "example": output.guidance.example}}


def _short(message: str, budget: int, said: list[Cut]) -> str:
    if worth_saying(encode(message), budget):
        return message
    shortened = cut_text(message, budget // 4, encode)
    said.append(Cut(path="message", shown=shortened.rfind("… ["), total=len(message), unit="characters"))
    return shortened


def _guidance_of(data: Any, budget: int, said: list[Cut]) -> dict[str, Any]:
    """Half a call is no call: guidance is taken out of what may be cut, and kept whole or left out."""
    guidance = data.pop(_GUIDANCE, None) if isinstance(data, dict) else None
    if guidance is None:
        return {}
    if cost_of(guidance) <= budget // 4:
        return {_GUIDANCE: guidance}
    said.append(Cut(path=f"data.{_GUIDANCE}", shown=0, total=1, unit="items"))
    return {}


def _encode(frame: dict[str, Any], data: Any, cuts: Sequence[Cut], call: str | None, budget: int) -> str:
    named = [cut.as_json() for cut in named_of(cuts, budget)]
    note: dict[str, Any] = {"message": sentence_for(cuts, budget), "leftOut": named}
    if call is not None and worth_saying(encode(call), budget):
        note["next"] = call
    return encode({**frame, "data": data, TRUNCATED: note})
