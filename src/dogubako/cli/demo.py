"""`dogubako demo`: a guided tour of the tools in the terminal, with the built-in services and no account."""

import asyncio
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Final, Literal

import click
import msgspec

from dogubako import logs
from dogubako.app import Toolbox, build
from dogubako.cli.commands import option
from dogubako.cli.options import friendly
from dogubako.contract.call import ToolResult
from dogubako.contract.redaction import Redactor
from dogubako.engine.search import can_search
from dogubako.settings import SettingsError, Sources

Language = Literal["en", "ja"]

# Longer answers are shown in part: a person wants to see the form, an agent gets all of it.
_SHOWN_LINES: Final = 14
_SHOWN_COLUMNS: Final = 110


@dataclass(frozen=True, kw_only=True)
class Step:
    """One call of the tour: why an agent makes it, and whether it is meant to fail."""

    en: str
    ja: str
    tool: str
    arguments: dict[str, Any] = field(default_factory=dict)
    # The part of the data that a person is shown; empty for the beginning of the answer.
    part: str = ""
    fails: bool = False

    def text(self, language: Language) -> str:
        return self.ja if language == "ja" else self.en


# Ids are those of the built-in n8n and Redmine.
STEPS: Final[Sequence[Step]] = (
    Step(
        en="An agent sees a few tools and finds the others by everyday words.",
        ja="エージェントには少数のツールだけが見え、ほかは普段の言葉で見つかります。",
        tool="search_tools",
        arguments={"query": "which automation broke last night?", "limit": 3},
    ),
    Step(
        en="If there is no tool for a question, it is told so.",
        ja="できることがなければ、そう答えます。",
        tool="search_tools",
        arguments={"query": "transcribe this audio recording"},
    ),
    Step(
        en="Which runs of n8n workflows failed?",
        ja="失敗した n8n の実行はどれでしょう。",
        tool="list_executions",
        arguments={"status": "error", "limit": 3},
    ),
    Step(
        en="Why did one fail? The tool names the node where the data went wrong first.",
        ja="なぜ失敗したのでしょう。データが最初におかしくなったノードを示します。",
        tool="diagnose_execution",
        arguments={"id": "23"},
        part="explanation",
    ),
    Step(
        en="A repair, first as a preview: nothing is written.",
        ja="修正をまず下見します。何も書き込まれません。",
        tool="edit_workflow",
        arguments={
            "id": "2e7aeb410aee5770",
            "operations": [
                {
                    "op": "setParameter",
                    "node": "Normalise email",
                    "path": "jsCode",
                    "value": "return { json: { ...$json, email: $json.email?.toLowerCase() } };",
                }
            ],
            "dryRun": True,
        },
        part="diff",
    ),
    Step(
        en="What is urgent in a Redmine project? Names work where Redmine wants ids.",
        ja="Redmine のプロジェクトで急ぎのものは? ID の代わりに名前が使えます。",
        tool="list_issues",
        arguments={
            "project_id": "webshop",
            "sort": "priority:desc",
            "fields": ["subject", "status", "assigned_to"],
            "limit": 3,
        },
    ),
    Step(
        en="Redmine says “done” to this change and ignores it. The answer says so: never a false success.",
        ja="Redmine はこの変更に「成功」と答えますが、実は無視します。偽りの成功は返しません。",
        tool="update_issue",
        arguments={"id": 2, "done_ratio": 50},
        fails=True,
    ),
    Step(
        en="Deleting asks first, and says what else would be deleted.",
        ja="削除の前には確認を求め、ほかに何が消えるかを伝えます。",
        tool="delete_project",
        arguments={"id": "webshop"},
        fails=True,
    ),
    Step(
        en="A misspelt argument gets a clear error before anything runs.",
        ja="引数の書き間違いは、実行の前に分かりやすいエラーになります。",
        tool="show_issue",
        arguments={"issue": 1},
        fails=True,
    ),
    Step(
        en="Search the web…",
        ja="ウェブを検索し…",
        tool="web_search",
        arguments={"query": "miso soup", "max_results": 2},
    ),
    Step(
        en="…and read a page as Markdown.",
        ja="…ページを Markdown で読みます。",
        tool="fetch_page",
        arguments={"url": "https://recipes.sandbox.invalid/miso-soup"},
    ),
)

