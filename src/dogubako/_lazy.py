"""Import heavy modules when they are first used."""

import sys
from importlib import import_module
from typing import Any, Literal

LateModule = Literal[
    "dogubako.app",
    "dogubako.cli.audit",
    "dogubako.cli.connect",
    "dogubako.cli.demo",
    "dogubako.cli.doctor",
    "dogubako.cli.import_servers",
    "dogubako.cli.keys",
    "dogubako.cli.n8n_nodes",
    "dogubako.cli.servers",
    "dogubako.cli.services",
    "dogubako.cli.tools",
    "dogubako.server",
    "dogubako.telemetry",
    "dogubako.engine.search.index",
    "dogubako.engine.search.jmdict",
    "dogubako.engine.search.text",
    "dogubako.engine.search.values",
    "dogubako.otlp",
    "dogubako.gate.audit_shipping",
    "dogubako.gate.audit_sinks",
    "dogubako.gate.audit_stream",
    "dogubako.gate.credential_vault",
    "dogubako.gate.oauth",
    "dogubako.gate.shared_bulkheads",
    "dogubako.gate.shared_keys",
    "dogubako.gate.shared_state",
    "dogubako.gateway.administration",
    "dogubako.gateway.oauth",
    "dogubako.gateway.servers",
    "dogubako.gateway.shared_servers",
    "dogubako.gateway.sign_in_stores",
    "dogubako.openapi.services",
    "dogubako.outbound.owned_transport",
    "dogubako.outbound.shared_parts",
    "dogubako.outbound.shared_redis",
    "dogubako.packs.n8n.client",
    "dogubako.packs.n8n.diagnosis.report",
    "dogubako.packs.n8n.resources",
    "dogubako.packs.n8n.tools",
    "dogubako.packs.redmine.client",
    "dogubako.packs.redmine.resources",
    "dogubako.packs.redmine.tools",
    "dogubako.packs.web.client",
    "dogubako.packs.web.tools",
    "dogubako.tasks.queue",
    "dogubako.tasks.redis_store",
    "dogubako.transports.console.routes",
    "dogubako.transports.console.shared_calls",
    "dogubako.transports.mcp.stdio_loop",
    "dogubako_sandbox.n8n.app",
    "dogubako_sandbox.redmine.app",
    "dogubako_sandbox.web.app",
]


def load(module: LateModule) -> Any:
    """Import the module on first use."""
    return import_module(module)


# structlog imports rich, for a console that our logs do not have: 75 ms at every start (docs/adr/0034). `None` is
# Python's own way to say that a module cannot be imported. Who imported one of them before us keeps both together.
if "rich" not in sys.modules and "structlog" not in sys.modules:
    sys.modules["rich"] = None  # type: ignore[assignment]
    try:
        import structlog  # noqa: F401
    finally:
        del sys.modules["rich"]
