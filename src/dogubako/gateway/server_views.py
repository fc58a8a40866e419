"""Servers as the command line and REST show them. No value of a variable or header is shown."""

from datetime import UTC, datetime
from typing import Any

from dogubako.gateway.pack import ServerPack
from dogubako.gateway.upstream import UpstreamState


def server_info(pack: ServerPack, state: UpstreamState | None = None) -> dict[str, Any]:
    """One line about a server."""
    now = state or pack.state
    since = datetime.fromtimestamp(now.since, UTC).isoformat(timespec="seconds") if now.since else None
    info = {
        "name": pack.name,
        "transport": pack.server.kind,
        "state": now.name,
        "reason": now.reason or None,
        "since": since,
        "tools": len(pack.served),
        "held": len(pack.judgement.held),
        "pinning": pack.server.pinning,
    }
    return {key: value for key, value in info.items() if value is not None}


def server_detail(pack: ServerPack) -> dict[str, Any]:
    """Everything about a server."""
    settings, definitions, judgement = pack.server, pack.definitions, pack.judgement
    tools = pack.served.values()
    return {
        **server_info(pack),
        "address": settings.url.split("?", 1)[0] if settings.url else settings.command,
        "environment": sorted(settings.env),
        "headers": sorted(settings.headers),
        "protocol": definitions.protocol,
        "serverInfo": {key: definitions.info[key] for key in ("name", "title", "version") if key in definitions.info},
        "served": [{"name": tool.name, "remoteName": tool.remote_name, "effect": tool.effect.value} for tool in tools],
        "heldBack": [{"name": one.name, "reason": one.reason, "difference": one.difference} for one in judgement.held],
        "heldInstructions": judgement.held_instructions,
        "heldSkills": list(judgement.held_skills),
        "skills": [one["uri"] for one in judgement.skills],
        "aliases": pack.aliases,
        "resources": len(definitions.resources) + len(definitions.templates),
        "prompts": len(definitions.prompts),
        "faults": pack.faults,
        "lastStderr": pack.state.last_stderr[-2000:],
        "noiseLines": pack.state.noise_lines,
    }
