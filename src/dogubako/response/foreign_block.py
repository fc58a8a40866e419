"""Validate one foreign MCP content block and mask secrets in it."""

import base64
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from dogubako.contract.offload import has_more_values, names_in, parts_of
from dogubako.contract.redaction import visible
from dogubako.response.check import fault_of, is_audience, is_media_type, is_priority
from dogubako.response.jsonable import check_names, clean_text, encode, masked_data, read_back, to_plain
from dogubako.response.picture_tokens import picture_tokens
from dogubako.response.tokens import count_tokens, far_above, far_above_characters

Mask = Callable[[str], str]

_LONGEST_TYPE: Final = 40
_LONGEST_SECRET: Final = 1_000
_LONGEST_DATE: Final = 64
# `_meta` is for programs. It is omitted if it needs more than this part of the budget.
_META_SHARE: Final = 4

# The fields that MCP defines for each block. Others are omitted; clients would ignore them.
_FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    "text": ("text",),
    "image": ("data", "mimeType"),
    "audio": ("data", "mimeType"),
    "resource": ("resource",),
    "resource_link": ("uri", "name", "title", "description", "mimeType", "size"),
}
_RESOURCE_FIELDS: Final = ("uri", "mimeType", "text", "blob")
_ROLES: Final = ("user", "assistant")
# There are two roles; a list that repeats them is not read to the end.
_MOST_ROLES: Final = 10
_BASE64: Final = frozenset({"data", "blob"})

# The encoder raises these for data that JSON cannot represent.
NOT_JSON: Final = (TypeError, ValueError, OverflowError, RecursionError)


class Fault(NamedTuple):
    """Why a block is omitted: its type, truncated and cleaned, and the reason."""

    kind: str
    reason: str

    def sentence(self, count: int) -> str:
        of_type = f" of type '{self.kind}'" if self.kind else ""
        blocks = f"A block{of_type} was" if count == 1 else f"{count:,} blocks{of_type} were"
        return f"[{blocks} left out: {self.reason}.]"


def examined(raw: object, mask: Mask, budget: int) -> dict[str, Any] | Fault:
    """The block with the fields that MCP defines, clean and masked, or the reason why it cannot be shown."""
    if not isinstance(raw, Mapping):
        return Fault("", "not an object")
    kind = raw.get("type")
    if not isinstance(kind, str):
        return Fault("", "type is missing")
    if kind not in _FIELDS:
        return Fault(_short(kind, mask), "MCP has no such type")
    block = {"type": kind, **_fields(raw, _FIELDS[kind], mask), **_extras(raw, mask, budget)}
    if kind == "resource_link":
        _drop_wrong(block, {"title": _is_text, "description": _is_text, "mimeType": _is_text, "size": _is_size})
    if isinstance(resource := block.get("resource"), Mapping):
        block["resource"] = {**_fields(resource, _RESOURCE_FIELDS, mask), **_meta(resource, mask, budget)}
        _drop_wrong(block["resource"], {"mimeType": is_media_type})
    return _refused(block, mask, budget) or block


def plain_copy(value: Any, mask: Mask) -> Any:
    """Data of others as plain JSON data without secrets; `NOT_JSON` where it is none, or nested too deeply."""
    check_names(value)
    return masked_data(to_plain(read_back(value)), mask)


def base64_of(block: Mapping[str, Any]) -> str:
    """The base64 data of a block; empty if it has none."""
    resource = block.get("resource")
    encoded = resource.get("blob") if isinstance(resource, Mapping) else block.get("data")
    return encoded if isinstance(encoded, str) else ""


def _refused(block: dict[str, Any], mask: Mask, budget: int) -> Fault | None:
    kind, encoded = block["type"], base64_of(block)
    seen = kind == "image" and picture_tokens(encoded) is not None
    if far_above(encoded, budget) and not seen:
        # The data will not be shown, so it need not be decoded.
        block, encoded = _without_base64(block), ""
    if (reason := fault_of(block)) is not None:
        return Fault(kind, reason)
    return Fault(kind, "contains a secret of this server") if holds_secret(encoded, mask) else None