_TEXTS: Final = {
    "en": {
        "start": "A tour of Dogubako: {count} calls that an agent could make. The services are built in; nothing "
        "leaves this machine.",
        "pause": "Press Enter to go on",
        "more": "… {count} more lines; the agent gets all of it",
        "cost": "{tokens} tokens, {outcome}",
        "ok": "ok",
        "end": "That was the tour. Next: `dogubako serve --sandbox` starts the server, "
        "`dogubako connect claude-code --sandbox --write` connects an agent.",
    },
    "ja": {
        "start": "Dogubako のツアー: エージェントが行う {count} 回の呼び出しです。"
        "サービスは内蔵で、この機械の外には何も出ません。",
        "pause": "Enter で次へ",
        "more": "… 残り {count} 行(エージェントにはすべて届きます)",
        "cost": "{tokens} トークン、{outcome}",
        "ok": "成功",
        "end": "ツアーは以上です。次は `dogubako serve --sandbox` でサーバーを起動し、"
        "`dogubako connect claude-code --sandbox --write` でエージェントをつなぎます。",
    },
}


@friendly
def demo(
    play: Annotated[bool, option("--play", help="Go on without pauses, for scripts and recordings.")] = False,
    lang: Annotated[Language, option(envvar="DOGUBAKO_LANG", help="Language of the tour.")] = "en",
) -> None:
    """Take a guided tour of the tools with built-in services. No account is needed, and nothing is kept."""
    if not play and not sys.stdin.isatty():
        raise SettingsError("The tour waits for a key after each step; without a terminal, say --play.")
    if not can_search() or find_spec("selectolax") is None:
        raise SettingsError("The tour searches tools and reads the web: pip install 'dogubako[standard]'.")
    with TemporaryDirectory() as folder:
        asyncio.run(_tour(_sandbox(Path(folder)), lang, play=play))


def _sandbox(folder: Path) -> Toolbox:
    """A toolbox with built-in services only. No setting of this machine counts, so the tour touches nothing real."""
    redactor = Redactor()
    # The tour shows failures on purpose; their log lines would be noise.
    logs.configure("fatal", folder, redactor)
    packs = ("n8n", "redmine", "web")
    settings = {"sandbox": True, "packs": packs, "data_dir": folder, "log_dir": folder, "discovery": "search"}
    return build(Sources.only(settings), redactor=redactor)


async def _tour(box: Toolbox, language: Language, *, play: bool) -> None:
    texts = _TEXTS[language]
    click.echo(texts["start"].format(count=len(STEPS)))
    async with box.running():
        for number, step in enumerate(STEPS, start=1):
            click.secho(f"\n{number}/{len(STEPS)}  {step.text(language)}", bold=True)
            click.secho(f"  {step.tool}({_shown_arguments(step)})", fg="cyan")
            result = await box.call(step.tool, step.arguments)
            _print_answer(result, step.part, texts)
            if result.is_error != step.fails:
                raise SettingsError(f"{step.tool} did not answer as the tour expects.")
            if not play and number < len(STEPS):
                click.prompt(texts["pause"], default="", show_default=False, prompt_suffix=" ", err=True)
    click.echo(f"\n{texts['end']}")


def _shown_arguments(step: Step) -> str:
    return ", ".join(f"{name}: {msgspec.json.encode(value).decode()}" for name, value in step.arguments.items())


def _print_answer(result: ToolResult, part: str, texts: dict[str, str]) -> None:
    """Print the first lines of an answer, and what it costs an agent."""
    whole = [line for block in result.content if block["type"] == "text" for line in _lines(block["text"])]
    chosen = _lines(msgspec.json.encode(result.data[part]).decode()) if part and not result.is_error else whole
    for line in chosen[:_SHOWN_LINES]:
        click.secho(f"  {line}", fg="yellow" if result.is_error else None)
    if len(whole) > len(chosen[:_SHOWN_LINES]):
        click.secho(f"  {texts['more'].format(count=len(whole) - len(chosen[:_SHOWN_LINES]))}", dim=True)
    outcome = result.code if result.is_error else texts["ok"]
    click.secho(f"  {texts['cost'].format(tokens=result.tokens, outcome=outcome)}", dim=True)


def _lines(text: str) -> list[str]:
    """Indent JSON, which agents get compact, break XML between elements, and wrap long lines."""
    if text.startswith(("{", "[")):
        text = msgspec.json.format(text, indent=2)
    elif text.startswith("<?xml"):
        text = text.replace("><", ">\n<")
    return [part for line in text.splitlines() for part in textwrap.wrap(line, _SHOWN_COLUMNS, drop_whitespace=False)]
