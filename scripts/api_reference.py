"""docs/reference.md: the public API with its signatures and docstrings."""

import re
from collections import Counter
from collections.abc import Sequence
from textwrap import indent

from scripts.public_api import MODULES, Described, describe_module, module_docstring

_INTRODUCTION = """The public API for tool authors. Everything outside of these modules may change without notice.
[tutorial.md](tutorial.md) and [writing-tools.md](writing-tools.md) show how the parts work together;
[errors.md](errors.md) has the code and the HTTP status of every error.
"""
# Of a field that is declared with a function, the function's arguments are no help to a reader.
_MADE_BY_A_FUNCTION = re.compile(r" = (?:Field|field|msgspec\.field)\(.*", re.DOTALL)
_PROPERTY = re.compile(r"^@(?:cached_)?property$", re.MULTILINE)


def reference_page(note: str) -> str:
    contents = "".join(_contents(module) for module in MODULES)
    sections = "".join(_module(module) for module in MODULES)
    return f"# Reference\n\n{note}\n{_INTRODUCTION}\n{contents}\n{sections}".rstrip() + "\n"


def _contents(module: str) -> str:
    seen: Counter[str] = Counter()
    links = []
    for one in _shown(module):
        anchor = _anchor(module, one.name)
        # GitHub numbers headings that differ in case only.
        links.append(f"[{one.name}](#{anchor}{f'-{seen[anchor]}' if seen[anchor] else ''})")
        seen[anchor] += 1
    names = ", ".join(links)
    return f"- [`{module}`](#{_anchor(module)}): {names}\n"


def _shown(module: str) -> list[Described]:
    return [one for one in describe_module(module) if one.name != "__version__"]


def _anchor(*names: str) -> str:
    """GitHub's anchor of the heading that holds these names in code."""
    return ".".join(names).lower().replace(".", "")


def _module(module: str) -> str:
    first = module_docstring(module).split("\n\n")[0]
    return f"## `{module}`\n\n{first}\n\n" + "".join(_name(module, one) for one in _shown(module))


def _name(module: str, one: Described) -> str:
    constructor = [indent(member.declaration, "    ") for member in one.members if member.name == "__init__"]
    code = "\n".join([one.declaration, *constructor])
    members = [member for member in one.members if member.name not in ("__init__", "model_config")]
    return f"### `{module}.{one.name}`\n\n```text\n{code}\n```\n\n{one.text}\n\n{_members(members)}"


def _members(members: Sequence[Described]) -> str:
    bare = ", ".join(f"`{_line(one)}`" for one in members if not one.text)
    lines = [f"- `{_line(one)}`: {_first_paragraph(one.text)}" for one in members if one.text]
    # One line for those that their name and type explain.
    lines += [f"- {bare}"] if bare else []
    return "\n".join(lines) + "\n\n" if lines else ""


def _first_paragraph(text: str) -> str:
    return " ".join(text.split("\n\n", maxsplit=1)[0].split())


def _line(member: Described) -> str:
    """A field or a method in one line, without decorators and `self`."""
    declaration = _MADE_BY_A_FUNCTION.sub("", member.declaration)
    code = "\n".join(line for line in declaration.splitlines() if not line.startswith("@"))
    if _PROPERTY.search(declaration):
        return f"{member.name}: {code.partition(' -> ')[2]}"
    flat = " ".join(code.split()).replace("( ", "(").replace(", )", ")").replace(" )", ")")
    return re.sub(r"\((?:self|cls)(?:, )?", "(", flat.replace("def ", "", 1), count=1)
