"""The sandbox: small imitations of real services that run inside the process, and how a pack connects to them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from dogubako._lazy import load


@dataclass(frozen=True, kw_only=True, slots=True)
class Sandbox:
    """A service inside our process: the settings that a pack needs for it, and the app."""

    settings: Mapping[str, str]
    app: Callable[[], Any]

    def transport(self) -> Any:
        """An HTTP transport to a new copy of the service, without a socket."""
        # Slow to import, and not needed with real services.
        import httpx2  # noqa: PLC0415

        return httpx2.ASGITransport(app=self.app())


# Node types that we described ourselves: n8n's own may not be shipped.
_NODE_TYPES: Final = str(Path(__file__).parent / "n8n" / "node_types")

SANDBOXES: Mapping[str, Sandbox] = {
    "n8n": Sandbox(
        settings={"url": "https://n8n.sandbox", "api_key": "sandbox-key", "node_types": _NODE_TYPES},
        app=lambda: load("dogubako_sandbox.n8n.app").n8n_app(),
    ),
    "redmine": Sandbox(
        settings={"url": "https://redmine.sandbox", "api_key": "a" * 40},
        app=lambda: load("dogubako_sandbox.redmine.app").redmine_app(),
    ),
    "web": Sandbox(settings={}, app=lambda: load("dogubako_sandbox.web.app").web_app()),
}
