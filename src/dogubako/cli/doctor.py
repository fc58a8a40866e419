"""`dogubako config` and `dogubako doctor`: the settings in force, and whether everything works."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import click
from pydantic import BaseModel

from dogubako.app import Toolbox
from dogubako.cli.options import AsJson, Chosen, Config, Packs, Sandbox, Tools, friendly
from dogubako.cli.terminal import print_json, print_table
from dogubako.contract.pack import HealthCheck, env_name, has_tables
from dogubako.gate.files import foreign_writable_paths, why_not_writable
from dogubako.gateway.settings import ServerSettings
from dogubako.pack_state import reference
from dogubako.settings import Settings, SettingsError
from dogubako.settings_view import as_written, masked_value
from dogubako.transports.http.hosts import refuse_open_bind
from dogubako.transports.http.open_files import check_open_files


@friendly
def config(config: Config = None, tools: Tools = None, as_json: AsJson = False) -> None:
    """Print the settings in force; secrets are masked."""
    box = Chosen(config=config, tools=tools).open(quiet=True)
    models: dict[str, BaseModel] = {"dogubako": box.settings}
    models |= {
        reference(name, instance.name): instance.settings
        for name, state in box.packs.items()
        for instance in state.instances.values()
    }
    if as_json:
        print_json({section: {name: masked_value(value) for name, value in model} for section, model in models.items()})
        return
    rows = [row for section, model in models.items() for row in _rows(section, model)]
    print_table(("Variable", "Value", "Meaning"), rows, empty="No settings.")


def _rows(section: str, model: BaseModel) -> Iterator[tuple[str, str, str]]:
    """One row per variable, one per key of a nested table, and one per key that the table of a server sets."""
    is_server = isinstance(model, ServerSettings)
    for name, value in model:
        meaning = str(type(model).model_fields[name].description or "")
        if is_server:
            if name in model.model_fields_set and name != "resolved":
                yield f"[servers.{section}] {name}", as_written(value), meaning
            continue
        if not has_tables(type(model), name):
            yield env_name(type(model), name), as_written(value), meaning
            continue
        for table, nested in value.items():
            entries = nested if isinstance(nested, BaseModel) else [("", nested)]
            yield from ((f"[{name}.{table}] {key}".strip(), as_written(one), meaning) for key, one in entries)


@friendly
def doctor(
    tools: Tools = None, packs: Packs = None, sandbox: Sandbox = None, config: Config = None, as_json: AsJson = False
) -> None:
    """Check settings, folders, the gate and every configured service. The exit code is 1 if something is broken."""
    box = Chosen(tools=tools, packs=packs, sandbox=sandbox, config=config).open(quiet=True)
    findings = asyncio.run(_examine(box))
    if as_json:
        print_json(findings)
    else:
        for finding in findings:
            _print(finding)
    if any(not finding.ok and finding.severity == "error" for finding in findings):
        raise click.exceptions.Exit(1)


async def _examine(box: Toolbox) -> list[HealthCheck]:
    async with box.running():
        entries = box.registry.list()
        enabled = sum(entry.enabled for entry in entries)
        return [
            HealthCheck(
                ok=bool(enabled),
                subject="tools",
                message=f"{enabled} of {len(entries)} tools are enabled.",
                advice=None if enabled else "Configure a pack, or add your own tools with --tools FILE.",
                severity="warning",
            ),
            *_refusals(box.settings),
            _folder("log folder", box.settings.log_dir, "LOG_DIR"),
            _folder("data folder", box.settings.data_dir, "DOGUBAKO_DATA_DIR"),
            *_access(box.settings.data_dir),
            check_open_files(),
            *(_judged(finding) for finding in await box.check()),
        ]


def _refusals(settings: Settings) -> list[HealthCheck]:
    """Why `serve` would not start, with its own messages."""
    try:
        refuse_open_bind(settings)
    except SettingsError as error:
        return [HealthCheck(ok=False, subject="serve", message=str(error))]
    return []


def _folder(subject: str, path: Path, variable: str) -> HealthCheck:
    trouble = why_not_writable(path)
    if trouble is None:
        return HealthCheck(ok=True, subject=subject, message=f"{path} can be written.")
    return HealthCheck(
        ok=False,
        subject=subject,
        message=f"{path} cannot be written: {trouble}.",
        advice=f"Set {variable} to a folder that you may write to.",
        severity="warning",
    )


def _access(data_dir: Path) -> list[HealthCheck]:
    """Report files that other users can write: they could add keys or change the audit log."""
    try:
        findings = list(foreign_writable_paths(data_dir))
    except OSError:
        # The folder is missing or unreadable, which another check reports.
        return []
    return [
        HealthCheck(
            ok=False, subject="data folder access", message=message, advice=f"Run: {command}", severity="warning"
        )
        for message, command in findings
    ]


def _judged(finding: HealthCheck) -> HealthCheck:
    # A server that cannot record still reads, so it is ready; `doctor` reports it as broken.
    return replace(finding, severity="error") if finding.subject == "audit log" else finding


def _print(finding: HealthCheck) -> None:
    mark, colour = (
        ("ok", "green") if finding.ok else (finding.severity, "yellow" if finding.severity == "warning" else "red")
    )
    click.secho(f"{mark:8}", fg=colour, nl=False)
    said = (_sentence(one) for one in (finding.message, finding.advice) if one)
    click.echo(f"{finding.subject}: {' '.join(said)}")


def _sentence(text: str) -> str:
    """Messages of errors have no full stop, and advice may end with a command."""
    return text if text.endswith((".", "?", "!", "。")) or text.startswith("Run: ") else f"{text}."
