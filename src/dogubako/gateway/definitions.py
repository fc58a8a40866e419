"""What a server offers: its tools, resources and prompts as it described them, and where they are stored."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Self

import msgspec

from dogubako.contract.offload import has_more_values
from dogubako.gate.files import write_temp_file
from dogubako.gateway.skills import fault_of_a_skill

Item = dict[str, Any]

_MOST_ITEMS: Final = 10_000
_MOST_FAULTS: Final = 20
# They are part of the words that each tool of the server is found by.
_LONGEST_INSTRUCTIONS: Final = 20_000
# Deeper data would end what walks it with a RecursionError, and cost all other tools of the server.
_DEEPEST: Final = 100
# Of one tool. To check the schema of a larger one takes longer than the event loop may stand still.
_MOST_VALUES: Final = 8_000
_VALUE_CHARACTERS: Final = 64
_MOST_BYTES: Final = 64 * 1024 * 1024


@dataclass(frozen=True, kw_only=True)
class Definitions:
    """What one server said of itself, as raw JSON. Items that break the protocol are left out, each with a reason."""

    # `serverInfo`: name, version, title…
    info: Mapping[str, Any] = field(default_factory=dict)
    instructions: str = ""
    # The revision of the protocol that it speaks.
    protocol: str = ""
    capabilities: Mapping[str, Any] = field(default_factory=dict)
    tools: tuple[Item, ...] = ()
    resources: tuple[Item, ...] = ()
    templates: tuple[Item, ...] = ()
    prompts: tuple[Item, ...] = ()
    skills: tuple[Item, ...] = ()
    # Why items were left out.
    faults: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        *,
        info: Any = None,
        instructions: Any = None,
        protocol: str = "",
        capabilities: Any = None,
        tools: Any = (),
        resources: Any = (),
        templates: Any = (),
        prompts: Any = (),
        skills: Any = (),
    ) -> Self:
        """Take what is usable of the lists that a server sent; any of them may be anything."""
        faults: list[str] = []
        return cls(
            info=info if isinstance(info, dict) else {},
            instructions=instructions[:_LONGEST_INSTRUCTIONS] if isinstance(instructions, str) else "",
            protocol=protocol,
            capabilities=capabilities if isinstance(capabilities, dict) else {},
            tools=_usable("tool", tools, _fault_of_a_tool, faults),
            resources=_usable("resource", resources, lambda item: _fault_of(item, "uri"), faults),
            templates=_usable("resource template", templates, lambda item: _fault_of(item, "uriTemplate"), faults),
            prompts=_usable("prompt", prompts, lambda item: _fault_of(item, "name"), faults),
            skills=_usable("skill", skills, fault_of_a_skill, faults),
            faults=tuple(faults[:_MOST_FAULTS]),
        )

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> Self:
        """Definitions that were stored."""
        known = ("info", "instructions", "capabilities", "tools", "resources", "templates", "prompts", "skills")
        values = {key: stored[key] for key in known if key in stored}
        return cls.of(protocol=str(stored.get("protocol") or ""), **values)

    def stored(self) -> dict[str, Any]:
        """What is stored of them, as JSON data."""
        return {key: value for key, value in vars(self).items() if key != "faults"}

    def without_secrets(self, mask: Callable[[str], str]) -> Self:
        """The definitions without items that repeat a secret of the settings: lists and searches show them as they are.

        A masked name would be no name that the server knows, so such an item is left out, with a reason.
        """
        kept: dict[str, Any] = {}
        faults: list[str] = []
        for key in ("tools", "resources", "templates", "prompts", "skills"):
            items: tuple[Item, ...] = getattr(self, key)
            kept[key] = tuple(one for one in items if not _changes(one, mask))
            if dropped := len(items) - len(kept[key]):
                faults.append(f"{dropped} of the {key} repeat a secret of the settings.")
        info = {} if _changes(self.info, mask) else self.info
        if not faults and info is self.info and mask(self.instructions) == self.instructions:
            return self
        return replace(self, info=info, instructions=mask(self.instructions), faults=(*self.faults, *faults), **kept)

    def says_the_same(self, other: "Definitions") -> bool:
        """Whether two definitions say the same. Stored ones have no faults."""
        return replace(self, faults=()) == replace(other, faults=())


def _usable(kind: str, items: Any, fault_of: Callable[[Item], str | None], faults: list[str]) -> tuple[Item, ...]:
    if not isinstance(items, Iterable) or isinstance(items, str | bytes | Mapping):
        faults.append(f"The list of {kind}s is no list.")
        return ()
    kept: dict[str, Item] = {}
    for number, item in enumerate(items, 1):
        if number > _MOST_ITEMS:
            faults.append(f"More than {_MOST_ITEMS} {kind}s: the rest is left out.")
            break
        fault = fault_of(item) if isinstance(item, dict) else "is no object"
        # The first one of a name counts, as in every client.
        key = str(_key(item)) if isinstance(item, dict) else ""
        fault = fault or ("has the name of an earlier one" if key in kept else None)
        if fault is None:
            kept[key] = item
        else:
            faults.append(
                f"{kind.capitalize()} {number}{f' ({key[:64]})' if key.isprintable() and key else ''} {fault}."
            )
    return tuple(kept.values())


def _changes(value: Any, mask: Callable[[str], str]) -> bool:
    text = msgspec.json.encode(value).decode()
    return mask(text) != text


def _key(item: Item) -> Any:
    return next((item[key] for key in ("uri", "uriTemplate", "name") if key in item), "")


def _fault_of(item: Item, key: str) -> str | None:
    value = item.get(key)
    if not isinstance(value, str) or not value or len(value) > 2048:
        return f"has no usable {key}"
    return None


def _fault_of_a_tool(item: Item) -> str | None:
    if fault := _fault_of(item, "name"):
        return fault
    schema = item.get("inputSchema")
    if not isinstance(schema, dict):
        return "has no inputSchema"
    if schema.get("type", "object") != "object":
        return "has an inputSchema that is no object"
    if has_more_values(item, _MOST_VALUES, _VALUE_CHARACTERS):
        return "is too large"
    return "is nested too deeply" if _is_deeper(item, _DEEPEST) else None


def _is_deeper(data: Any, most: int) -> bool:
    """Whether data is nested more than `most` levels deep."""
    level = [data]
    for _ in range(most):
        inner = [one for outer in level for one in (outer.values() if isinstance(outer, dict) else outer)]
        level = [one for one in inner if isinstance(one, dict | list)]
        if not level:
            return False
    return True


class DefinitionStore:
    """The last known definitions of each server, one file each. They are listed before the server is connected."""

    def __init__(self, data_dir: Path) -> None:
        self.folder = data_dir / "servers"

    def path(self, server: str, kind: str = "definitions") -> Path:
        """The file of a server. Names of servers are safe as parts of a file name."""
        return self.folder / f"{server}.{kind}.json"

    def load(self, server: str) -> Definitions | None:
        """The last known definitions; None if there are none that can be read."""
        found = read_json(self.path(server))
        return Definitions.read(found) if isinstance(found, dict) else None

    def save(self, server: str, definitions: Definitions) -> None:
        """Store the definitions. Raises OSError if the disk is full; the previous file is still there then."""
        write_json(self.path(server), definitions.stored())

    def ask_for_restart(self, server: str) -> None:
        """Ask every process that uses this data folder to connect this server again."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.path(server, "restart").touch()

    def restart_asked_at(self, server: str) -> int:
        """When somebody last asked for a restart; 0 for never."""
        return changed_at(self.path(server, "restart"))

    def forget(self, server: str) -> None:
        """Remove what is stored of a server, its sign-in too: another one may get its name."""
        for kind in ("definitions", "pins", "restart", "oauth"):
            self.path(server, kind).unlink(missing_ok=True)
        for path in self.folder.glob(f"{server}.oauth*.json"):
            path.unlink(missing_ok=True)


def changed_at(path: Path) -> int:
    """When a file was last written; 0 if there is none."""
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def read_json(path: Path) -> Any:
    """The content of a file; None if it is missing, too large, or no JSON."""
    try:
        if path.stat().st_size > _MOST_BYTES:
            return None
        return msgspec.json.decode(path.read_bytes())
    except (OSError, msgspec.DecodeError, UnicodeError, RecursionError):
        return None


def write_json(path: Path, value: Any) -> None:
    """Write a whole file or none."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with write_temp_file(path, msgspec.json.encode(value)) as file:
        file.replace(path)
