"""Parse an OpenAPI description (JSON or YAML), and follow references inside it and to files beside it."""

from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import unquote, urljoin, urlsplit

import msgspec

# Larger descriptions exist nowhere; each megabyte costs about a second of a separate process.
MAX_BYTES: Final = 20 * 1024 * 1024
_MOST_DOCUMENTS: Final = 50
_MOST_HOPS: Final = 20
# 20 MB of YAML have fewer values; aliases can make any number of them.
_MOST_NODES: Final = 5_000_000
_MOST_MERGED: Final = 10_000
_DEEPEST: Final = 200
_METHODS_OF_YAML: Final = ("tag:yaml.org,2002:timestamp",)

Fetch = Callable[[str], bytes]


class DescriptionError(Exception):
    """A description, or a part of it, cannot be used. The text is a sentence that says why."""


def parse(content: bytes, where: str) -> dict[str, Any]:
    """The document as plain data. Dates stay texts."""
    if len(content) > MAX_BYTES:
        raise DescriptionError(f"{where} is larger than {MAX_BYTES // 1024 // 1024} MB.")
    document = _parsed(content, where)
    if not isinstance(document, dict):
        raise DescriptionError(f"{where} is not an OpenAPI description: it is no object.")
    return document


def _parsed(content: bytes, where: str) -> Any:
    text = content.removeprefix(b"\xef\xbb\xbf")
    if text.lstrip()[:1] in (b"{", b"["):
        try:
            return msgspec.json.decode(text)
        except RecursionError:
            raise DescriptionError(f"{where} is nested too deeply.") from None
        except (msgspec.DecodeError, UnicodeError):
            # A flow mapping of YAML also starts with a bracket.
            pass
    found = _yaml(text, where)
    _require_a_tree(found, where)
    return found


def _yaml(text: bytes, where: str) -> Any:
    try:
        import yaml  # noqa: PLC0415 - an extra, and most descriptions are JSON
    except ImportError:
        raise DescriptionError(
            f"{where} is no JSON, and YAML needs the extra: pip install 'dogubako[openapi]'."
        ) from None
    base = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    class Loader(base):  # type: ignore[misc, valid-type]
        """Knows the types of JSON only: a date in a description is a text."""

        def flatten_mapping(self, node: Any) -> None:
            super().flatten_mapping(node)
            if len(node.value) > _MOST_MERGED:
                raise yaml.YAMLError

    Loader.yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in resolvers if tag not in _METHODS_OF_YAML]
        for first, resolvers in base.yaml_implicit_resolvers.items()
    }
    try:
        return yaml.load(text, Loader=Loader)  # noqa: S506 - a SafeLoader
    except (yaml.YAMLError, RecursionError, UnicodeError, ValueError):
        raise DescriptionError(f"{where} is neither valid JSON nor valid YAML.") from None


def _require_a_tree(document: Any, where: str) -> None:
    """Refuse a document whose aliases contain themselves, or stand for more than any description has."""
    waiting, seen = [(document, 0)], 0
    while waiting:
        node, depth = waiting.pop()
        inner = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
        seen += 1
        if depth > _DEEPEST:
            raise DescriptionError(f"{where} is nested too deeply.")
        if seen + len(waiting) > _MOST_NODES:
            raise DescriptionError(f"{where} has more than {_MOST_NODES:,} values, those of its aliases included.")
        waiting += [(one, depth + 1) for one in inner]


class Documents:
    """The description and the documents that it refers to, each fetched once."""

    def __init__(self, address: str, content: bytes, fetch: Fetch) -> None:
        self.address = address
        self.root = parse(content, "The description")
        self._fetch = fetch
        self._others: dict[str, dict[str, Any]] = {address: self.root}

    def resolve(self, node: Any, base: str) -> tuple[Any, str]:
        """Follow references until something else comes; returns it with the address of its document."""
        for _ in range(_MOST_HOPS):
            if not (isinstance(node, Mapping) and isinstance(node.get("$ref"), str)):
                return node, base
            node, base = self._target(node["$ref"], base)
        raise DescriptionError("A reference leads from one to the next without an end.")

    def _target(self, reference: str, base: str) -> tuple[Any, str]:
        address, _, pointer = reference.partition("#")
        if address:
            base = self._beside(base, address)
        node: Any = self._document(base)
        for part in pointer.split("/")[1:]:
            key = unquote(part).replace("~1", "/").replace("~0", "~")
            if isinstance(node, Mapping) and key in node:
                node = node[key]
            elif isinstance(node, list) and key.isascii() and key.isdigit() and int(key) < len(node):
                node = node[int(key)]
            else:
                raise DescriptionError(f"The reference {reference[:200]} leads nowhere.")
        return node, base

    def _beside(self, base: str, address: str) -> str:
        """The address of another document: of the same server, or below the folder of the description."""
        there = urljoin(base, address)
        ours, theirs = urlsplit(self.address), urlsplit(there)
        if (ours.scheme, ours.netloc) != (theirs.scheme, theirs.netloc):
            raise DescriptionError("A reference leads to another server, which is not followed.")
        if ours.scheme == "file" and not theirs.path.startswith(ours.path.rpartition("/")[0] + "/"):
            raise DescriptionError("A reference leads out of the folder of the description, and is not followed.")
        return there

    def _document(self, address: str) -> dict[str, Any]:
        if address not in self._others:
            if len(self._others) >= _MOST_DOCUMENTS:
                raise DescriptionError(f"The description has more than {_MOST_DOCUMENTS} files.")
            self._others[address] = parse(self._fetch(address), "A file that the description refers to")
        return self._others[address]
