"""docs/discovery.md: what agents see of many tools, and what it costs them, counted by real tokenizers."""

import asyncio
from typing import Any, Final

import msgspec

from dogubako import Effect, ToolPack, tool
from dogubako.app import Toolbox, build
from dogubako.contract.call import TRUSTED
from dogubako.packs import PACKS
from dogubako.settings import Sources
from dogubako.transports import listing
from tests.real_tokenizers import claude_tokens, mistral_tokens

_PAGE: Final = """# Few tools in sight

{note}
Every tool that a client lists costs its agent context before it says a word. `DOGUBAKO_DISCOVERY` decides what
`tools/list` shows:

| | |
| --- | --- |
| `full` | all tools that the caller may use |
| `search` | `search_tools`, `describe_tool`, `call_tool`, `read_more`, tools of `--tools` and `DOGUBAKO_PINNED_TOOLS` |
| `auto` (default) | `search` as soon as the definitions cost more than 10,000 tokens, else `full` |

An agent then goes three steps, the first two of which it may skip once it knows a tool:

```text
search_tools(query: 'log time on an issue')          names, required arguments, one line each
describe_tool(name: 'create_time_entry')              the schema, and an example
call_tool(name: 'create_time_entry', arguments: {{…}})  the call itself
```

`call_tool` goes down the whole path of the tool that it names: its policy, confirmation, limits, errors. A wrong
argument is answered with the tool's schema, so that the second try can succeed. The list never changes because of a
call, so clients may keep it. [search.md](search.md) tells how tools are ranked, and how well.

## What it costs

Tokens by the tokenizers of Claude and of Mistral:

{table}
"""

_QUERY: Final = "book an amount for a customer on an invoice"


def discovery_page(note: str) -> str:
    return _PAGE.format(note=note, table=asyncio.run(_table()))


async def _table() -> str:
    ours, thousand = _box("full"), _box("full", _many(1_000))
    rows = [
        ("our own tools, `full`", _listed(ours)),
        ("our own tools, `search`", _listed(_box("search"))),
        ("and 1,000 more, `full`", _listed(thousand)),
        ("and 1,000 more, `search`", _listed(_box("search", _many(1_000)))),
        ("an answer of `search_tools` among them", await _answered(thousand, "search_tools", query=_QUERY)),
        ("an answer of `describe_tool`", await _answered(thousand, "describe_tool", name="create_time_entry")),
    ]
    head = "| | Claude | Mistral |\n| --- | ---: | ---: |\n"
    return head + "\n".join(f"| {name} | {claude_tokens(text):,} | {mistral_tokens(text):,} |" for name, text in rows)


def _box(discovery: str, *more: Any) -> Toolbox:
    sources = Sources(overrides={"discovery": discovery, "sandbox": True}, environ={}, env_file=None)
    return build(sources, packs=[*PACKS, *more])


def _listed(box: Toolbox) -> str:
    return msgspec.json.encode(listing.tools(box, TRUSTED)).decode()


async def _answered(box: Toolbox, tool_name: str, **arguments: Any) -> str:
    result = await box.call(tool_name, arguments)
    assert not result.is_error, result.content
    return str(result.content[0]["text"])


def _many(count: int) -> ToolPack:
    """Tools as people write them: with a few arguments and sentences."""
    return ToolPack("invoices", [_made(number) for number in range(count)])


def _made(number: int) -> Any:
    async def execute(customer: str, amount: float, remark: str = "") -> str:
        """Book an amount for a customer, with a remark that appears on the invoice. Amounts are in euros."""
        return customer

    execute.__name__ = f"book_invoice_{number}"
    return tool(effect=Effect.WRITE)(execute)
