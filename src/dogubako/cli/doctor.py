"""`dogubako doctor`: is everything reachable, and what to do if not."""

import asyncio
import os
from pathlib import Path

import typer

from dogubako.app import Toolbox
from dogubako.cli.options import AsJson, Chosen, Config, Packs, Sandbox, Tools, friendly
from dogubako.cli.terminal import print_json
from dogubako.contract.pack import Finding


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
            _folder("log folder", box.settings.log_dir, "LOG_DIR"),
            _folder("data folder", box.settings.data_dir, "DOGUBAKO_DATA_DIR"),
            *await box.check(),
        ]


def _folder(subject: str, path: Path, variable: str) -> Finding:
    """Whether we could write there; nothing is created just to find out."""
    existing = next(parent for parent in (path.absolute(), *path.absolute().parents) if parent.exists())
    if existing.is_dir() and os.access(existing, os.W_OK):
        return Finding(ok=True, subject=subject, message=f"{path} can be written.")
    return Finding(
        ok=False,
        subject=subject,
        message=f"{path} cannot be written.",
        advice=f"Set {variable} to a folder that you may write to.",
        severity="warning",
    )


def _print(finding: Finding) -> None:
    mark, colour = (
        ("ok", "green") if finding.ok else (finding.severity, "yellow" if finding.severity == "warning" else "red")
    )
    typer.secho(f"{mark:8}", fg=colour, nl=False)
    typer.echo(f"{finding.subject}: {finding.message}" + (f" {finding.advice}" if finding.advice else ""))
