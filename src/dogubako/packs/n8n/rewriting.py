"""Change workflows safely: a copy first, then the write, then a look at what n8n made of it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Final

import anyio

from dogubako.contract.errors import ApiError, ValidationError
from dogubako.contract.guidance import example_call
from dogubako.packs.n8n.api.workflows import KNOWN_SETTINGS
from dogubako.packs.n8n.backups import Backup
from dogubako.packs.n8n.client import N8nClient
from dogubako.packs.n8n.formatters.changes import differences, unrequested
from dogubako.packs.n8n.formatters.workflow import find_node, tag_names

Json = dict[str, Any]

REPUBLISH_SECONDS: Final = 1.0
_WRITTEN: Final = ("name", "nodes", "connections", "settings", "pinData", "staticData", "nodeGroups", "description")
# A name that is not there is compared and repeated up to here.
_LONGEST_SHOWN: Final = 100
# What somebody who rewrites a node rarely means to change, and n8n drops when it is left out.
_CARRIED: Final = ("id", "type", "typeVersion", "position", "webhookId", "credentials")


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """What was meant, and what came of it."""

    workflow: Json
    differences: list[Json]
    unrequested: list[Json]
    changed: list[str]
    backup: Backup | None = None
    kept_credentials: Sequence[str] = ()

    def told(self) -> Json:
        facts: Json = {
            "id": self.workflow["id"],
            "name": self.workflow.get("name"),
            "active": self.workflow.get("active"),
            "versionId": self.workflow.get("versionId"),
            "changed": self.changed,
            "keptCredentials": list(self.kept_credentials),
            "differences": self.differences,
            "unrequested": self.unrequested,
            "backup": self.backup.id if self.backup else None,
        }
        always = ("differences", "unrequested")
        return {key: value for key, value in facts.items() if value not in (None, []) or key in always}


class Rewriting:
    """Creates and overwrites, and believes n8n's "200" only after reading back."""

    def __init__(self, client: N8nClient) -> None:
        self._client = client

    async def create(self, workflow: Mapping[str, Any], tags: Sequence[str] = ()) -> Outcome:
        meant = {key: workflow[key] for key in _WRITTEN if workflow.get(key) is not None}
        meant = {"connections": {}, "settings": {}, **meant}
        tag_ids = await self.tag_ids(tags)
        try:
            made = await self._client.workflows.create(meant)
        except ApiError as error:
            raise _naming_settings(error, meant) from error
        workflow_id = str(made["id"])
        if tag_ids:
            await self._client.workflows.set_tags(workflow_id, tag_ids)
        got = await self._client.workflows.get(workflow_id, "create workflow")
        return Outcome(workflow=got, differences=differences(meant, _only(got, meant)), unrequested=[], changed=[])

    async def replace(self, workflow_id: str, changes: Mapping[str, Any], reason: str) -> Outcome:
        """Only what is in `changes` is meant to change; everything else is sent as it is."""
        before = await self._client.workflows.get(workflow_id, "update workflow")
        asked = {key: changes[key] for key in _WRITTEN if changes.get(key) is not None}
        kept: list[str] = []
        if "nodes" in asked:
            asked["nodes"] = [_carried(node, before, kept) for node in asked["nodes"]]
        if "settings" in asked:
            asked["settings"] = {**(before.get("settings") or {}), **asked["settings"]}
        meant = {**_only(before, _WRITTEN), **asked}
        backup = await self._client.backups.save(before, reason)
        try:
            await self._client.workflows.update(workflow_id, meant, _new_settings(before, changes))
        except ApiError as error:
            raise await self._half_done(_naming_settings(error, changes), before, backup) from error
        got = await self._client.workflows.get(workflow_id, "update workflow")
        if got.get("active"):
            # n8n says that the new version is published, and for a moment still runs the old one.
            await anyio.sleep(REPUBLISH_SECONDS)
        return Outcome(
            workflow=got,
            differences=differences(asked, _only(got, asked)),
            unrequested=unrequested(before, got, asked),
            changed=[one["path"] for one in differences(_only(before, asked), _only(got, asked))],
            backup=backup,
            kept_credentials=kept,
        )

    async def _half_done(self, error: ApiError, before: Json, backup: Backup) -> ApiError:
        """n8n saves a change that it then refuses to publish; whoever made it must hear of that."""
        if error.status_code != 400 or not before.get("active"):
            return error
        now = await self._client.workflows.get(backup.workflow_id, "update workflow")
        if now.get("versionId") != before.get("versionId"):
            undo = example_call("restore_workflow", id=backup.workflow_id, backup=backup.id)
            said = "The change was saved as a draft, the published version is still the one before. This undoes it:"
            error.hint = f"{error.hint or ''} {said} {undo}".strip()
        return error

    async def tag_ids(self, names: Sequence[str], *, create: bool = False) -> list[str]:
        """Ids of tags by their names (or ids). An unknown one is an error with the nearest, unless it may be made."""
        known = {str(tag["name"]): str(tag["id"]) for tag in await self._client.lookups.tags()} if names else {}
        ids = []
        for name in names:
            found = known.get(name) or (name if name in known.values() else None)
            if found is None and create:
                found = str((await self._client.lookups.create_tag(name))["id"])
            if found is None:
                raise _no_such_tag(name[:_LONGEST_SHOWN], known)
            ids.append(found)
        return ids


