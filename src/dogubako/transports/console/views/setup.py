"""How this server is set up: the state of every pack, the settings in force, and how to connect clients.

A pack shows what `doctor` knows, its remedy, and what to set where it is not configured.

Another MCP server behind this one is a pack too. Its card leads to its own page (`servers.py`).
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.responses import Response

from dogubako.contract.pack import HealthCheck, ServiceState
from dogubako.transports.console.page import Visit, page
from dogubako.transports.console.snippets import KEY_VARIABLE, client_snippets
from dogubako.transports.console.statistics import causes_of
from dogubako.transports.console.views import Views
from dogubako.transports.console.views.servers import LEVELS


@dataclass(frozen=True, kw_only=True, slots=True)
class ShownService:
    """A pack with its checks and the number of its tools."""

    state: ServiceState
    checks: Sequence[HealthCheck]
    tools: int
    enabled: int
    failures: int
    # Of another MCP server: its state, and how many of its tools wait for approval.
    server: Mapping[str, Any] | None = None

    @property
    def level(self) -> str:
        """`ok`, `warning`, `error`, or `off` for a pack that is not configured."""
        if self.state.missing is not None:
            return "off"
        if self.server is not None:
            return "warning" if self.server["held"] else LEVELS.get(self.server["state"], "error")
        wrong = [check for check in self.checks if not check.ok]
        return "ok" if not wrong else "error" if any(check.severity == "error" for check in wrong) else "warning"


async def services(views: Views, visit: Visit) -> Response:
    """Every pack, those with trouble first, and the checks of the server itself."""
    checks = await views.readiness.findings()
    states = views.inside.service_states()
    listed = await views.inside.server_administration.list(caller=visit.caller, door="console")
    servers = {one["name"]: one for one in listed}
    names = {state.name for state in states}
    entries = views.inside.registry.list()
    tools = Counter(entry.pack for entry in entries)
    enabled = Counter(entry.pack for entry in entries if entry.enabled)
    packs = {entry.name: entry.pack for entry in entries}
    records = views.recorder.all()
    failures = Counter(packs.get(one.tool) for one in records if one.failed)
    shown = [
        ShownService(
            state=state,
            checks=[check for check in checks if _owner(check, names) == state.name],
            tools=tools[state.name],
            enabled=enabled[state.name],
            failures=failures[state.name],
            server=servers.get(state.name),
        )
        for state in states
    ]
    order = ("error", "warning", "ok", "off")
    return await page(
        visit,
        "services.html",
        active="services",
        services=sorted(shown, key=lambda one: (order.index(one.level), one.state.name)),
        server=[check for check in checks if _owner(check, names) is None],
        causes=causes_of(records, most=5),
    )


def _owner(check: HealthCheck, names: set[str]) -> str | None:
    """The pack that a check belongs to; its subject begins with the name of the pack."""
    first = check.subject.split(".")[0].split()[0].lower() if check.subject.split() else ""
    return first if first in names else None


async def settings(views: Views, visit: Visit) -> Response:
    """Every setting in force, masked, with its source, grouped by pack."""
    rows = views.inside.settings_in_force()
    wanted = visit.query.get("show", "")
    shown = [row for row in rows if wanted == "all" or row.source != "default"]
    sections = {row.section: [one for one in shown if one.section == row.section] for row in shown}
    return await page(
        visit, "settings.html", active="settings", sections=sections, total=len(rows), shown=len(shown), wanted=wanted
    )


async def connect(views: Views, visit: Visit) -> Response:
    """The configuration of every client for this server."""
    base = str(visit.request.base_url).rstrip("/")
    snippets = client_snippets(base, with_key=visit.needs_sign_in)
    return await page(
        visit, "connect.html", active="connect", base=base, snippets=snippets, variable=KEY_VARIABLE,
        with_key=visit.needs_sign_in,
    )  # fmt: skip
