"""The overlay of a service: better names, texts and effects, fixed arguments. It survives a new description."""

import tomllib
from functools import lru_cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from dogubako.openapi.definitions import REQUEST
from dogubako.openapi.document import DescriptionError


class ToolOverlay(BaseModel):
    """What is changed in one tool. The table has the name that the description gives it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str | None = None
    title: str | None = None
    description: str | None = None
    words: str = ""
    effect: str | None = None
    hidden: bool = False
    # Arguments with a value that never changes; callers do not see them.
    fixed: dict[str, Any] = {}
    # The fields of the answer that are shown unless a caller names others.
    fields: tuple[str, ...] = ()
    # Better descriptions of arguments.
    arguments: dict[str, str] = {}


class Overlay(BaseModel):
    """A whole overlay file: `[tools.NAME]` tables."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    tools: dict[str, ToolOverlay] = {}


def read_overlay(path: Path | None) -> Overlay:
    """The overlay of a file. DescriptionError says what is wrong with it."""
    if path is None:
        return Overlay()
    try:
        return Overlay.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise DescriptionError(f"The overlay {path} cannot be read: {error.strerror}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        raise DescriptionError(f"The overlay {path} is not valid TOML.") from None
    except ValidationError as error:
        where = ".".join(map(str, error.errors(include_url=False)[0]["loc"]))
        raise DescriptionError(f"The overlay {path} has a wrong key or value: {where}.") from None


@lru_cache(maxsize=16)
def overlay_of(path: Path) -> Overlay:
    """The overlay as it was when it was first read, for the words of its tools; an empty one if it is wrong."""
    try:
        return read_overlay(path)
    except DescriptionError:
        # Reading the description says what is wrong.
        return Overlay()


def overlaid(definitions: list[dict[str, Any]], overlay: Overlay) -> tuple[list[dict[str, Any]], list[str]]:
    """The definitions with the overlay applied, and what of it fits nothing."""
    known = {one["name"] for one in definitions}
    faults = [
        f"The overlay names {name[:64]}, which the description does not have."
        for name in overlay.tools
        if name not in known
    ]
    found = []
    for one in definitions:
        change = overlay.tools.get(one["name"])
        if change is None:
            found.append(one)
        elif not change.hidden:
            found.append(_changed(one, change, faults))
    return found, faults


def _changed(definition: dict[str, Any], change: ToolOverlay, faults: list[str]) -> dict[str, Any]:
    schema = {**definition["inputSchema"], "properties": dict(definition["inputSchema"]["properties"])}
    plan = {**definition["_meta"][REQUEST], "arguments": dict(definition["_meta"][REQUEST]["arguments"])}
    for name, text in change.arguments.items():
        if name in schema["properties"]:
            schema["properties"][name] = {**schema["properties"][name], "description": text}
        else:
            faults.append(
                f"The overlay describes the argument {name[:64]} of {definition['name']}, which it does not have."
            )
    for name, value in change.fixed.items():
        if name not in plan["arguments"]:
            faults.append(
                f"The overlay fixes the argument {name[:64]} of {definition['name']}, which it does not have."
            )
            continue
        schema["properties"].pop(name, None)
        schema["required"] = [one for one in schema.get("required", []) if one != name]
        plan["arguments"][name] = {**plan["arguments"][name], "fixed": value}
    if not schema.get("required", True):
        del schema["required"]
    plan |= {"fields": list(change.fields)} if change.fields else {}
    texts = {"title": change.title, "name": change.name}
    # The request stays visible: it is what somebody approves.
    last_line = definition["description"].rpartition("\n")[2]
    if change.description:
        texts["description"] = f"{change.description}\n{last_line}"
    return {
        **definition,
        **{key: value for key, value in texts.items() if value},
        "inputSchema": schema,
        "annotations": _annotations(change.effect) or definition["annotations"],
        "_meta": {REQUEST: plan},
    }


def _annotations(effect: str | None) -> dict[str, bool] | None:
    if effect is None:
        return None
    return {
        "readOnlyHint": effect == "read",
        "destructiveHint": effect == "destroy",
        "idempotentHint": effect == "read",
    }
