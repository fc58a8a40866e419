"""docs/n8n.md: what the n8n tools are for, and how small their answers are, counted by real tokenizers."""

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

import msgspec

from dogubako.packs.n8n.models import read_execution
from dogubako.packs.n8n.tools.executions import GetExecution
from dogubako.response.builder import ToolResponseBuilder
from dogubako.sandbox.n8n.recordings import recordings
from scripts.large_execution import ITEMS, large_execution
from tests.real_tokenizers import claude_tokens, mistral_tokens

_PAGE: Final = """# n8n

{note}
The n8n tools let an agent understand, run and repair automations without flooding its context. `get_execution` tells
in at most 1,000 tokens how an execution went, whatever its size: status, times, the error itself, and which nodes are
worth a look. `get_execution_by_node` shows the items of one node, page by page. `diagnose_execution` goes back from the
failing node to the first place where the data went wrong. Workflows can be read in parts, changed, run and restored:
before one is overwritten or deleted it is saved, and after every write the result is read back and compared.
[tools.md](tools.md) has all of them.

## Connect it

```bash
N8N_URL=https://n8n.example.com
N8N_API_KEY=...
```

n8n makes keys under Settings → n8n API. [settings.md](settings.md#n8n) has all settings. `dogubako doctor`
tells whether n8n answers, whether the key is good, and which scopes it lacks. `DOGUBAKO_READ_ONLY=true` refuses
everything that writes; `DOGUBAKO_CACHE=memory` asks n8n only once for an execution that has ended. Without any account,
`--sandbox` brings a small n8n with the executions of the table below.

## How small answers are

Tokens of n8n's own answer (`GET /api/v1/executions/{{id}}?includeData=true`) beside those of `get_execution`, by the
tokenizers of Claude and of Mistral; the last column is by the one that sees less of a difference. All executions but
the first were recorded from n8n 2.41.1; that one is built in the same shape, because it is too large to keep.

{table}
"""

_COLUMNS: Final = (
    "execution",
    "status",
    "n8n: Claude",
    "n8n: Mistral",
    "get_execution: Claude",
    "get_execution: Mistral",
    "smaller",
)


class Size(NamedTuple):
    """Both answers of one execution, in tokens."""

    name: str
    status: str
    raw: tuple[int, int]
    summary: tuple[int, int]


def n8n_page(note: str) -> str:
    rows = [_COLUMNS, ("---", "---", *["---:"] * (len(_COLUMNS) - 2)), *map(_row, sizes())]
    return _PAGE.format(note=note, table="\n".join(f"| {' | '.join(row)} |" for row in rows))


def sizes() -> Iterator[Size]:
    """The largest first, the others by name."""
    yield _size(f"{ITEMS:,} items", large_execution())
    for recording in sorted(recordings(), key=lambda one: one.key):
        yield _size(f"`{recording.key}`", msgspec.json.encode(recording.execution))


def _size(name: str, raw: bytes) -> Size:
    execution = read_execution(raw)
    answer = ToolResponseBuilder().success(GetExecution().format_response(execution, raw=False))
    (block,) = answer.content
    return Size(name, execution.status, _counted(raw.decode()), _counted(str(block["text"])))


def _counted(text: str) -> tuple[int, int]:
    counts: tuple[Callable[[str], int], ...] = (claude_tokens, mistral_tokens)
    claude, mistral = (count(text) for count in counts)
    return claude, mistral


def _row(size: Size) -> tuple[str, ...]:
    numbers = (f"{number:,}" for number in (*size.raw, *size.summary))
    return (size.name, size.status, *numbers, f"{_times(size):,.0f}×")


def _times(size: Size) -> float:
    """By the tokenizer that sees less of a difference."""
    return min(raw / summary for raw, summary in zip(size.raw, size.summary, strict=True))
