"""The address of a service and what goes with it, as people write them into settings."""

import ssl
from pathlib import Path
from typing import ClassVar
from urllib.parse import urlsplit

from pydantic import SecretStr, field_validator

from dogubako.contract.loopback import crosses_a_network_unencrypted
from dogubako.contract.pack import Finding
from dogubako.contract.setting import PackSettings


class ServiceSettings(PackSettings):
    """Base of the settings of a service that has an address and a key. Who derives from it names the variables."""

    example: ClassVar[str] = "https://service.example.com"

    url: str | None = None
    api_key: SecretStr | None = None
    ca_bundle: Path | None = None

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
    """An http address without a closing slash; ValueError for anything else."""
    given = (value or "").strip()
    if not given:
        return None
    if not _is_address(given):
        raise ValueError(f"must be an address like {example}")
    parts = urlsplit(given)
    if parts.username or parts.password:
        raise ValueError("must not hold a user name or password")
    return given.rstrip("/")


def checked_key(value: SecretStr | None) -> SecretStr | None:
    """A key that fits into a header."""
    given = value.get_secret_value().strip() if value else ""
    if any(not "!" <= character <= "~" for character in given):
        raise ValueError("must consist of plain characters, without spaces")
    return SecretStr(given) if given else None


def checked_ca_bundle(value: Path | None) -> Path | None:
    """A file with at least one certificate in it."""
    if value is None:
        return None
    if not value.is_file():
        raise ValueError("there is no such file")
    try:
        ssl.create_default_context(cafile=value)
    except OSError:
        raise ValueError("there is no certificate in it that can be read") from None
    return value


def plain_text_warnings(service: str, url: str) -> tuple[Finding, ...]:
    """A key that crosses a network unencrypted is worth a word, at the start and in `doctor`."""
    if not crosses_a_network_unencrypted(url):
        return ()
    message = f"{service.upper()}_URL is plain http: the API key crosses the network unencrypted."
    return (Finding(ok=False, subject=service, message=message, advice="Use https.", severity="warning"),)


def _is_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
        port_is_fine = parts.port != 0
    except ValueError:
        return False
    plain = not (parts.query or parts.fragment or any(character.isspace() for character in text))
    return parts.scheme in ("http", "https") and bool(parts.hostname) and plain and port_is_fine
