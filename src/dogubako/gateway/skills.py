"""Skills of servers (`io.modelcontextprotocol/skills`), under addresses that name their server.

A skill is known by its server and its address. Clients see one server, so the server's name becomes the first part of
the address: `skill://refunds/SKILL.md` of the server `shop` is `skill://shop/refunds/SKILL.md`. The last part before
`SKILL.md` stays the skill's name, and references between the files of a skill are relative, so they still lead there.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import unquote

from dogubako.contract.context import Context
from dogubako.contract.errors import AnswerTooLargeError, ApiError, NotFoundError
from dogubako.contract.resources import Resource, ResourceBody, ResourceTemplate, Skill
from dogubako.response.tokens import fits

Item = dict[str, Any]

EXTENSION: Final = "io.modelcontextprotocol/skills"
_SCHEME: Final = "skill"
_FILE: Final = "/SKILL.md"
_ADDRESS: Final = re.compile(r"([a-z][a-z0-9+.-]*)://([^/?#\s][^?#\s]*)", re.IGNORECASE)
_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")
_MOST_FILES: Final = 512
# What stands around a text in an answer.
_ROOM: Final = 200
_MARKDOWN: Final = "text/markdown"


def offers_skills(capabilities: Mapping[str, Any]) -> bool:
    extensions = capabilities.get("extensions")
    return isinstance(extensions, Mapping) and EXTENSION in extensions


def fault_of_a_skill(item: Item) -> str | None:
    """Why an entry cannot be passed on."""
    uri, frontmatter, files = item.get("uri"), item.get("frontmatter"), item.get("resources")
    if not isinstance(uri, str) or len(uri) > 1024 or not _ADDRESS.fullmatch(uri) or not uri.endswith(_FILE):
        return "has no usable uri"
    if not isinstance(frontmatter, dict) or not isinstance(frontmatter.get("description"), str):
        return "has no frontmatter with a description"
    root = uri.removesuffix(_FILE)
    if frontmatter.get("name") != unquote(root.rpartition("/")[2]):
        return "has another name than its folder"
    if files == "dynamic":
        return None
    if not isinstance(files, list) or not 0 < len(files) <= _MOST_FILES:
        return "has no usable list of resources"
    if not all(isinstance(one, dict) and _is_file(one, root) for one in files):
        return "lists a file outside of its folder, or without digest and size"
    return None if any(one["uri"] == uri for one in files) else "does not list its SKILL.md"


def _is_file(item: Item, root: str) -> bool:
    uri, digest, size = item.get("uri"), item.get("digest"), item.get("size")
    inside = isinstance(uri, str) and len(uri) <= 2048 and uri.startswith(f"{root}/") and _is_below(uri[len(root) :])
    return (
        inside and isinstance(digest, str) and bool(_DIGEST.fullmatch(digest)) and isinstance(size, int) and size >= 0
    )


def _is_below(path: str) -> bool:
    """Whether a path cannot lead out of its folder."""
    parts = unquote(path).split("/")[1:]
    return bool(parts) and all(part not in ("", ".", "..") and "\\" not in part for part in parts)


class SkillFiles(ResourceTemplate, frozen=True, kw_only=True):
    """The files of one skill beside its SKILL.md, by their public address."""

    root: str
    # The digest of each file by public address; None for a skill that says that its files change.
    files: Mapping[str, str] | None = None

    def match(self, uri: str) -> dict[str, str] | None:
        if self.files is not None:
            return {"uri": uri} if uri in self.files else None
        return {"uri": uri} if uri.startswith(f"{self.root}/") and _is_below(uri[len(self.root) :]) else None


@dataclass(frozen=True, kw_only=True)
class ServedSkill:
    """A skill of a server as ours: its entry with public addresses, and what reads its files."""

    skill: Skill
    resource: Resource
    files: SkillFiles


def served_skills(server: str, items: Iterable[Item]) -> tuple[dict[str, ServedSkill], list[str]]:
    """The skills of a server by public address, and why some of them are left out."""
    found: dict[str, ServedSkill] = {}
    faults = []
    for item in items:
        public = _public(server, item["uri"])
        if public in found:
            faults.append(f"Skill {item['uri'][:200]} has the address of an earlier one.")
        else:
            found[public] = _served(server, item, public)
    return found, faults


def _public(server: str, uri: str) -> str:
    """The public address of a file of a skill. A skill of another scheme gets that scheme as a folder."""
    match = _ADDRESS.fullmatch(uri)
    assert match is not None
    scheme = "" if match[1].lower() == _SCHEME else f"{match[1].lower()}/"
    return f"{_SCHEME}://{server}/{scheme}{match[2]}"


def _served(server: str, item: Item, public: str) -> ServedSkill:
    listed = item["resources"]
    own_root, root = item["uri"].removesuffix(_FILE), public.removesuffix(_FILE)
    digests: dict[str, str] | None = None
    entry = {**item, "uri": public}
    if isinstance(listed, list):
        digests = {_public(server, one["uri"]): one["digest"] for one in listed}
        entry["resources"] = [{**one, "uri": _public(server, one["uri"])} for one in listed]
    frontmatter = item["frontmatter"]

    async def read(context: Context[Any], variables: Mapping[str, str]) -> ResourceBody:
        address = variables.get("uri", public)
        contents = await context.client.read_resource(own_root + address[len(root) :], context)
        return _checked(contents, digests[address] if digests is not None else None, context.responses.max_tokens)

    name, description = str(frontmatter["name"]), str(frontmatter["description"])
    return ServedSkill(
        skill=Skill(uri=public, entry=entry),
        resource=Resource(uri=public, name=name, description=description, mime_type=_MARKDOWN, read=read),
        files=SkillFiles(
            uri_template=f"{root}/{{+file}}",
            name=f"Files of the skill {name}",
            read=read,
            root=root,
            files=digests,
        ),
    )


def _checked(contents: list[dict[str, Any]], digest: str | None, budget: int) -> ResourceBody:
    """The one content of a file. Half a file, or another one than was listed, would steer an agent elsewhere."""
    if len(contents) != 1:
        raise NotFoundError("The server has no such file.")
    body = ResourceBody.of(contents[0])
    raw = body.content.encode("utf-8", "surrogatepass") if isinstance(body.content, str) else body.content
    if digest is not None and f"sha256:{hashlib.sha256(raw).hexdigest()}" != digest:
        raise ApiError(
            "The file is not the one that the skill lists, so it is not shown.",
            hint="skills/get tells whether the skill has changed.",
        )
    if isinstance(body.content, str) and not fits(body.content, max(1, budget - _ROOM)):
        raise AnswerTooLargeError("The file does not fit the response budget, and half of it would be another file.")
    return body
