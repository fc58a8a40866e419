"""`serve --tools broken.py`: one sentence names the file, the line and what is wrong."""

from pathlib import Path

import pytest

from dogubako import resource, tool
from dogubako.tools import BaseTool, NoArgs
from tests.doors.processes import run

_TOOL = "async def hello() -> str:\n    'Greet.'\n    return ''\n"
# What stands in broken.py, the line that is named, and the message. Line 1 imports the decorators.
CASES = {
    "a syntax error": ("\ndef broken(:\n", 3, "SyntaxError"),
    "a module that is not there": ("import nothing_like_it\n", 2, "ModuleNotFoundError: No module named"),
    "a name that is not there": (
        "\nfrom dogubako.output import Nothing\n",
        3,
        "ImportError: cannot import name 'Nothing'",
    ),
    "an exception at import": ("def fail():\n    return 1 / 0\nfail()\n", 3, "ZeroDivisionError: division by zero"),
    "a broken neighbour": ("\nfrom .forms import Name\n", 3, "(forms.py, line 2)"),
    "an option of an answer": (f"@tool(cacheable=True)\n{_TOOL}", 2, "@tool(caches=True)"),
    "an unknown option": (f"@tool(readonly=True)\n{_TOOL}", 2, "@tool has no option readonly"),
    "an option without its name": (f"@tool('hello')\n{_TOOL}", 2, "@tool(name='hello')"),
    "an effect that does not exist": (
        f"@tool(effect='reed')\n{_TOOL}",
        2,
        "effect must be 'read', 'write' or 'destroy'",
    ),
    "a resource without a URI": (f"@resource\n{_TOOL}", 2, '@resource("notes://{id}")'),
    "a parameter without a type": ("\n@tool\nasync def hello(x) -> str: ...\n", 3, "hello: parameter x needs a type"),
    "a tool without a docstring": ("\n@tool\nasync def hello() -> str: ...\n", 3, "Tool description is required"),
    "a bad name": (f"\n\n@tool(name='A B')\n{_TOOL}", 4, 'Tool name "A B" must start with'),
    "two tools of one name": (f"@tool\n{_TOOL}\n@tool(name='hello')\n{_TOOL.replace('hello', 'again')}", 7, "already"),
}


@pytest.mark.parametrize(("text", "line", "message"), CASES.values(), ids=CASES.keys())
def test_a_broken_file_is_named_with_its_line(tmp_path: Path, text: str, line: int, message: str) -> None:
    (tmp_path / "broken.py").write_text(f"from dogubako import resource, tool\n{text}", encoding="utf-8")
    (tmp_path / "forms.py").write_text("Name = 1\nOther = (\n", encoding="utf-8")

    outcome = run("serve", "--port", "0", "--tools", "broken.py", folder=tmp_path)

    assert outcome.returncode == 2
    assert f"broken.py, line {line}" in outcome.stderr
    assert message in outcome.stderr
    assert "Traceback" not in outcome.stderr


def test_a_cacheable_tool_is_told_where_the_option_belongs() -> None:
    with pytest.raises(TypeError) as caught:
        tool(cacheable=True)  # type: ignore[call-overload]

    assert str(caught.value) == (
        "cacheable belongs to an answer, not to a tool: return Json(data=…, cacheable=True), "
        "and declare that the tool has such answers with @tool(caches=True)"
    )


def test_a_cacheable_class_is_told_the_same() -> None:
    with pytest.raises(TypeError, match=r"cacheable belongs to an answer, not to a tool: .* caches = True"):

        class Cached(BaseTool[NoArgs]):
            """Answer from the cache."""

            name = "cached"
            cacheable = True

            async def execute(self, args: NoArgs) -> str:
                return ""


def test_a_decorator_that_is_used_wrongly_says_how_to_use_it() -> None:
    with pytest.raises(TypeError, match=r"@tool has no option readonly\. It has: author, caches, .*, version\."):
        tool(readonly=True)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match=r'@resource needs a URI: @resource\("notes://\{id\}"\)'):
        resource(lambda: "")  # type: ignore[arg-type]
