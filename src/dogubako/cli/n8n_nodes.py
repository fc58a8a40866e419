"""`dogubako n8n-nodes download|status`: the node types that checks of n8n workflows use."""

import asyncio
import sys
from typing import Annotated, Any

import click

from dogubako.app import Toolbox
from dogubako.cli.commands import Commands, option
from dogubako.cli.options import Chosen, Config, friendly
from dogubako.cli.terminal import fail, show_progress
from dogubako.packs.n8n.nodes.download import REGISTRY, DownloadError, download

app = Commands(help="Node types of n8n, for search_nodes, describe_node and validate_workflow.")

_NO_VERSION = "The version of n8n is not known."


@app.register("download")
@friendly
def download_types(
    version: Annotated[str | None, option(help="Version of n8n; default: that of N8N_URL.")] = None,
    registry: Annotated[str, option(help="Address of an npm registry.")] = REGISTRY,
    config: Config = None,
) -> None:
    """Download the node types of n8n from npm (about 14 MB) and keep an index of them in the data folder."""
    box = Chosen(config=config).open(quiet=True)
    wanted = version or asyncio.run(_version_of(box))
    if wanted is None:
        fail(_NO_VERSION, "Give it: dogubako n8n-nodes download --version 2.41.1")
    click.echo(f"n8n's node types are under n8n's Sustainable Use License. Downloading those of n8n {wanted}.")
    try:
        path = download(wanted, box.settings.data_dir, _show, registry)
    except DownloadError as error:
        fail(f"The node types were not downloaded: {error}")
    click.echo(f"Kept an index of {path.stat().st_size / 1_000_000:.1f} MB in {path}")


@app.register()
@friendly
def status(config: Config = None) -> None:
    """Show which source of node types the server uses."""
    box = Chosen(config=config).open(quiet=True)
    click.echo(asyncio.run(_source_of(box)))


def _show(package: str, received: int, total: int | None) -> None:
    if sys.stderr.isatty():
        show_progress(received, total, f"{package}: {received / 1_000_000:.0f} MB")
    elif received == total:
        click.echo(f"{package}: {received / 1_000_000:.1f} MB", err=True)


async def _version_of(box: Toolbox) -> str | None:
    async with box.running():
        client: Any = box.packs["n8n"].client
        return None if client is None else await client.lookups.version()


async def _source_of(box: Toolbox) -> str:
    async with box.running():
        client: Any = box.packs["n8n"].client
        return "n8n is not configured: set N8N_URL." if client is None else str(await client.nodes.source_name())
