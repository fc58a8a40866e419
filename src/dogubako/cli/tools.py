"""`dogubako tools list|search|show|call|learned|forget`."""

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import Annotated, Any

import click
import msgspec

from dogubako import logs
from dogubako.app import Toolbox
from dogubako.cli.commands import Commands, argument, option
from dogubako.cli.options import AsJson, Chosen, Config, Packs, ReadOnly, Sandbox, Tools, friendly
from dogubako.cli.terminal import TerminalConversation, fail, print_json, print_table
from dogubako.contract.call import TRUSTED, ExecutionOptions, ToolCall, ToolResult
from dogubako.contract.errors import DogubakoError, ToolDisabledError, ValidationError
from dogubako.contract.output import parse_call
from dogubako.engine.registration import ListFilter, ToolRegistryEntry
from dogubako.engine.search import NO_SEARCH, Match, SearchResult, can_search
from dogubako.engine.search.learning import LEARNED_FILE, forget, read_phrases
from dogubako.settings import SettingsError
from dogubako.transports.mcp.protocol import NOT_JSON, checked_options
from dogubako.transports.rest.models import tool_detail, tool_info

app = Commands(help="List, find, show and call tools.")


@app.register("list")
@friendly
def list_tools(
    tools: Tools = None,
    packs: Packs = None,
    sandbox: Sandbox = None,
    config: Config = None,
    category: Annotated[str | None, option(help="Only this category.")] = None,
    tag: Annotated[list[str] | None, option(help="Only with this tag; several mean all of them.")] = None,
    as_json: AsJson = False,
) -> None:
    """List all tools. Those that cannot be called come last, with the reason."""
    box = Chosen(tools=tools, packs=packs, sandbox=sandbox, config=config).open(quiet=True)
    entries = _run(box, _listed(box, ListFilter(category=category, tags=tuple(tag or ()))))
    if as_json:
        print_json([_info(box, entry) for entry in entries])
        return
    entries = sorted(entries, key=lambda one: _refusal(box, one) is not None)
    rows = [(one.name, one.category, _state(box, one), _first_line(one.metadata.description)) for one in entries]
    print_table(
        ("Name", "Category", "State", "What it does"), rows, empty="No tools. Try --tools examples/workbench.py."
    )


@app.register()
@friendly
def search(
    query: Annotated[str, argument(help="What the tool should do, in plain words.")],
    tools: Tools = None,
    packs: Packs = None,
    sandbox: Sandbox = None,
    config: Config = None,
    limit: Annotated[int, option(min=1, max=100, help="Number of tools to show.")] = 20,
    explain: Annotated[bool, option("--explain", help="Show what matched.")] = False,
    as_json: AsJson = False,
) -> None:
    """Search tools by plain words, best match first. Those that cannot be called come last."""
    if not query.strip():
        fail("Query is required")
    if not can_search():
        fail("Tools cannot be searched here.", NO_SEARCH)
    box = Chosen(tools=tools, packs=packs, sandbox=sandbox, config=config).open(quiet=True)
    found: SearchResult = _run(box, _searched(box, query, explain))
    matches = sorted(found.matches, key=lambda one: _refusal(box, one.entry) is not None)[:limit]
    if as_json:
        print_json([{**_info(box, match.entry), "score": match.score, **_why(match)} for match in matches])
        return
    why = ("Why",) if explain else ()
    rows = [
        (
            one.entry.name,
            f"{one.score:.2f}",
            *((", ".join(str(reason) for reason in one.why),) if explain else ()),
            _first_line(one.entry.metadata.description),
        )
        for one in found.nearest or matches
    ]
    if found.nearest:
        click.echo("Nothing here does that. Nearest:")
    print_table(("Name", "Score", *why, "What it does"), rows, empty="Nothing here does that.")


@app.register()
@friendly
def learned(config: Config = None, as_json: AsJson = False) -> None:
    """Show which questions led to which tools, as far as that was learned (DOGUBAKO_LEARN_FROM_USE)."""
    phrases = read_phrases(_learned_file(config))
    if as_json:
        print_json([msgspec.to_builtins(one) for one in phrases])
        return
    rows = [(one.tool, one.caller, one.question) for one in phrases]
    print_table(("Tool", "Caller", "Question"), rows, empty="Nothing was learned.")


