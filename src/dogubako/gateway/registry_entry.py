"""Read `server.json`, the form in which the MCP registry describes a server: which package, or which address."""

import re
from collections.abc import Mapping
from typing import Any, Final

from dogubako.settings import SettingsError

# How a package of each kind is started, and how its version is written.
_RUNNERS: Final = {
    "npm": ("npx", ["-y"], "@"),
    "pypi": ("uvx", [], "=="),
    "oci": ("docker", ["run", "-i", "--rm"], ":"),
    "nuget": ("dnx", ["--yes"], "@"),
}
_PLACEHOLDER: Final = re.compile(r"\{([A-Za-z_][\w-]*)\}", re.ASCII)

Entry = Mapping[str, Any]


def server_of_registry(document: Entry) -> tuple[str, dict[str, Any], tuple[str, ...]]:
    """The name, the table and notes. A package that runs here comes before an address."""
    name = str(document.get("name") or "server").rsplit("/", 1)[-1]
    about = document.get("description")
    told = {"about": about} if isinstance(about, str) and about else {}
    packages = [one for one in _listed(document.get("packages")) if one.get("registryType") in _RUNNERS]
    local = next((one for one in packages if _transport(one) == "stdio"), None)
    if local is not None:
        table, variables = _package(local)
        return name, {**table, **told}, _notes(variables)
    for remote in _listed(document.get("remotes")):
        if _transport(remote) in ("streamable-http", "sse") and isinstance(remote.get("url"), str):
            table, variables = _remote(remote)
            return name, {**table, **told}, _notes(variables)
    raise SettingsError("server.json names neither a package that can be started here nor an address.")


def _listed(value: Any) -> list[Entry]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _transport(entry: Entry) -> str:
    transport = entry.get("transport")
    kind = transport.get("type") if isinstance(transport, dict) else entry.get("type", "stdio")
    return str(kind)


def _notes(variables: list[str]) -> tuple[str, ...]:
    return (f"Set these variables: {', '.join(variables)}.",) if variables else ()


def _package(package: Entry) -> tuple[dict[str, Any], list[str]]:
    runner, options, joint = _RUNNERS[package["registryType"]]
    variables: list[str] = []
    env = _values(package.get("environmentVariables"), variables)
    reference, version = str(package.get("identifier") or ""), package.get("version")
    if isinstance(version, str) and version not in ("", "latest") and joint not in reference[1:]:
        reference = f"{reference}{joint}{version}"
    passed = [word for name in env for word in ("-e", name)] if runner == "docker" else []
    args = [
        *options,
        *_arguments(package.get("runtimeArguments"), variables),
        *passed,
        reference,
        *_arguments(package.get("packageArguments"), variables),
    ]
    hint = package.get("runtimeHint")
    # `npx -y` asks nothing; another runtime has options of its own.
    command = hint if isinstance(hint, str) and hint and hint != runner else runner
    args = args if command == runner else args[len(options) :]
    return {"command": command, "args": args, **({"env": env} if env else {})}, variables


def _remote(remote: Entry) -> tuple[dict[str, Any], list[str]]:
    variables: list[str] = []
    headers = _values(remote.get("headers"), variables)
    table: dict[str, Any] = {"url": _filled(remote["url"], remote.get("variables"), variables)}
    table |= {"transport": "sse"} if _transport(remote) == "sse" else {}
    return {**table, **({"headers": headers} if headers else {})}, variables


def _values(entries: Any, variables: list[str]) -> dict[str, str]:
    """Environment variables or headers by name. What the user has to give is a variable of the same name."""
    found = {}
    for entry in _listed(entries):
        name = entry.get("name")
        value = _value(entry, str(name), variables) if isinstance(name, str) and name else None
        if isinstance(name, str) and value is not None:
            found[name] = value
    return found


def _arguments(entries: Any, variables: list[str]) -> list[str]:
    words: list[str] = []
    for entry in _listed(entries):
        name, hint = entry.get("name"), entry.get("valueHint")
        value = _value(entry, str(hint or name or "argument"), variables)
        if entry.get("type") == "named" and isinstance(name, str):
            # An optional one without a value is left out; a flag has no value at all.
            if value is not None or entry.get("isRequired") is True or "format" not in entry:
                words += [name] if value is None else [name, value]
        elif value is not None:
            words.append(value)
    return words


def _value(entry: Entry, name: str, variables: list[str]) -> str | None:
    """A fixed value, a reference to a variable of the user, or None for what may be left out."""
    fixed, default = entry.get("value"), entry.get("default")
    if isinstance(fixed, str) and fixed:
        return _filled(fixed, entry.get("variables"), variables)
    if default not in (None, ""):
        return f"${{{_variable(name)}:-{default}}}"
    if entry.get("isRequired") is True:
        variables.append(_variable(name))
        return f"${{{_variable(name)}}}"
    return None


def _filled(text: str, described: Any, variables: list[str]) -> str:
    """The text with `{name}` as a reference to a variable."""
    known = described if isinstance(described, dict) else {}

    def reference(match: re.Match[str]) -> str:
        about = known.get(match[1])
        default = about.get("default") if isinstance(about, dict) else None
        if default not in (None, ""):
            return f"${{{_variable(match[1])}:-{default}}}"
        variables.append(_variable(match[1]))
        return f"${{{_variable(match[1])}}}"

    return _PLACEHOLDER.sub(reference, text)


def _variable(name: str) -> str:
    return re.sub(r"\W", "_", name.strip("-"), flags=re.ASCII).upper()
