"""docs/redmine.md: what the Redmine tools are for, and how small their answers are, counted by real tokenizers."""

import asyncio
from pathlib import Path
from typing import Any, Final

import msgspec

from dogubako.app import Toolbox, build
from dogubako.settings import Sources
from dogubako_sandbox import SANDBOXES
from tests.real_tokenizers import claude_tokens, mistral_tokens

_PAGE: Final = """# Redmine

{note}
The Redmine tools read and change issues (with every filter, and their history with names instead of ids), projects,
versions, members, time entries, users, wiki pages and files, and search; they add up, change many issues at once, tell
who did what, and draw charts. [tools.md](tools.md) has all of them.

- **Names work where Redmine wants ids**: status "In Progress", a login or a full name, "me", a tracker, a version, an
  activity, a custom field. An ambiguous name is refused with its candidates, an unknown name with the names that
  exist.
- **Every write is read back.** Redmine answers "done" to changes that it ignores. After every write the record is read
  again. A change that was requested and did not happen is an error that names the field and, if it is known, the
  reason: the workflow, a missing permission, a value that comes from children. `also_changed` reports what changed
  beside it.
- **What Redmine would ignore is refused before**: unknown filters, sorts, includes, custom fields; a filter beside a
  saved query; a private note that would become public.
- **Sums are of everything that matches.** `report_issues`, `report_time` and `report_versions` read every page, four
  at a time, and count again if the list changed meanwhile. More than 5,000 rows are refused with their number: a sum
  of the first page is never called the total. Progress is the per cent of Redmine's roadmap.
- **Many issues change in two calls.** `update_issues` first shows a table of before and after, with what Redmine would
  refuse and why. The same call with the preview's token then writes exactly that, once, within 15 minutes, for the same
  caller. An issue that somebody changed since the preview is left alone and listed, and so is every refusal. Only one
  such call writes at a time; somebody who edits in Redmine itself can still come in between for the seconds in which up
  to 25 issues are written.
- **Charts are pictures and text.** `draw_chart` draws Gantt charts, burndowns and workloads, with a Japanese font,
  where `pip install 'dogubako[charts]'` was run; the table of the same as text is always there.
- **Deleting reports what else would be deleted**, such as children and logged time, and requires a confirmation.
- **Answers are XML** with ids as attributes, ready to be written back (`<status id="2">In Progress</status>`), or
  JSON with `REDMINE_FORMAT=json`. In XML, texts that people wrote are marked as data (`untrusted="true"`).

## Connect it

```bash
REDMINE_URL=https://redmine.example.com
REDMINE_API_KEY=...
```

Redmine shows a user's key under My account, once an administrator has switched the REST API on. What the tools may do
is what that user may do. [settings.md](settings.md#redmine) has all settings; `dogubako doctor` tells whether Redmine
answers and whose key it is. Without any account, `--sandbox` brings a small Redmine.

## How small answers are

Tokens of Redmine's own JSON beside those of our answers, by the tokenizers of Claude and of Mistral. No answer is
larger than the response budget (25,000 tokens by our own, careful count): what does not fit is left out by whole
issues or journals, and the call that gets it is named.

{table}

## Sixty tasks of a project manager

`scripts/redmine_tasks.py` does them on a real Redmine with 331 issues, Japanese names and custom fields of every kind,
as a manager who is no administrator, and asks its database the same by SQL: {right} of {tasks} were right. Requests are
those to Redmine, without the one that asks whose key it is; look-ups are kept for a minute. Tokens are of the answers.

{task_table}
"""

_TASKS: Final = Path(__file__).with_name("redmine_tasks.json")
_TASK_HEAD: Final = """| task | tool | calls | requests | tokens | right by SQL |
| --- | --- | ---: | ---: | ---: | --- |"""
_LINE: Final = "| --- | ---: | ---: | ---: | ---: |"
_CASES: Final[tuple[tuple[str, str, str, dict[str, Any]], ...]] = (
    (
        "100 issues with 15 custom fields, all of it",
        "/issues.json?project_id=bulk&limit=100",
        "list_issues",
        {"project_id": "bulk", "limit": 100},
    ),
    (
        "the same, `fields: [subject, status, assigned_to]`",
        "/issues.json?project_id=bulk&limit=100",
        "list_issues",
        {"project_id": "bulk", "limit": 100, "fields": ["subject", "status", "assigned_to"]},
    ),
    (
        "an issue with 500 journals",
        "/issues/140.json?include=journals,children,attachments,relations,allowed_statuses",
        "show_issue",
        {"id": 140},
    ),
    (
        "an issue with everything",
        "/issues/1.json?include=journals,children,attachments,relations,allowed_statuses",
        "show_issue",
        {"id": 1},
    ),
    ("all projects", "/projects.json", "list_projects", {}),
)


def redmine_page(note: str) -> str:
    head = ["| answer | Redmine: Claude | Redmine: Mistral | ours: Claude | ours: Mistral |", _LINE]
    tasks = msgspec.json.decode(_TASKS.read_bytes())
    return _PAGE.format(
        note=note,
        table="\n".join([*head, *asyncio.run(_rows())]),
        right=sum(one["right"] for one in tasks),
        tasks=len(tasks),
        task_table="\n".join([_TASK_HEAD, *map(_task_row, tasks)]),
    )


def _task_row(one: dict[str, Any]) -> str:
    right = "yes" if one["right"] else "no"
    return f"| {one['task']} | `{one['tools']}` | {one['calls']} | {one['requests']} | {one['tokens']:,} | {right} |"


async def _rows() -> list[str]:
    box = build(Sources(overrides={"sandbox": True, "packs": "redmine"}, environ={}, env_file=None))
    async with box.running():
        return [await _row(box, *case) for case in _CASES]


async def _row(box: Toolbox, name: str, path: str, tool: str, arguments: dict[str, Any]) -> str:
    theirs = await _asked(path)
    result = await box.call(tool, arguments)
    assert not result.is_error, result.content
    ours = str(result.content[0]["text"])
    cells = [claude_tokens(theirs), mistral_tokens(theirs), claude_tokens(ours), mistral_tokens(ours)]
    return f"| {name} | " + " | ".join(f"{count:,}" for count in cells) + " |"


async def _asked(path: str) -> str:
    """What the service itself says."""
    import httpx2  # noqa: PLC0415 - as everywhere: heavy, and only this needs it

    sandbox = SANDBOXES["redmine"]
    headers = {"X-Redmine-API-Key": sandbox.settings["api_key"], "Accept": "application/json"}
    async with httpx2.AsyncClient(base_url=sandbox.settings["url"], transport=sandbox.transport()) as client:
        answer = await client.get(path, headers=headers)
        return msgspec.json.encode(answer.json()).decode()
