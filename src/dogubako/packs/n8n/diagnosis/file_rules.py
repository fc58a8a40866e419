"""Rules for files: one that is not there, has another name, or cannot be read as what the node was told."""

import re
from base64 import b64decode
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from dogubako.contract.redaction import visible
from dogubako.packs.n8n.diagnosis.failures import Failure
from dogubako.packs.n8n.diagnosis.scene import Cause
from dogubako.packs.n8n.formatters.flow import Place
from dogubako.packs.n8n.javascript_names import of_names

_OF_KIND = re.compile(r"csv|json|xml|pdf|calendar|rtf|spreadsheet|excel")
_NO_BINARY = re.compile(r"binary (?:file|data|field|property)", re.IGNORECASE)
_BINARY_NAMED = re.compile(
    r"binary (?:file|data|field|property)[^'\"\n]{0,40}['\"]([^'\"\n]{1,100})['\"]", re.IGNORECASE
)
_BINARY_READ = of_names(r"(?<![\w$])binary(?:\??\.([\w$]{1,60}+)|(?:\?\.)?\[['\"]([^'\"]{1,60}+)['\"]\])")
_READS_FILES: Final = ("extractFromFile", "spreadsheetFile", "extractFromPdf")
_COLUMNS = re.compile(r"columns length is (\d{1,4}), got (\d{1,4})")
_LONGEST_FILE: Final = 10_000_000
_LONGEST_BEGINNING: Final = 400
_LONGEST_SHOWN: Final = 80


def binary_missing(failure: Failure) -> Cause | None:
    """The node wants a file that an earlier node dropped, or that never was there."""
    if _NO_BINARY.search(failure.message) is None:
        return None
    scene = failure.scene
    if (other := _other_binary(failure)) is not None:
        return other
    bare = next((place for place in failure.places if not scene.item(place).get("binary")), None)
    if bare is None:
        return None
    walk = scene.walk(bare)
    having = next((index for index, one in enumerate(walk) if scene.item(one).get("binary")), None)
    if having is None:
        return _text_for_file(failure, walk) or Cause(
            node=failure.node, problem="it wants binary data, and no node before gave any", place=bare
        )
    lost = walk[having - 1]
    return Cause(
        node=lost.node, problem="the binary data is lost here", place=lost, walk=tuple(walk[:having]), lost=True
    )


def file_misread(failure: Failure, place: Place, name: str) -> Cause | None:
    """Code that reads a file by a name under which the item has none."""
    held = failure.scene.item(place).get("binary")
    if not isinstance(held, dict) or not held or name in held:
        return None
    there = ", ".join(str(one) for one in list(held)[:5])
    problem = f"it reads binary data called {name}; the item has {there}"
    return Cause(node=failure.node, problem=problem, place=place, misread=True)


def _text_for_file(failure: Failure, walk: list[Place]) -> Cause | None:
    """A request whose answer was taken for text or JSON, where a file is wanted."""
    for place in walk:
        if failure.scene.kind(place.node) == "httpRequest":
            problem = "its answer came as text or JSON, and not as a file: the option responseFormat says which"
            cause = Cause(node=place.node, problem=problem, place=place, walk=tuple(walk[: walk.index(place) + 1]))
            return replace(cause, certain="responseFormat" in repr(failure.scene.settings.get(place.node)))
    return None


def _other_binary(failure: Failure) -> Cause | None:
    """The node wants a file by a name under which there is none; the item has files by other names."""
    named = _BINARY_NAMED.search(failure.message)
    for place in failure.places if named else ():
        held = failure.scene.item(place).get("binary")
        if named and isinstance(held, dict) and held and named[1] not in held:
            there = ", ".join(str(name) for name in list(held)[:5])
            having = [one for one in failure.scene.walk(place) if failure.scene.item(one).get("binary")]
            problem = f"it wants binary data called {named[1]}; the item has {there}, from '{having[-1].node}'"
            return Cause(node=failure.node, problem=problem, place=place, misread=True)
    return None


def unreadable_file(failure: Failure) -> Cause | None:
    """A file that the node cannot read as what it was told: how it begins, and who gave it out."""
    if failure.kind not in _READS_FILES or len(failure.places) != 1:
        return None
    name = str(failure.settings.get("binaryPropertyName") or "data")
    having = [one for one in failure.scene.walk(failure.places[0]) if failure.scene.item(one).get("binary")]
    held = failure.scene.item(having[-1])["binary"].get(name) if having else None
    if not isinstance(held, dict):
        return None
    wanted = str(failure.settings.get("operation") or "csv").removeprefix("from")
    kind, begins = str(held.get("mimeType") or ""), _beginning(held)
    told = f"{name}, {kind} from '{having[-1].node}'" + (f', which begins with "{visible(begins)}"' if begins else "")
    if (cut := _other_separator(failure, wanted, begins)) is not None:
        return Cause(node=failure.node, problem=f"it reads the file {told}, {cut}", place=failure.places[0], own=True)
    if wanted == "csv" and (columns := _COLUMNS.search(failure.message)) is not None:
        sign = _separator(failure)
        cut = f"cut at {sign!r}, its first line has {columns[1]} column(s), and another has {columns[2]}"
        problem = f"it reads the file {told}: {cut}; the option delimiter says at which sign it is cut"
        return Cause(node=failure.node, problem=problem, place=failure.places[0])
    if _OF_KIND.search(kind) and wanted.lower() not in kind:
        # The file is what it says to be.
        return Cause(node=failure.node, problem=f"it reads the file {told}, as {wanted}", place=failure.places[0])
    problem = f"'{failure.node}' cannot read the file that it gave out as {wanted}: {told}"
    return Cause(node=having[-1].node, problem=problem, place=having[-1], walk=tuple(having), certain=False)


def _beginning(held: dict[str, Any]) -> str:
    """The first line of a file that is text and that n8n keeps in the item; nothing if it keeps it elsewhere."""
    data = held.get("data")
    if not isinstance(data, str) or len(data) > _LONGEST_FILE:
        return ""
    try:
        text = b64decode(data[:_LONGEST_BEGINNING], validate=True).decode(errors="strict")
    except (ValueError, UnicodeDecodeError):
        return ""
    return (
        text.lstrip("\ufeff").split("\n", 1)[0].strip()[:_LONGEST_SHOWN] if text.isprintable() or "\n" in text else ""
    )


def _separator(failure: Failure) -> str:
    options = failure.settings.get("options")
    return str(options.get("delimiter") or ",") if isinstance(options, dict) else ","


def _other_separator(failure: Failure, wanted: str, begins: str) -> str | None:
    """That the first line of a table is separated by another sign than the one at which the node cuts it."""
    sign = _separator(failure)
    other = next((one for one in ";\t|," if one != sign and one in begins), None)
    if wanted != "csv" or other is None or sign in begins:
        return None
    return f"and cuts it at {sign!r}, where the file has {other!r}: the option delimiter says which"


FILE_RULES: Final[tuple[Callable[[Failure], Cause | None], ...]] = (binary_missing, unreadable_file)
