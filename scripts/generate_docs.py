"""Write the tables in docs/ from the code. `--check` only tells whether they are up to date."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel

# Run as a file, Python looks beside it, not where `scripts` is.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from dogubako.app import build
from dogubako.contract import errors
from dogubako.contract.errors import DogubakoError
from dogubako.contract.pack import Pack, env_name, has_tables
from dogubako.engine.registration import ToolRegistryEntry
from dogubako.gateway.settings import ServerSettings
from dogubako.packs import PACKS
from dogubako.settings import Settings, Sources
from scripts.api_reference import reference_page
from scripts.discovery_sizes import discovery_page
from scripts.n8n_sizes import n8n_page
from scripts.redmine_sizes import redmine_page
from scripts.stored_definitions import stored_definitions
from scripts.third_party_notices import NOTICES, notices_page

ROOT = Path(__file__).parent.parent
_SETTINGS_HEAD = "| variable | in the file | default | meaning |\n| --- | --- | --- | --- |\n"
NOTE = "<!-- Written by `make docs`. Change the code, not this file. -->\n"


def main() -> int:
    pages = {
        "docs/tools.md": tools_page(),
        "docs/settings.md": settings_page(),
        "docs/errors.md": errors_page(),
        "docs/reference.md": reference_page(NOTE),
        "docs/n8n.md": n8n_page(NOTE),
        "docs/redmine.md": redmine_page(NOTE),
        "docs/discovery.md": discovery_page(NOTE),
        NOTICES: notices_page(),
        **stored_definitions(),
    }
    drifted = [name for name, text in pages.items() if _read(ROOT / name) != text]
    if "--check" in sys.argv[1:]:
        if drifted:
            print(f"Out of date: {', '.join(drifted)}. Run `make docs` and commit the result.", file=sys.stderr)
        return 1 if drifted else 0
    for name in drifted:
        (ROOT / name).write_text(pages[name], encoding="utf-8")
        print(f"wrote {name}")
    return 0


def tools_page() -> str:
    box = build(Sources(overrides={"tools": (ROOT / "examples" / "workbench.py",)}, environ={}, env_file=None))
    sections = "".join(_tool(entry) for entry in box.registry.list())
    return f"# Tools\n\n{NOTE}\n{sections}"


# Settings that servers share with other services, whose models describe them.
_SHARED = {
    "ca_bundle": "A file with the certificates to trust, for a server with one of its own.",
    "credentials": "shared: callers use the key of the table; own: each its own; own-or-shared: its own if it has one.",
    "credential_header": "The header in which callers send their own key.",
}


def settings_page() -> str:
    rows = "".join(_setting(Settings, name) for name in Settings.model_fields)
    tables = "".join(_pack_settings(pack) for pack in PACKS if pack.settings.model_fields)
    return (
        f"# Settings\n\n{NOTE}\n"
        "Command line > environment > `.env` > `dogubako.toml` > default. An unknown `DOGUBAKO_*` variable, an\n"
        "unknown key in the file or a bad value stops the start with a sentence that names it. `dogubako config`\n"
        "prints what is in force.\n\n"
        f"{_SETTINGS_HEAD}{rows}{tables}{_server_settings()}"
    )


def _server_settings() -> str:
    fields = {name: field for name, field in ServerSettings.model_fields.items() if name != "resolved"}
    rows = "".join(
        f"| `{name}` | {_default(name, field.default)} | {_SHARED.get(name, field.description)} |\n"
        for name, field in fields.items()
    )
    place = (
        "Each other MCP server has a table `[servers.NAME]` in the file, and no variables ([servers.md](servers.md))."
    )
    return f"\n## servers\n\n{place}\n\n| key | default | meaning |\n| --- | --- | --- |\n{rows}"


def _pack_settings(pack: Pack[Any, Any]) -> str:
    rows = "".join(_setting(pack.settings, name) for name in pack.settings.model_fields)
    place = f"In the file these stand in the table `[{pack.name}]`."
    if pack.multiple:
        variable = env_name(pack.settings, "url").replace("_URL", "_HQ_URL")
        place += (
            f" A second {pack.name} has a table of its own, `[{pack.name}.hq]`, and variables like `{variable}`; it\n"
            "inherits all settings but the URL and secrets, and tools then have the argument `instance`."
        )
    return f"\n## {pack.name}\n\n{place}\n\n{_SETTINGS_HEAD}{rows}"


def errors_page() -> str:
    known: dict[str, list[type[DogubakoError]]] = {}
    for kind in _errors():
        known.setdefault(kind.code, []).append(kind)
    rows = "".join(_error(code, kinds) for code, kinds in sorted(known.items()))
    return (
        f"# Errors\n\n{NOTE}\nThe code is stable. `retryable` advises the caller; what the engine repeats by itself is "
        "narrower.\n\n| code | HTTP | retry | class | meaning |\n| --- | --- | --- | --- | --- |\n" + rows
    )


def _tool(entry: ToolRegistryEntry) -> str:
    metadata = entry.metadata
    head = f"## `{entry.name}`\n\n{metadata.description}\n\n*{entry.category}, {metadata.effect.value}*\n\n"
    if not metadata.parameters:
        return f"{head}It takes no arguments.\n\n"
    rows = "".join(
        f"| `{one.name}` | {one.type} | {'yes' if one.required else ''} | {one.description} |\n"
        for one in metadata.parameters
    )
    return f"{head}| argument | type | required | meaning |\n| --- | --- | --- | --- |\n{rows}\n"


def _setting(model: type[BaseModel], name: str) -> str:
    field = model.model_fields[name]
    if has_tables(model, name):
        return f"| – | `[….{name}]` | – | {field.description} |\n"
    return f"| `{env_name(model, name)}` | `{name}` | {_default(name, field.default)} | {field.description} |\n"


# Defaults that differ from machine to machine.
FOLDERS = {"data_dir": "the user's data folder", "log_dir": "the user's state folder"}


def _default(name: str, value: Any) -> str:
    if name in FOLDERS:
        return FOLDERS[name]
    if value is None or value in ((), {}):
        return "–"
    shown = ",".join(str(item) for item in value) if isinstance(value, tuple) else str(value)
    return f"`{shown.lower() if isinstance(value, bool) else shown}`"


def _error(code: str, kinds: list[type[DogubakoError]]) -> str:
    first = kinds[0]
    meaning = (first.__doc__ or "").strip().split("\n")[0]
    classes = ", ".join(f"`{kind.__name__}`" for kind in kinds)
    return f"| `{code}` | {first.http_status} | {'yes' if first.retryable else ''} | {classes} | {meaning} |\n"


def _errors() -> Iterator[type[DogubakoError]]:
    waiting: list[type[DogubakoError]] = [DogubakoError]
    while waiting:
        kind = waiting.pop(0)
        waiting += kind.__subclasses__()
        if kind is not DogubakoError and "code" in vars(kind) and kind.__name__ in errors.__all__:
            yield kind


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


if __name__ == "__main__":
    sys.exit(main())