def _without_base64(block: dict[str, Any]) -> dict[str, Any]:
    if "resource" in block:
        return {**block, "resource": {**block["resource"], "blob": ""}}
    return {**block, "data": ""}


def _fields(raw: Mapping[str, Any], names: tuple[str, ...], mask: Mask) -> dict[str, Any]:
    present = {name: raw[name] for name in names if raw.get(name) is not None}
    return {name: _cleaned(name, value, mask) for name, value in present.items()}


def _cleaned(name: str, value: Any, mask: Mask) -> Any:
    if not isinstance(value, str):
        return value
    # A secret within base64 cannot be masked; `_refused` looks for it.
    return clean_text(value) if name in _BASE64 else mask(clean_text(value))


def _extras(raw: Mapping[str, Any], mask: Mask, budget: int) -> dict[str, Any]:
    annotations = _annotations(raw.get("annotations"), mask)
    return {**({"annotations": annotations} if annotations else {}), **_meta(raw, mask, budget)}


def _annotations(raw: object, mask: Mask) -> dict[str, Any]:
    annotations: dict[str, Any] = {}
    if not isinstance(raw, Mapping):
        return annotations
    audience, priority = raw.get("audience"), raw.get("priority", -1)
    if isinstance(audience, list | tuple) and is_audience(audience[:_MOST_ROLES]):
        annotations["audience"] = [role for role in _ROLES if role in audience[:_MOST_ROLES]]
    if is_priority(priority):
        annotations["priority"] = float(priority)
    if isinstance(date := raw.get("lastModified"), str) and len(date) <= _LONGEST_DATE:
        annotations["lastModified"] = mask(clean_text(date))
    return annotations


def _meta(raw: Mapping[str, Any], mask: Mask, budget: int) -> dict[str, Any]:
    meta = raw.get("_meta")
    if not isinstance(meta, Mapping) or not meta:
        return {}
    if has_more_values(meta, far_above_characters(budget // _META_SHARE), 1):
        return {}
    try:
        copied = plain_copy(meta, mask)
    except NOT_JSON:
        return {}
    return {"_meta": copied} if count_tokens(encode(copied)) <= budget // _META_SHARE else {}


def _drop_wrong(block: dict[str, Any], wanted: Mapping[str, Callable[[Any], bool]]) -> None:
    """Drop invalid optional fields instead of the whole block."""
    for name, fits in wanted.items():
        if name in block and not fits(block[name]):
            del block[name]


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_size(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def holds_secret(encoded: str, mask: Mask) -> bool:
    """Whether base64 text contains a secret, encoded or decoded."""
    held = base64.b64decode(encoded).decode("utf-8", "surrogateescape")
    return mask(encoded) != encoded or mask(held) != held


def check_bytes(encoded: str, mask: Mask) -> None:
    """A secret within base64 cannot be masked, so an answer with one does not leave."""
    if holds_secret(encoded, mask):
        raise ValueError("a tool returned bytes that contain a secret of this server")


def check_bytes_within(data: Any, mask: Mask) -> None:
    """The same for all bytes within data that JSON will encode in base64."""
    waiting = [data]
    while waiting:
        one = waiting.pop()
        if isinstance(one, bytes | bytearray | memoryview):
            check_bytes(base64.b64encode(one).decode("ascii"), mask)
        elif not isinstance(one, str):
            waiting += parts_of(one)
            waiting += names_in(one)


def _short(kind: str, mask: Mask) -> str:
    # A secret that this cut divides is not shown: it is far behind what is shown.
    cleaned = visible(mask(clean_text(kind[: _LONGEST_TYPE + _LONGEST_SECRET])))
    return cleaned if len(cleaned) <= _LONGEST_TYPE else f"{cleaned[:_LONGEST_TYPE]}…"