@app.register("forget")
@friendly
def forget_learned(
    tool: Annotated[list[str] | None, option(help="Only what was learned for this tool.")] = None,
    caller: Annotated[list[str] | None, option(help="Only what was learned from this caller.")] = None,
    everything: Annotated[bool, option("--all", help="Forget all of it.")] = False,
    config: Config = None,
) -> None:
    """Remove what was learned from use, of a tool, of a caller, or all of it."""
    if not (tool or caller or everything):
        fail("Say what to forget", "Use --tool, --caller or --all; `dogubako tools learned` shows what there is.")
    removed = forget(_learned_file(config), tools=tool or (), callers=caller or ())
    click.echo(f"{removed} phrase{'' if removed == 1 else 's'} forgotten.")


def _learned_file(config: Path | None) -> Path:
    return Chosen(config=config).sources().load().data_dir / LEARNED_FILE


@app.register()
@friendly
def show(
    name: Annotated[str, argument(help="The tool's name.")],
    tools: Tools = None,
    packs: Packs = None,
    sandbox: Sandbox = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Show one tool: what it does and what it takes."""
    box = Chosen(tools=tools, packs=packs, sandbox=sandbox, config=config).open(quiet=True)
    try:
        entry, detail = _run(box, _shown(box, name))
    except DogubakoError as error:
        fail(error.message, error.hint)
    if as_json:
        print_json(detail)
        return
    about = f"{detail['category']}, {detail['effect']}, {_state(box, entry)}"
    click.echo(f"{detail['name']} {detail['version']} ({about})\n")
    click.echo(f"{detail['description']}\n")
    rows = [
        (one["name"], one["type"], "yes" if one["required"] else "", one.get("description", ""))
        for one in sorted(detail["parameters"], key=lambda one: not one["required"])
    ]
    print_table(("Argument", "Type", "Required", "Meaning"), rows, empty="It takes no arguments.")


@app.register()
@friendly
def call(
    name: Annotated[str, argument(help="The tool's name, or a whole call: \"echo(text: 'hello')\".")],
    arguments: Annotated[
        list[str] | None, argument(help="Arguments as name=value (a value may be JSON), or one JSON object.")
    ] = None,
    tools: Tools = None,
    packs: Packs = None,
    read_only: ReadOnly = None,
    sandbox: Sandbox = None,
    config: Config = None,
    version: Annotated[str | None, option(help="A version other than the newest.")] = None,
    timeout: Annotated[int | None, option(help="Milliseconds for one attempt.")] = None,
    max_tokens: Annotated[int | None, option(help="A smaller response budget.")] = None,
    task: Annotated[
        bool, option("--task", help="Start a task, which the servers of DOGUBAKO_SHARED run; print its id.")
    ] = False,
    save: Annotated[Path | None, option(help="Folder to save images and audio in.")] = None,
    as_json: AsJson = False,
) -> None:
    """Call a tool and print its answer. The exit code is 1 if the call failed."""
    box = Chosen(tools=tools, packs=packs, read_only=read_only, sandbox=sandbox, config=config).open(quiet=True)
    talk = TerminalConversation()
    if task and box.settings.shared is None:
        raise SettingsError("--task needs DOGUBAKO_SHARED: a task would end with this command.")
    try:
        tool_name, parameters = _arguments(box, name, arguments or [])
        options = _options(timeout, max_tokens, task)
    except DogubakoError as error:
        result = box.pipeline.responses.failure(error)
    else:
        request = ToolCall(
            name=tool_name, parameters=parameters, options=options, version=version, door="cli", conversation=talk
        )
        result = _run(box, box.pipeline.handle(request))
        if result.pending is not None:
            result = box.pipeline.unanswerable(result.pending)
    _print_result(result, as_json, save)
    log_file = box.settings.log_dir / logs.FILE_NAME
    if "errorId" in (result.meta or {}) and log_file.is_file() and not as_json:
        click.echo(f"The stack trace is in {log_file}.", err=True)
    if result.is_error:
        raise click.exceptions.Exit(1)


def _print_result(result: ToolResult, as_json: bool, save: Path | None) -> None:
    if as_json:
        print_json(result.to_mcp())
        return
    for index, block in enumerate(result.content):
        if block["type"] == "text":
            click.echo(block["text"], err=result.is_error)
        else:
            click.echo(_describe(block, index, save))


def _describe(block: dict[str, Any], index: int, save: Path | None) -> str:
    """Describe a block that a terminal cannot show, and save it if that was requested."""
    if block["type"] in ("image", "audio"):
        data = msgspec.json.decode(msgspec.json.encode(block["data"]), type=bytes)
        if save is None:
            return f"[{block['type']} {block['mimeType']}, {len(data):,} bytes; --save FOLDER keeps it]"
        path = save / f"{block['type']}-{index + 1}.{block['mimeType'].rsplit('/', 1)[-1]}"
        try:
            save.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        except OSError as failure:
            raise SettingsError(f"Cannot save to {path}: {failure.strerror}") from None
        return f"[{block['type']} saved: {path}]"
    return msgspec.json.encode(block).decode()


def _arguments(box: Toolbox, name: str, words: list[str]) -> tuple[str, dict[str, Any]]:
    """Parse `echo text=hello`, `echo '{"text": "hello"}'` or `"echo(text: 'hello')"`."""
    if "(" in name:
        try:
            return parse_call(name)
        except ValueError as error:
            raise ValidationError.of("name", f"Cannot read the call: {error}") from None
    if len(words) == 1 and words[0].lstrip().startswith("{"):
        try:
            return name, msgspec.json.decode(words[0], type=dict[str, Any])
        except NOT_JSON:
            raise ValidationError.of("arguments", "The arguments are not a JSON object.") from None
    return name, dict(_pair(box, name, word) for word in words)


def _pair(box: Toolbox, tool: str, word: str) -> tuple[str, Any]:
    key, equals, value = word.partition("=")
    if not equals:
        raise ValidationError.of("arguments", "Arguments are written name=value.")
    types = {one.name: one.type for one in box.registry.get(tool).metadata.parameters}
    if types.get(key) == "string":
        return key, value
    try:
        return key, msgspec.json.decode(value)
    except NOT_JSON:
        return key, value


def _options(timeout: int | None, max_tokens: int | None, task: bool) -> ExecutionOptions:
    options = {"timeout": timeout, "maxTokens": max_tokens, "task": task or None}
    return checked_options({key: value for key, value in options.items() if value is not None})


def _why(match: Match) -> dict[str, Any]:
    reasons = [{"word": one.word, "field": one.field, "share": round(one.share, 4)} for one in match.why]
    return {"why": reasons} if reasons else {}


async def _listed(box: Toolbox, wanted: ListFilter) -> Any:
    return box.registry.list(wanted)


async def _searched(box: Toolbox, query: str, explain: bool) -> Any:
    return box.registry.search(query, explain=explain)


async def _shown(box: Toolbox, name: str) -> tuple[ToolRegistryEntry, dict[str, Any]]:
    entry = box.registry.get(name)
    return entry, tool_detail(box.registry, name) | _standing(box, entry)


def _run(box: Toolbox, work: Coroutine[Any, Any, Any]) -> Any:
    """Run with connected packs: some tools are known only then."""

    async def run() -> Any:
        try:
            async with box.running():
                return await work
        finally:
            # If a pack cannot be opened, the work never starts.
            work.close()

    return asyncio.run(run())


def _refusal(box: Toolbox, entry: ToolRegistryEntry) -> tuple[str, str] | None:
    """Status and reason of a tool that cannot be called."""
    error = box.pipeline.policy.refusal(entry, TRUSTED)
    if error is None:
        return None
    if isinstance(error, ToolDisabledError):
        return "disabled", error.hint or error.message
    # The message is written for a caller; here nothing was called.
    return "refused", error.message.removesuffix(f": {entry.name} was not run.")


def _state(box: Toolbox, entry: ToolRegistryEntry) -> str:
    refusal = _refusal(box, entry)
    return ": ".join(refusal) if refusal else "enabled"


def _standing(box: Toolbox, entry: ToolRegistryEntry) -> dict[str, Any]:
    refusal = _refusal(box, entry)
    return {"enabled": False, "reason": refusal[1]} if refusal else {}


def _info(box: Toolbox, entry: ToolRegistryEntry) -> dict[str, Any]:
    return tool_info(entry) | _standing(box, entry)


def _first_line(text: str) -> str:
    return text.strip().split("\n", 1)[0]
