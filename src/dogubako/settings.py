"""All settings, read once: command line > environment > `.env` > `dogubako.toml` > default."""

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Self, TypeVar

from pydantic import BaseModel, ValidationError

from dogubako.contract.pack import Pack, PackSettings, env_name, has_tables, secrets_of
from dogubako.settings_checks import (
    PREFIX,
    instance_variable,
    settings_sentence,
    suggest,
    suggest_variable,
)
from dogubako.settings_model import AuthKind, Confirmation, LogLevelName, Settings, SettingsError

__all__ = [
    "DEFAULT_INSTANCE",
    "AuthKind",
    "Confirmation",
    "LogLevelName",
    "Settings",
    "SettingsError",
    "Sources",
    "Table",
]

ModelT = TypeVar("ModelT", bound=BaseModel)
Table = Mapping[str, Any]

_FILE_NAME = "dogubako.toml"
_SERVERS = "servers"
_SERVICES = "services"

# The instance that `REDMINE_URL` or `url` in `[redmine]` configures, beside instances with names.
DEFAULT_INSTANCE = "default"

_INSTANCE = re.compile(r"[a-z][a-z0-9_]{0,31}")


class Sources:
    """The sources of settings, read once and shared with the packs."""

    def __init__(
        self,
        *,
        overrides: Mapping[str, Any] | None = None,
        environ: Mapping[str, str] | None = None,
        env_file: Path | None = Path(".env"),
        config_file: Path | None = None,
    ) -> None:
        self.overrides = {key: value for key, value in (overrides or {}).items() if value is not None}
        process = os.environ if environ is None else environ
        dotenv = _read_dotenv(env_file) if env_file is not None and env_file.is_file() else {}
        # Variables that only `.env` sets.
        self.dotenv = frozenset(dotenv.keys() - process.keys())
        self.environ = {**{key: value for key, value in dotenv.items() if value is not None}, **process}
        self.path = config_file or Path(_FILE_NAME)
        self.file_name = self.path.name
        self.file = _read_file(config_file)

    @classmethod
    def only(cls, overrides: Mapping[str, Any], tables: Mapping[str, Any] | None = None) -> Self:
        """Read settings from these values and tables alone: no environment, no `.env`, no file."""
        sources = cls(overrides=overrides, environ={}, env_file=None)
        sources.file = dict(tables or {})
        return sources

    def load(self) -> Settings:
        """The server's settings, or a SettingsError that names the wrong one."""
        self._refuse_unknown_variables()
        fields = Settings.model_fields
        ours = {key: value for key, value in self.file.items() if key in fields or not isinstance(value, dict)}
        return self._merged(Settings, ours, self.overrides)

    @property
    def servers(self) -> dict[str, Any]:
        """The tables `[servers.NAME]` of other MCP servers, as they are written."""
        return self._tables_in(_SERVERS)

    @property
    def services(self) -> dict[str, Any]:
        """The tables `[services.NAME]` of HTTP APIs, as they are written."""
        return self._tables_in(_SERVICES)

    def _tables_in(self, kind: str) -> dict[str, Any]:
        tables = self.file.get(kind, {})
        if not isinstance(tables, dict) or not all(isinstance(one, dict) for one in tables.values()):
            one = kind.removesuffix("s")
            raise SettingsError(f"{self.file_name}: [{kind}] has one table for each {one}, like [{kind}.github].")
        return tables

    def load_instances(self, pack: Pack[Any, Any]) -> dict[str, PackSettings]:
        """The settings of each instance of a pack: its variables, and its table in the file.

        An instance has a table and variables of its own (`[redmine.hq]`, `REDMINE_HQ_URL`). It inherits all settings
        but the URL and secrets, which belong to one server. Without such tables there is one instance, without a name.
        """
        table = self.file.get(pack.name, {})
        named = self._instances(pack, table) if pack.multiple else {}
        settings = self._merged(pack.settings, {key: value for key, value in table.items() if key not in named}, {})
        if not named:
            return {"": settings}
        values = {name: getattr(settings, name) for name in settings.model_fields_set - {"url"}}
        inherited = {name: value for name, value in values.items() if not secrets_of(value)}
        instances = {} if pack.unconfigured(settings) else {DEFAULT_INSTANCE: settings}
        for name, own in named.items():
            instance = self._merged(pack.settings, {**inherited, **own}, {}, (pack.name, name))
            if (missing := pack.unconfigured(instance)) is not None:
                raise SettingsError(
                    f"[{pack.name}.{name}]: {missing.reason} Set {instance_variable(missing.setting, pack.name, name)}."
                )
            instances[name] = instance
        return instances

    def _instances(self, pack: Pack[Any, Any], table: Mapping[str, Any]) -> dict[str, Any]:
        fields = pack.settings.model_fields
        named = {key: value for key, value in table.items() if isinstance(value, dict) and key not in fields}
        for name in named:
            if name == DEFAULT_INSTANCE or not _INSTANCE.fullmatch(name):
                raise SettingsError(
                    f"{self.file_name}: '[{pack.name}.{name[:50]}]' is no name of an instance; it takes lower-case "
                    f"letters, digits and underscores, and must not be '{DEFAULT_INSTANCE}'."
                )
        return named

    def _merged(
        self, model: type[ModelT], table: Table, overrides: Table, instance: tuple[str, str] | None = None
    ) -> ModelT:
        fields = model.model_fields
        for key in table:
            if key not in fields:
                raise SettingsError(f"{self.file_name}: unknown key '{key}'.{suggest(key, fields)}")
        variables = {env_name(model, name): name for name in fields if not has_tables(model, name)}
        if instance is not None:
            variables = {instance_variable(variable, *instance): name for variable, name in variables.items()}
        values = {name: self.environ[variable] for variable, name in variables.items() if variable in self.environ}
        try:
            return model.model_validate({**table, **values, **overrides})
        except ValidationError as error:
            raise SettingsError(settings_sentence(error, model)) from None

    def refuse_unknown_tables(self, pack_names: Iterable[str]) -> None:
        own = (name for name in Settings.model_fields if has_tables(Settings, name))
        known = {*pack_names, _SERVERS, _SERVICES, *own}
        for key, value in self.file.items():
            if isinstance(value, dict) and key not in known:
                raise SettingsError(f"{self.file_name}: unknown table '[{key}]'.{suggest(key, known)}")

    def _refuse_unknown_variables(self) -> None:
        known = {env_name(Settings, name) for name in Settings.model_fields if not has_tables(Settings, name)}
        for key in self.environ:
            if key.startswith(PREFIX) and key not in known:
                raise SettingsError(f"Unknown setting {key}.{suggest_variable(key, known)}")


def _read_dotenv(path: Path) -> dict[str, str | None]:
    from dotenv import dotenv_values  # noqa: PLC0415 - most servers have no `.env`

    return dotenv_values(path)


def _read_file(config_file: Path | None) -> dict[str, Any]:
    path = config_file or Path(_FILE_NAME)
    if not path.is_file():
        if config_file is not None:
            raise SettingsError(f"Configuration file not found: {config_file}")
        return {}
    import tomllib  # noqa: PLC0415 - most servers have no file

    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: not valid TOML: {error}") from None
