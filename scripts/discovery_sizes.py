"""docs/discovery.md: what agents see of many tools, and what it costs them, counted by real tokenizers."""

import asyncio
from typing import Any, Final

import msgspec

from dogubako import Effect, tool
from dogubako.app import Toolbox, build
from dogubako.contract.call import TRUSTED
from dogubako.packs import PACKS
from dogubako.settings import Sources
from dogubako.tools import ToolPack
from dogubako.transports.mcp import lists as listing
from tests.real_tokenizers import claude_tokens, mistral_tokens

_PAGE: Final = """# Tool discovery

{note}
Every listed tool takes tokens of the agent's context window, before the agent has called anything. `DOGUBAKO_DISCOVERY`
decides what `tools/list` shows:

| | |
| --- | --- |
| `full` | all tools that the caller may use |
| `light` | all of them by name and one line (at most 30 tokens), and `describe_tool` for the arguments |
| `search` | `search_tools`, `describe_tool`, `call_tool`, `read_more`, tools of `--tools` and `DOGUBAKO_PINNED_TOOLS` |
| `auto` (default) | `full` up to 10,000 tokens of definitions, else `light` up to 2,500 of lines, else `search` |

With `search` an agent takes three steps. It may skip the first two if it knows the tool:

```text
search_tools(query: 'log time on an issue')          names, required arguments, one line each
describe_tool(name: 'create_time_entry')              the schema, and an example
call_tool(name: 'create_time_entry', arguments: {{…}})  the call itself
```

With `light` an agent chooses from names, which models do better than any ranker. The listed schema is open; a wrong
argument is answered with the real one. Whatever was listed once stays callable by its own name, in every mode.

Except with `full`, the server's `instructions` begin with a map: one line per pack, how many tools it has for this
caller, and for what tasks (`Pack.about`, else what the tools' names are about).

`call_tool` runs the named tool with its own policy, confirmation, limits and errors. A wrong argument is answered with
the tool's schema, so that the second try can succeed. A call never changes the list, so clients may cache it.
[search.md](search.md) describes how tools are ranked, and how well.

## What it costs

Tokens by the tokenizers of Claude and of Mistral:

{table}
"""

_QUERY: Final = "book an amount for a customer on an invoice"


def discovery_page(note: str) -> str:
    return _PAGE.format(note=note, table=asyncio.run(_table()))


async def _table() -> str:
    ours, thousand = _box("full"), _box("full", _many(1_000))
    # On a busy machine the first search does not wait for all tools, and its answer says so.
    while thousand.registry.search(_QUERY).not_indexed:
        pass
    rows = [
        ("our own tools, `full`", _listed(ours)),
        ("our own tools, `light`", _listed(_box("light"))),
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
