"""Tools of somebody hostile: every text that they control tries to become a page of their own."""

from typing import Annotated, Any, Literal

from pydantic import Field

from dogubako import Effect, errors, tool
from dogubako.output import Json

SCRIPT = "<script>alert(1)</script>"
ATTRIBUTE = "\"' onmouseover=alert(1) x='"
BREAK_OUT = "</textarea></pre></code></title></style><img src=x onerror=alert(1)>"
TEMPLATE = "{{ 7 * 7 }}{% raw %}"
LINKS = "[click](javascript:alert(1)) ![p](http://evil.example/x.png) <http://evil.example> <b onclick=alert(1)>b</b>"
ALL = f"{SCRIPT}{ATTRIBUTE}{BREAK_OUT}{TEMPLATE}{LINKS}"


async def _say(
    value: Annotated[str, Field(description=ALL)] = ALL,
    choice: Annotated[Literal["<script>alert(2)</script>", "b"] | None, Field(description=ALL)] = None,
) -> str:
    return f"# {ALL}\n\n| a | b |\n| :-: | -- |\n| {SCRIPT} | x |\n\n{value}"


_say.__doc__ = ALL
hostile_text = tool(effect=Effect.READ, name="hostile_text", title=ALL)(_say)


@tool(effect=Effect.READ)
async def hostile_json() -> Json:
    """Answer with JSON."""
    return Json(data={ALL: [ALL, {SCRIPT: ATTRIBUTE}]})


@tool(effect=Effect.READ)
async def hostile_xml() -> str:
    """Answer with XML."""
    return '<?xml version="1.0"?><r a="&lt;script>">&lt;script>alert(1)&lt;/script><script>alert(1)</script></r>'


@tool(effect=Effect.READ)
async def hostile_error() -> str:
    """Fail."""
    raise errors.ApiError(f"Failed: {ALL}", status_code=400, hint=ALL)


@tool(effect=Effect.DESTROY)
async def hostile_end(what: str = ALL) -> str:
    """Delete something."""
    return what


def blocks() -> list[dict[str, Any]]:
    """Content blocks that pretend to be pictures."""
    return [
        {"type": "image", "mimeType": "image/svg+xml", "data": "PHN2ZyBvbmxvYWQ9YWxlcnQoMSk+"},
        {"type": "image", "mimeType": 'image/png" onerror="alert(1)', "data": "AAAA"},
        {"type": "image", "mimeType": "image/png", "data": 'AAAA" onerror="alert(1)'},
        {"type": "resource_link", "uri": "javascript:alert(1)", "name": SCRIPT},
        {"type": "resource", "resource": {"uri": "x", "text": ALL}},
        {"type": SCRIPT, "text": ALL},
        {"type": "text", "text": ALL},
    ]
