"""docs/redmine.md: what the Redmine tools are for, and how small their answers are, counted by real tokenizers."""

import asyncio
from typing import Any, Final

import msgspec

from dogubako.app import Toolbox, build
from dogubako.sandbox.services import SANDBOXES
from dogubako.settings import Sources
from tests.real_tokenizers import claude_tokens, mistral_tokens

_PAGE: Final = """# Redmine

{note}
The Redmine tools are a project manager's hands and eyes: issues with every filter, their history in names instead of
ids, projects, versions, members, time, people, wiki, files and search. [tools.md](tools.md) has all of them.

- **Names work where Redmine wants ids**: status "In Progress", a login or a full name, "me", a tracker, a version, an
  activity, a custom field. A name that two things have is refused with both; one that nobody has, with those there
  are.
- **Nothing is believed that was not read back.** Redmine answers "done" to changes that it ignores. After every write
  the record is read again; what was asked for and did not happen is an error that names the field and, where it can
  be known, the reason: the workflow, a missing permission, a value that comes from children. What changed by itself
  is told as `also_changed`.
- **What Redmine would ignore is refused before**: unknown filters, sorts, includes, custom fields; a filter beside a
  saved query; a private note that would become public.
- **Deleting says what else would go**, children and logged time, and wants `confirm: true`.
- **Answers are XML** with ids as attributes, ready to be written back (`<status id="2">In Progress</status>`), or
  JSON with `REDMINE_FORMAT=json`. Texts that other people wrote are marked as data.

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
"""

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
    return _PAGE.format(note=note, table="\n".join([*head, *asyncio.run(_rows())]))


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
