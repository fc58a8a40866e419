"""Validate the settings of a service: its URL, its key and its CA file."""

import re
import ssl
from pathlib import Path
from typing import ClassVar, Final
from urllib.parse import urlsplit

from pydantic import SecretStr, field_validator

from dogubako.contract.credentials import CredentialMode
from dogubako.contract.netaddr import crosses_a_network_unencrypted
from dogubako.contract.pack import HealthCheck, PackSettings

_HEADER: Final = re.compile(r"[a-z0-9-]{1,64}")
# Headers with a meaning of their own: a key in one of them would reach more than the service.
_TAKEN_HEADERS: Final = frozenset(
    {
        *("accept", "accept-encoding", "authorization", "connection", "content-length", "content-type", "cookie"),
        *("host", "origin", "te", "transfer-encoding", "upgrade", "user-agent", "x-api-key"),
        *("mcp-method", "mcp-name", "mcp-protocol-version", "mcp-session-id"),
    }
)


class ServiceSettings(PackSettings):
    """Base of the settings of a service with a URL and a key. Subclasses name the variables."""

    example: ClassVar[str] = "https://service.example.com"

    url: str | None = None
    api_key: SecretStr | None = None
    ca_bundle: Path | None = None
    credentials: CredentialMode = "shared"
    credential_header: str | None = None

    @field_validator("credential_header")
    @classmethod
    def _is_a_header_of_its_own(cls, value: str | None) -> str | None:
        return checked_header(value)

    def login_of(self, caller: str) -> str:
        """The login that the service acts as for this caller, for `switch-user`; empty if there is none."""
        return ""

    @property
    def needs_key(self) -> bool:
        """Whether the service cannot be used without the key of the settings."""
        return self.credentials != "own"

    @field_validator("url")
    @classmethod
    def _is_an_address(cls, value: str | None) -> str | None:
        return checked_address(value, cls.example)

    @field_validator("api_key")
    @classmethod
    def _fits_into_a_header(cls, value: SecretStr | None) -> SecretStr | None:
        return checked_key(value)

    @field_validator("ca_bundle")
    @classmethod
    def _is_there(cls, value: Path | None) -> Path | None:
        return checked_ca_bundle(value)

    @property
    def address(self) -> str:
        return self.url or ""

    @property
    def key(self) -> str:
        return self.api_key.get_secret_value() if self.api_key else ""


def checked_address(value: str | None, example: str) -> str | None:
    """An http URL without a trailing slash; ValueError for anything else."""
    address = (value or "").strip()
    if not address:
        return None
    if not _is_address(address):
        raise ValueError(f"must be an address like {example}")
    parts = urlsplit(address)
    if parts.username or parts.password:
        raise ValueError("must not hold a user name or password")
    return address.rstrip("/")


def checked_key(value: SecretStr | None) -> SecretStr | None:
    """A key that is valid in a header."""
    key = value.get_secret_value().strip() if value else ""
    if any(not "!" <= character <= "~" for character in key):
        raise ValueError("must consist of plain characters, without spaces")
    return SecretStr(key) if key else None


def checked_header(value: str | None) -> str | None:
    """The name of a request header in which callers send their own key; none that has a meaning already."""
    name = (value or "").strip().lower()
    if not name:
        return None
    if not _HEADER.fullmatch(name) or name in _TAKEN_HEADERS:
        raise ValueError("must be the name of a header of its own, like X-Redmine-API-Key")
    return name


def checked_ca_bundle(value: Path | None) -> Path | None:
    """A file with at least one certificate."""
    if value is None:
        return None
    if not value.is_file():
        raise ValueError("there is no such file")
    try:
        ssl.create_default_context(cafile=value)
    except OSError:
        raise ValueError("there is no certificate in it that can be read") from None
    return value


def plain_text_warnings(service: str, url: str) -> tuple[HealthCheck, ...]:
    """Warnings about a key that crosses a network unencrypted, for the start and `doctor`."""
    if not crosses_a_network_unencrypted(url):
        return ()
    message = f"{service.upper()}_URL is plain http: the API key crosses the network unencrypted."
    return (HealthCheck(ok=False, subject=service, message=message, advice="Use https.", severity="warning"),)


def _is_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
        port_is_fine = parts.port != 0
    except ValueError:
        return False
    plain = not (parts.query or parts.fragment or any(character.isspace() for character in text))
    return parts.scheme in ("http", "https") and bool(parts.hostname) and plain and port_is_fine
