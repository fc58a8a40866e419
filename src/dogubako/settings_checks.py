"""Check single settings, and say which one is wrong, why, and what may have been meant."""

import re
from collections.abc import Iterable
from difflib import get_close_matches
from urllib.parse import urlsplit

from pydantic import BaseModel, SecretStr, ValidationError

from dogubako.contract.netaddr import crosses_a_network_unencrypted, is_host_name, is_origin
from dogubako.contract.pack import env_name, has_tables
from dogubako.contract.redis_address import parse_redis_address

PREFIX = "DOGUBAKO_"
# Options of one start of the server, not settings.
_ONLY_FLAGS = {"ALLOW_UNAUTHENTICATED": "--allow-unauthenticated", "WORKERS": "--workers"}


def settings_sentence(error: ValidationError, model: type[BaseModel]) -> str:
    """All wrong settings in one sentence, without their values."""
    parts = []
    for problem in error.errors(include_url=False, include_input=False):
        message = problem["msg"].removeprefix("Value error, ")
        field = str(problem["loc"][0]) if problem["loc"] else ""
        in_table = field in model.model_fields and has_tables(model, field)
        name = env_name(model, field) if field in model.model_fields and not in_table else ""
        name = name or ".".join(map(str, problem["loc"]))
        parts.append(f"{name}: {message}" if name else message)
    return "Invalid setting: " + "; ".join(dict.fromkeys(parts)) + "."


def suggest(name: str, known: Iterable[str]) -> str:
    """A name that is nearly the same, as a question; empty where there is none."""
    near = get_close_matches(name, list(known), n=1)
    return f" Did you mean {near[0]}?" if near else ""


def suggest_variable(name: str, known: Iterable[str]) -> str:
    """Suggest a similar variable. The prefix does not count as similarity."""
    bare = name.removeprefix(PREFIX)
    if bare in _ONLY_FLAGS:
        return f" It is the flag {_ONLY_FLAGS[bare]} of `dogubako serve`."
    whole = {one.removeprefix(PREFIX): one for one in known}
    if near := get_close_matches(bare, whole, n=1):
        return f" Did you mean {whole[near[0]]}?"
    # The packs are not loaded yet.
    return f" If it is one of a pack, its name is {bare}." if bare else ""


def checked_address(value: str | None) -> str | None:
    if value is not None and not re.fullmatch(r"https?://[^/\s]+(/\S*)?", value):
        raise ValueError("must be an address like https://auth.example.com")
    return value


def checked_encryption(value: str | None) -> str | None:
    if value is not None and crosses_a_network_unencrypted(value):
        raise ValueError("must be https: whoever is on the way could let anybody in")
    return value


def checked_host_names(value: tuple[str, ...]) -> tuple[str, ...]:
    for name in value:
        if not is_host_name(name):
            raise ValueError(f"'{name[:100]}' is no host name; it needs the name alone, like tools.example.com")
    return value


def checked_origins(value: tuple[str, ...]) -> tuple[str, ...]:
    """Validate origins. They are compared exactly with what browsers send; any page can send `null`."""
    for origin in value:
        if origin != "*" and not is_origin(origin):
            raise ValueError(f"'{origin[:100]}' is no origin; browsers send them like https://app.example.com")
    return value


def checked_search_words(values: tuple[str, ...]) -> tuple[str, ...]:
    for value in values:
        name, found, words = value.partition("=")
        if not (found and name.strip() and words.strip()):
            raise ValueError("each must be a name, = and words, for example create_issue=raise a card")
    return values


def checked_length(value: SecretStr | None) -> SecretStr | None:
    if value is not None and len(value.get_secret_value()) < 32:
        raise ValueError("must have at least 32 characters")
    return value


def checked_lengths(values: tuple[SecretStr, ...]) -> tuple[SecretStr, ...]:
    if any(len(value.get_secret_value()) < 32 for value in values):
        raise ValueError("each must have at least 32 characters; a key with a comma needs a list in dogubako.toml")
    return values


def checked_redis(value: str | None) -> str | None:
    """Validate the address of a Redis. It may hold a password, so it is not repeated."""
    if value is not None:
        parse_redis_address(value)
    return value


def phrases_by_name(settings: Iterable[str]) -> dict[str, list[str]]:
    """`create_issue=raise a card; 起票` as a name and its phrases."""
    found: dict[str, list[str]] = {}
    for value in settings:
        name, _, words = value.partition("=")
        found.setdefault(name.strip(), []).extend(one.strip() for one in words.split(";") if one.strip())
    return found


def instance_variable(variable: str, pack: str, instance: str) -> str:
    """The variable of an instance: `REDMINE_URL` becomes `REDMINE_HQ_URL`."""
    prefix = f"{pack.upper()}_"
    return f"{prefix}{instance.upper()}_{variable.removeprefix(prefix)}"


def checked_sinks(value: tuple[str, ...]) -> tuple[str, ...]:
    """Validate where lines of the audit log are sent."""
    for sink in value:
        if sink in ("stdout", "otlp"):
            continue
        try:
            parts = urlsplit(sink)
            named = bool(parts.hostname) and parts.port != 0 and parts.path in ("", "/")
        except ValueError:
            parts, named = urlsplit(""), False
        local = parts.scheme == "syslog" and not parts.netloc and len(parts.path) > 1
        if not local and not (named and parts.scheme in ("syslog+udp", "syslog+tcp")):
            raise ValueError("must be stdout, otlp, syslog:///dev/log, syslog+udp://HOST:514 or syslog+tcp://HOST:601")
    return value
