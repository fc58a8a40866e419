"""Which services the sandbox can stand in for, and how a pack reaches them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from dogubako.late import load


@dataclass(frozen=True, kw_only=True, slots=True)
class Sandbox:
    """A service inside our own process: the settings that a pack needs for it, and the app that answers."""

    settings: Mapping[str, str]
    app: Callable[[], Any]

    def transport(self) -> Any:
        """A way for an HTTP client into a new copy of the service, without any socket."""
        # Heavy, and needed by nobody who has a real service.
        import httpx2  # noqa: PLC0415

        return httpx2.ASGITransport(app=self.app())


SANDBOXES: Mapping[str, Sandbox] = {
    "n8n": Sandbox(
        settings={"url": "https://n8n.sandbox", "api_key": "sandbox-key"},
        app=lambda: load("dogubako.sandbox.n8n.app").n8n_app(),
    ),
    "redmine": Sandbox(
        settings={"url": "https://redmine.sandbox", "api_key": "a" * 40},
        app=lambda: load("dogubako.sandbox.redmine.app").redmine_app(),
    ),
    "web": Sandbox(settings={}, app=lambda: load("dogubako.sandbox.web.app").web_app()),
}
