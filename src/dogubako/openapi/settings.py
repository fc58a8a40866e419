"""`[services.NAME]`: the settings of one HTTP API that an OpenAPI description describes."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Final, Self

from pydantic import SecretStr, model_validator

from dogubako.gateway.settings import ServerSettings, described
from dogubako.openapi.definitions import REQUEST
from dogubako.openapi.generic import hints_by_method
from dogubako.openapi.overlay import overlay_of

_METHODS: Final = frozenset({"get", "head", "post", "put", "patch", "delete"})


class ApiSettings(ServerSettings):
    """One HTTP API. `url` and `api_key` are optional: the description says where it is and what it needs."""

    example: ClassVar[str] = "https://api.example.com/v1"
    table: ClassVar[str] = "services"

    openapi: str = described(..., "The description: a file, or an address.")
    variables: dict[str, str] = described({}, "Values of the variables in the addresses of the description.")
    auth: dict[str, SecretStr] = described(
        {}, "Secrets by the name of a security scheme: a key, a token, user:password, or client id:secret."
    )
    tags: tuple[str, ...] = described((), "Only operations with one of these tags.")
    paths: tuple[str, ...] = described((), "Only operations whose path matches one of these patterns, like /users/*.")
    methods: tuple[str, ...] = described((), "Only operations with these methods, like get.")
    deprecated: bool = described(False, "Whether deprecated operations are served.")
    overlay: Path | None = described(None, "A file with better names, descriptions, effects and fixed arguments.")
    allow_private: bool = described(
        False, "Whether the description may name servers with private addresses, beside the one it came from."
    )

    request: bool = described(
        False, "Whether the tool NAME_request sends any request to it, for what the description does not have."
    )

    @model_validator(mode="after")
    def _has_one_way_to_be_reached(self) -> Self:
        if self.command is not None or self.transport is not None:
            raise ValueError("a service is reached over HTTP; command and transport belong to [servers.NAME]")
        if unknown := [one for one in self.methods if one.lower() not in _METHODS]:
            raise ValueError(f"methods: '{unknown[0][:20]}' is none of {', '.join(sorted(_METHODS))}")
        if self.credentials == "switch-user":
            raise ValueError("credentials may be shared, own, or own-or-shared")
        return self

    def hints_by_argument(self, definition: Mapping[str, Any]) -> tuple[str, Mapping[str, Mapping[str, bool]]] | None:
        plan = definition.get("_meta", {}).get(REQUEST, {})
        return hints_by_method() if plan.get("generic") is True and not self.read_only else None

    def other_references(self, plain: Callable[[str], str], secret: Callable[[SecretStr], SecretStr]) -> dict[str, Any]:
        return {
            "openapi": plain(self.openapi),
            "variables": {name: plain(value) for name, value in self.variables.items()},
            "auth": {name: secret(value) for name, value in self.auth.items()},
        }

    def signed_in(self, key: str) -> Self:
        """These settings with the key of one caller."""
        return self.model_copy(update={"api_key": SecretStr(key)})

    def words_of(self, tool: str) -> str:
        """The words of the settings, and those of the overlay."""
        changes = overlay_of(self.overlay).tools.items() if self.overlay else ()
        own = [change.words for name, change in changes if (change.name or name) == tool]
        return " ".join([super().words_of(tool), *own]).strip()

    @property
    def secrets(self) -> dict[str, str]:
        """The secrets by the name of a scheme; that of an empty name is for every other scheme."""
        own: dict[str, Any] = {name: one.get_secret_value() for name, one in self.auth.items()}
        return {**({"": self.api_key.get_secret_value()} if self.api_key else {}), **own}
