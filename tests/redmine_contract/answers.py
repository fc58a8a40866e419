"""What has to hold for every answer of every tool, checked where all of them pass."""

from typing import Final
from xml.etree import ElementTree as ET

from dogubako.contract.call import ToolResult
from dogubako.packs.redmine.answers import NOTICE
from dogubako.response.check import assert_mcp_tool_response
from tests.redmine_contract.seeded import KEYS, WRONG_KEY

BUDGET: Final = 25_000
_XML: Final = '<?xml version="1.0" encoding="UTF-8"?>'
_WRITTEN_BY_PEOPLE: Final = ("description", "notes", "text", "comments", "summary", "excerpt")


def checked(result: ToolResult) -> ToolResult:
    """The same answer, once it has proved to be valid, small enough, and free of anybody's key."""
    answer = result.to_mcp()
    assert_mcp_tool_response(answer)
    assert result.tokens <= BUDGET
    texts = texts_of(result)
    told = "\n".join((*texts, str(answer.get("_meta", ""))))
    assert not [login for login, key in KEYS.items() if key in told]
    assert WRONG_KEY not in told
    assert "api_key" not in told
    for text in texts:
        if text.startswith("<"):
            _check_marks(parsed(text))
    if result.error is not None:
        assert texts[0] == result.error.message
        assert "Traceback" not in told
    return result


def parsed(text: str) -> ET.Element:
    """The document of an answer that is XML."""
    assert text.startswith(_XML), text[:100]
    return ET.fromstring(text)


def texts_of(result: ToolResult) -> list[str]:
    return [str(block["text"]) for block in result.content if block["type"] == "text"]


def _check_marks(root: ET.Element) -> None:
    """What people wrote is marked as data wherever it is shown."""
    written = [one for one in root.iter() if one.tag in _WRITTEN_BY_PEOPLE]
    assert all(one.get("untrusted") == "true" for one in written)
    assert not written or root.get("notice") == NOTICE
