"""Settings of the web pack: search engines, request rates, and page access."""

from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic import SecretStr, field_validator

from dogubako.contract.pack import PackSettings, setting

ProviderName = Literal["duckduckgo", "duckduckgo-lite", "searxng", "brave"]


class WebSettings(PackSettings):
    """Settings of the web pack."""

    providers: tuple[ProviderName, ...] = setting(
        ("duckduckgo",), "WEB_PROVIDERS", "Search engines in the order of fall-back, comma-separated.", min_length=1
    )
    searxng_url: str | None = setting(None, "SEARXNG_URL", "Address of your own SearXNG.")
    brave_api_key: SecretStr | None = setting(None, "BRAVE_API_KEY", "Key of Brave's search API.")
    user_agent: str = setting(
        "dogubako (tool server for AI agents)",
        "WEB_USER_AGENT",
        "How we introduce ourselves.",
        min_length=1,
    )
    searches_per_second: float = setting(1.0, "WEB_SEARCH_RATE", "Searches per second and engine at most.", gt=0, le=50)
    allowed_hosts: tuple[str, ...] = setting(
        (), "WEB_ALLOWED_HOSTS", "Hosts that fetch_page may read although they are private, comma-separated."
    )
    robots: bool = setting(True, "WEB_ROBOTS", "Whether fetch_page honours robots.txt.")
    proxy: str | None = setting(None, "WEB_PROXY", "Proxy for all requests of this pack.")
    ca_bundle: Path | None = setting(None, "WEB_CA_BUNDLE", "File with a CA of your own, for example a proxy's.")

    @field_validator("providers", "allowed_hosts", mode="before")
    @classmethod
    def _split(cls, value: Any) -> Any:
        return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value

    @field_validator("searxng_url", "proxy")
    @classmethod
    def _is_an_address(cls, value: str | None) -> str | None:
        if value is not None and (urlsplit(value).scheme not in ("http", "https") or not urlsplit(value).hostname):
            raise ValueError("must be an address like http://127.0.0.1:8888")
        return value.rstrip("/") if value else None

    @property
    def brave_key(self) -> str:
        return self.brave_api_key.get_secret_value() if self.brave_api_key else ""
