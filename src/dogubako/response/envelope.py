"""The envelope of JSON tools: `{"success": true, "message": …, "data": …}`."""

from typing import Any

from dogubako.contract.output import Output
from dogubako.response.fitting import Fitted
from dogubako.response.json_fit import fit_json, fit_page
from dogubako.response.plain import encode, to_plain
from dogubako.response.tokens import count_tokens, fits
from dogubako.response.trim import Cut, sentence_for

_ATTEMPTS = 8


def build(output: Output, message: str, budget: int) -> Fitted:
    """Encode whole if it fits, else leave out the least and say what."""
    data = _with_guidance(output)
    text = encode({"success": True, "message": message, "data": data})
    if fits(text, budget):
        return Fitted(text=text, tokens=count_tokens(text), trimmed=False)
    return _trim(to_plain(data), output, message, budget)


def _with_guidance(output: Output) -> Any:
    if output.guidance is None:
        return output.data
    data = to_plain(output.data)
    if not isinstance(data, dict):
        raise TypeError("guidance needs data with named fields")
    return data | {"_guidance": {"message": output.guidance.message, "example": output.guidance.example}}


def _trim(data: Any, output: Output, message: str, budget: int) -> Fitted:
    # Estimates of parts do not add up exactly; each round aims a little lower until the whole fits.
    frame = count_tokens(encode({"success": True, "message": message})) + 80
    for attempt in range(_ATTEMPTS):
        target = (budget - frame) * (_ATTEMPTS - attempt) // _ATTEMPTS
        if target <= 0:
            break
        kept, cuts = fit_page(data, target, output.page.path) if output.page else fit_json(data, target)
        text = _encode(kept, cuts, output, message, budget)
        if fits(text, budget):
            return Fitted(text=text, tokens=count_tokens(text), trimmed=True)
    nothing = [Cut(path="data", shown=0, total=1, unit="items")]
    text = _encode(None, nothing, output, message, budget)
    return Fitted(text=text, tokens=count_tokens(text), trimmed=True)


def _encode(data: Any, cuts: list[Cut], output: Output, message: str, budget: int) -> str:
    note: dict[str, Any] = {"message": sentence_for(cuts, budget), "leftOut": [cut.as_json() for cut in cuts[:5]]}
    if output.page is not None and (shown := _shown(cuts, output.page.path)):
        note["next"] = output.page.next_call(shown)
    return encode({"success": True, "message": message, "data": data, "_truncated": note})


def _shown(cuts: list[Cut], page_path: str) -> int:
    """How many items of the paged list went out; one that was shortened counts as shown."""
    path = f"data.{page_path}" if page_path else "data"
    return next((cut.shown for cut in cuts if cut.path == path), 1)
