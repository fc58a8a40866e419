"""`assert_mcp_tool_response`: validate a `tools/call` result."""

import base64
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_MIME = re.compile(r"[\w.+-]+/[\w.+-]+(\s*;.*)?")
# To search megabytes for the end of a scheme or of a media type would hold up the event loop.
_LONGEST_SCHEME: Final = 100
_LONGEST_MIME: Final = 1_000


def assert_mcp_tool_response(response: object) -> None:
    """Raise AssertionError with the reason unless `response` is a complete and valid tool result.

    Takes the result as a mapping, or as a model of the MCP SDK.
    """
    if type(response) is not dict and hasattr(response, "model_dump"):
        response = response.model_dump(by_alias=True, exclude_none=True)
    if type(response) is not dict and not isinstance(response, Mapping):
        raise AssertionError("a tool response is an object")
    if type(response.get("isError")) is not bool:
        raise AssertionError("isError is not true or false" if "isError" in response else "isError is missing")
    assert_content(response.get("content"))
    if "_meta" in response:
        _require(isinstance(response["_meta"], Mapping), "_meta is not an object")


def assert_content(content: object) -> None:
    """Raise AssertionError with the reason unless this is a list of one or more valid content blocks."""
    if not isinstance(content, list | tuple) or not content:
        raise AssertionError("content is empty" if content in ([], ()) else "content is not a list")
    # The usual case first.
    if len(content) == 1 and _is_plain_text(content[0]):
        return
    for index, block in enumerate(content):
        if not _is_plain_text(block):
            _check_block(block, f"content[{index}]")


def _is_plain_text(block: object) -> bool:
    return type(block) is dict and len(block) == 2 and block.get("type") == "text" and type(block.get("text")) is str


def fault_of(block: object) -> str | None:
    """What is wrong with a content block, or None. The text repeats no received value."""
    try:
        _check_block(block, "it")
    except AssertionError as fault:
        return str(fault).removeprefix("it.")
    return None


def _check_block(block: object, where: str) -> None:
    _require(isinstance(block, Mapping), f"{where} is not an object")
    assert isinstance(block, Mapping)
    kind = block.get("type")
    check = _CHECKS.get(kind) if isinstance(kind, str) else None
    _require(check is not None, f"{where}.type is none of {', '.join(_CHECKS)}")
    if check is not None:
        check(block, where)
    _check_common(block, where)


def _check_common(block: Mapping[str, Any], where: str) -> None:
    if (meta := block.get("_meta")) is not None:
        _require(isinstance(meta, Mapping), f"{where}._meta is not an object")
    if (annotations := block.get("annotations")) is not None:
        _require(isinstance(annotations, Mapping), f"{where}.annotations is not an object")
        for name, value in annotations.items():
            fits = _ANNOTATIONS.get(name)
            _require(value is None or fits is None or fits(value), f"{where}.annotations.{name} is not valid")


def is_audience(value: object) -> bool:
    return isinstance(value, list | tuple) and all(one in ("user", "assistant") for one in value)


def is_priority(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


def _check_text(block: Mapping[str, Any], where: str) -> None:
    _require(isinstance(block.get("text"), str), f"{where}.text is not a string")


def _check_media(block: Mapping[str, Any], where: str) -> None:
    _check_base64(block.get("data"), f"{where}.data")
    _check_mime(block.get("mimeType"), f"{where}.mimeType")


def _check_resource(block: Mapping[str, Any], where: str) -> None:
    resource = block.get("resource")
    _require(isinstance(resource, Mapping), f"{where}.resource is not an object")
    assert isinstance(resource, Mapping)
    _check_uri(resource.get("uri"), f"{where}.resource.uri")
    _require(("text" in resource) != ("blob" in resource), f"{where}.resource has not exactly one of text and blob")
    if "text" in resource:
        _require(isinstance(resource["text"], str), f"{where}.resource.text is not a string")
    else:
        _check_base64(resource["blob"], f"{where}.resource.blob")
    if resource.get("mimeType") is not None:
        _check_mime(resource["mimeType"], f"{where}.resource.mimeType")


def _check_link(block: Mapping[str, Any], where: str) -> None:
    _check_uri(block.get("uri"), f"{where}.uri")
    _require(isinstance(block.get("name"), str) and bool(block["name"]), f"{where}.name is not a name")
    for name in ("title", "description", "mimeType"):
        _require(isinstance(block.get(name), str | None), f"{where}.{name} is not a string")
    size = block.get("size")
    _require(size is None or (isinstance(size, int) and not isinstance(size, bool)), f"{where}.size is not a number")


def _check_uri(value: object, where: str) -> None:
    _require(isinstance(value, str) and _SCHEME.match(value[:_LONGEST_SCHEME]) is not None, f"{where} is not a URI")


def is_media_type(value: object) -> bool:
    return isinstance(value, str) and len(value) <= _LONGEST_MIME and _MIME.fullmatch(value) is not None


def _check_mime(value: object, where: str) -> None:
    _require(is_media_type(value), f"{where} is not a media type")


def _check_base64(value: object, where: str) -> None:
    try:
        base64.b64decode(value if isinstance(value, str) else "!", validate=True)
    except ValueError:
        raise AssertionError(f"{where} is not base64") from None


def _require(condition: bool, message: str) -> None:
    # Not `assert`: this guards every answer, also under `python -O`.
    if not condition:
        raise AssertionError(message)


_ANNOTATIONS: Final[Mapping[str, Callable[[Any], bool]]] = {
    "audience": is_audience,
    "priority": is_priority,
    "lastModified": lambda value: isinstance(value, str),
}

_CHECKS: Final[Mapping[str, Callable[[Mapping[str, Any], str], None]]] = {
    "text": _check_text,
    "image": _check_media,
    "audio": _check_media,
    "resource": _check_resource,
    "resource_link": _check_link,
}
