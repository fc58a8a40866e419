"""`dogubako doctor`: is everything reachable, and what to do if not."""

import asyncio
from dataclasses import replace
from pathlib import Path

import typer

from dogubako.app import Toolbox
from dogubako.cli.options import AsJson, Chosen, Config, Packs, Sandbox, Tools, friendly
from dogubako.cli.terminal import print_json
from dogubako.contract.pack import Finding
from dogubako.gate.writable import others_who_write, trouble_in
from dogubako.settings import Settings, SettingsError
from dogubako.transports.open_files import check_open_files
from dogubako.transports.strangers import check_strangers


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
        raise typer.Exit(1)


async def _examine(box: Toolbox) -> list[Finding]:
    async with box.running():
        entries = box.registry.list()
        enabled = sum(entry.enabled for entry in entries)
        return [
            Finding(
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


def _refusals(settings: Settings) -> list[Finding]:
    """Why `serve` would not start, in its own words."""
    try:
        check_strangers(settings)
    except SettingsError as error:
        return [Finding(ok=False, subject="serve", message=str(error))]
    return []


def _folder(subject: str, path: Path, variable: str) -> Finding:
    trouble = trouble_in(path)
    if trouble is None:
        return Finding(ok=True, subject=subject, message=f"{path} can be written.")
    return Finding(
        ok=False,
        subject=subject,
        message=f"{path} cannot be written: {trouble}.",
        advice=f"Set {variable} to a folder that you may write to.",
        severity="warning",
    )


def _access(data_dir: Path) -> list[Finding]:
    """Whoever can write keys, salt or the record can let himself in or remove his traces."""
    try:
        found = list(others_who_write(data_dir))
    except OSError:
        # It is not there yet, or it cannot be read, which is said about the folder already.
        return []
    return [
        Finding(ok=False, subject="data folder access", message=message, advice=f"Run: {command}", severity="warning")
        for message, command in found
    ]


def _judged(finding: Finding) -> Finding:
    # A server that cannot record goes on reading, so it is ready; whoever examines it has to hear that it is broken.
    return replace(finding, severity="error") if finding.subject == "audit log" else finding


def _print(finding: Finding) -> None:
    mark, colour = (
        ("ok", "green") if finding.ok else (finding.severity, "yellow" if finding.severity == "warning" else "red")
    )
    typer.secho(f"{mark:8}", fg=colour, nl=False)
    typer.echo(f"{finding.subject}: {finding.message}" + (f" {finding.advice}" if finding.advice else ""))