def _no_such_tag(name: str, known: Iterable[str]) -> ValidationError:
    near = get_close_matches(name, known, n=3, cutoff=0.4)
    advice = f" Did you mean {' or '.join(near)}?" if near else ""
    return ValidationError.of("tags", f"Invalid value for parameter tags: there is no tag '{name}'.{advice}")


def with_node_changes(workflow: Mapping[str, Any], updates: Sequence[Mapping[str, Any]]) -> list[Json]:
    """The workflow's nodes, some of them changed; `parameters` are merged, all else is replaced."""
    nodes = [dict(node) for node in workflow.get("nodes") or []]
    for update in updates:
        name = str(update["nodeName"])
        find_node(workflow, name)
        nodes = [_updated(node, update) if node.get("name") == name else node for node in nodes]
    return nodes


def _updated(node: Json, update: Mapping[str, Any]) -> Json:
    given = {key: value for key, value in update.items() if key != "nodeName" and value is not None}
    parameters = {**(node.get("parameters") or {}), **(given.pop("parameters", None) or {})}
    return {**node, **given, "parameters": parameters}


def state_of(workflow: Mapping[str, Any]) -> Json:
    """What a backup has to bring back besides the content."""
    return {"active": bool(workflow.get("active")), "tags": sorted(tag_names(workflow))}


def _carried(node: Any, before: Mapping[str, Any], kept: list[str]) -> Any:
    """A node that was there before keeps what was left out, its credentials above all."""
    if not isinstance(node, Mapping):
        return node
    old: Json = next((one for one in before.get("nodes") or [] if one.get("name") == node.get("name")), {})
    missing = {key: old[key] for key in _CARRIED if key in old and key not in node}
    if "credentials" in missing:
        kept.append(str(node.get("name")))
    return {**missing, **node}


def _new_settings(before: Mapping[str, Any], changes: Mapping[str, Any]) -> list[str]:
    """Settings that are to change. Others may be left out where n8n shows more than it takes back."""
    was = before.get("settings") or {}
    return [key for key, value in (changes.get("settings") or {}).items() if was.get(key) != value]


def _only(workflow: Mapping[str, Any], keys: Any) -> Json:
    return {key: workflow[key] for key in keys if key in workflow}


def _naming_settings(error: ApiError, asked: Mapping[str, Any]) -> ApiError:
    """Older versions say that there is an unknown key and not which; we know the ones that exist."""
    unknown = [key for key in asked.get("settings") or {} if key not in KNOWN_SETTINGS]
    if error.status_code == 400 and unknown and error.hint is None:
        error.hint = f"Unknown settings: {', '.join(unknown)}."
    return error
