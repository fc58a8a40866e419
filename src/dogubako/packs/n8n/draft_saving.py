"""Save a draft beside people who save at the same moment: merge what does not touch, and overwrite nobody."""

import random
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import anyio

from dogubako.contract.errors import ApiError, ConflictError, ValidationError
from dogubako.contract.offload import offload_if_large
from dogubako.contract.output import example_call
from dogubako.packs.n8n.api.workflows import KNOWN_SETTINGS, REMOVED_BY
from dogubako.packs.n8n.checks import refuse_problems
from dogubako.packs.n8n.client import N8nClient
from dogubako.packs.n8n.drafts import GRAPH, recent_versions, same_graph
from dogubako.packs.n8n.formatters.changes import changed_paths, shown_value
from dogubako.packs.n8n.merge_renames import merge_renamed
from dogubako.packs.n8n.merging import CONTENT, Clash
from dogubako.packs.n8n.nodes.node_shape import NODE_KEYS
from dogubako.packs.n8n.workflow_change import Saved, WorkflowChange, keys_of, only, requested_parts, touched_parts

JsonObject = dict[str, Any]

VERSIONED: Final = ("nodes", "connections", "nodeGroups")
_REQUIRED: Final = ("name", "nodes", "connections", "settings")
_MOST_CLASHES: Final = 5
_MOST_ROUNDS: Final = 6
# So many versions may have been saved while we wrote one.
_MOST_VERSIONS: Final = 6
_PAUSE_SECONDS: Final = (0.2, 0.5)


class DraftSaver:
    """Writes one draft. n8n has no lock: who saves between our read and our write is looked for before and after."""

    def __init__(self, client: N8nClient, request: WorkflowChange) -> None:
        self._client = client
        self._workflow_id = request.workflow_id
        self._publish = request.publish
        self._allow_invalid = request.allow_invalid
        self._warnings: list[JsonObject] = []
        # Whether n8n has taken a write of ours.
        self.wrote = False

    async def save(self, before: JsonObject, meant: JsonObject) -> Saved:
        """Write what was meant for the version that we have read, and tell what of somebody else is in it.

        What they changed is seen from the version before ours, in every round: who saves at the same moment has not
        seen our change, and does not want to take it back.
        """
        touched = await offload_if_large(before, touched_parts, before, meant)
        base, meant, merged_with = await self._caught_up(before, meant)
        if not set(touched) & set(VERSIONED):
            return await self._save_beside_versions(base, meant, touched, merged_with)
        last = replaced = base
        change, overwrote = meant, None
        own: JsonObject | None = None
        contended = False
        for _ in range(_MOST_ROUNDS):
            written = await self._put(meant, base, touched)
            beside = await self._saved_beside(last, written, meant)
            # The answer to our write may name a version that somebody saved right behind it.
            if beside.ours != written.get("versionId"):
                written = {**written, **only(meant, CONTENT), "versionId": beside.ours}
            own = own or written
            if beside.theirs is None and contended:
                beside = await self._saved_after_a_pause(written)
            theirs = beside.theirs
            if theirs is None:
                break
            contended = True
            try:
                # Whoever saved after us answers for what that took away of others: only our own change is put in again.
                both = await self._merged(base, theirs, change, change if beside.newer else meant)
            except (ConflictError, ValidationError):
                if beside.newer:
                    # Theirs stands, and our answer tells that it was saved since.
                    break
                # The other side may be a person who does not know of us: their version stays.
                await self._withdraw(meant, {**base, **only(theirs, GRAPH)}, touched)
                raise
            if beside.newer and await offload_if_large(base, same_graph, theirs, both):
                # They have read ours, and saved it along with their change.
                break
            paths = await offload_if_large(base, _changed_by_them, base, change, theirs)
            merged_with = list(dict.fromkeys([*merged_with, *paths]))
            alone = await offload_if_large(base, _without, change, theirs, base)
            replaced = {**base, **only(alone, GRAPH), "versionId": theirs.get("versionId")}
            last, meant = theirs if beside.newer else written, both
        else:
            # Somebody saves again and again. What both sides want is written once more, whatever comes next.
            written = await self._put(meant, base, touched)
            beside = await self._saved_beside(last, written, meant)
            overwrote = None if beside.theirs is None or beside.newer else str(beside.theirs["versionId"])
        return Saved(
            meant=meant,
            written=written,
            own=own or written,
            replaced=replaced,
            merged_with=merged_with,
            warnings=self._warnings,
            overwrote=overwrote,
            settings_lost=not contended and await self._lost_settings(base, meant, touched),
        )

    async def _save_beside_versions(
        self, base: JsonObject, meant: JsonObject, touched: Sequence[str], merged_with: Sequence[str]
    ) -> Saved:
        """Write what no version holds, such as the name.

        n8n's PUT sends the nodes as well. Where somebody saves others at the same moment, n8n puts the old ones back
        without a version of ours: then the history has a newer version than the draft, which is written again.
        """
        own = {**base, **only(meant, CONTENT)}
        start, rounds, lost = base, 0, False
        while True:
            await self._put(meant, base, touched)
            theirs = await self._newest_since(start)
            now = await self._client.workflows.get(self._workflow_id, "update workflow")
            if theirs is None:
                lost = await self._lost_settings(base, meant, touched)
                break
            if rounds == _MOST_ROUNDS or await offload_if_large(now, same_graph, now, theirs):
                break
            rounds += 1
            base = {**base, **only(theirs, VERSIONED)}
            meant = {**meant, **only(theirs, VERSIONED)}
        if theirs is not None:
            paths, _ = await offload_if_large(start, changed_paths, only(start, GRAPH), only(theirs, GRAPH))
            merged_with = list(dict.fromkeys([*merged_with, *paths]))
        return Saved(
            meant={**meant, **only(now, VERSIONED)},
            written=now,
            own=own,
            replaced=start if theirs is None else {**start, **only(now, (*VERSIONED, "versionId"))},
            merged_with=merged_with,
            warnings=self._warnings,
            settings_lost=lost,
        )

    async def _newest_since(self, before: JsonObject) -> JsonObject | None:
        """The newest version that somebody saved since, with other nodes: n8n may make one of our write as well."""
        versions = [str(row["versionId"]) for row in await recent_versions(self._client, self._workflow_id)]
        since = versions.index(str(before["versionId"])) if before.get("versionId") in versions else 0
        for one in versions[:since][:_MOST_VERSIONS]:
            version = await self._client.workflows.version(self._workflow_id, one)
            if not await offload_if_large(before, same_graph, before, version):
                return {**before, **only(version, VERSIONED), "versionId": one}
        return None

    async def _lost_settings(self, before: JsonObject, meant: JsonObject, touched: Sequence[str]) -> bool:
        """Whether somebody changed settings while we wrote, of which nothing is left.

        n8n counts changes of settings and of nodes, and keeps versions of nodes only. Reading, changing and writing a
        workflow is no single step in n8n, so it may write the settings that it had read before.
        """
        now = await self._client.workflows.get(self._workflow_id, "update workflow")
        counts = [one.get("versionCounter") for one in (before, now)]
        same_live = all(now.get(key) == before.get(key) for key in ("active", "activeVersionId"))
        was, count = counts
        if not isinstance(was, int) or not isinstance(count, int) or not same_live:
            return False
        versions = [str(row["versionId"]) for row in await recent_versions(self._client, self._workflow_id)]
        if before.get("versionId") not in versions:
            return False
        # n8n may write nodes in another form than it has read them: that counts, and makes no version.
        known = max(versions.index(str(before["versionId"])), 1) + bool(keys_of("settings", touched))
        kept = (now.get("settings") or {}) == (meant.get("settings") or {})
        return kept and count - was > known

    async def _withdraw(self, ours: JsonObject, theirs: JsonObject, touched: Sequence[str]) -> None:
        """Put back what we have overwritten, until our change is not there at two looks in a row.

        Another process that shares nothing with this one may put our change back when it withdraws its own. A place
        that somebody has changed since is theirs.
        """
        was_gone = False
        for _ in range(_MOST_ROUNDS):
            now = await self._client.workflows.get(self._workflow_id, "update workflow")
            without, clashes = await offload_if_large(now, merge_renamed, ours, now, theirs)
            is_gone = bool(clashes) or not await offload_if_large(now, requested_parts, now, without)
            if is_gone and was_gone:
                return
            was_gone = is_gone
            if not is_gone:
                written = await self._put(without, now, touched)
                beside = await self._saved_beside(now, written, without)
                if beside.theirs is not None and not beside.newer:
                    # Somebody else saved while we put it back.
                    both, _ = await offload_if_large(now, merge_renamed, now, beside.theirs, without)
                    ours, theirs = without, both
            await _pause()

    async def _saved_after_a_pause(self, written: JsonObject) -> "_Beside":
        """What somebody has made of our version, once those who mend what they overwrote have had time for it."""
        await _pause()
        now = await self._client.workflows.get(self._workflow_id, "update workflow")
        if await offload_if_large(now, same_graph, now, written):
            return _Beside(written.get("versionId"))
        return _Beside(written.get("versionId"), now, newer=True)

    async def _merged(self, base: JsonObject, theirs: JsonObject, change: JsonObject, meant: JsonObject) -> JsonObject:
        """Their version with what was meant in it. Raises if it touches our change, or makes what cannot work.

        `meant` may have what they saved before. Where they have changed that again, theirs counts.
        """
        _, clashes = await offload_if_large(base, merge_renamed, base, theirs, change)
        if clashes:
            raise conflict(theirs, clashes)
        both, _ = await offload_if_large(base, merge_renamed, base, theirs, meant)
        self._warnings += await refuse_problems(self._client, theirs, both, allow_invalid=self._allow_invalid)
        return both

    async def _caught_up(self, before: JsonObject, meant: JsonObject) -> tuple[JsonObject, JsonObject, list[str]]:
        """The workflow as it is right before our write, with our change in it, and what somebody changed meanwhile.

        Names, settings and pinned data are in no version, so whoever is overwritten there is lost.
        """
        now = await self._client.workflows.get(self._workflow_id, "update workflow")
        parts = await offload_if_large(before, requested_parts, before, now)
        if not parts:
            return before, meant, []
        if self._publish and set(parts) & set(VERSIONED):
            message = f"Workflow '{now['id']}' was changed a moment ago, and this would publish that"
            raise ConflictError(message, hint=read_again(now))
        both = await self._merged(before, now, meant, meant)
        changed, _ = await offload_if_large(before, changed_paths, only(before, CONTENT), only(now, CONTENT))
        return now, both, changed

    async def _put(self, meant: JsonObject, before: JsonObject, touched: Sequence[str]) -> JsonObject:
        """Send what n8n wants in every write, and of the rest only what was touched: what is left out stays."""
        pinned = ["pinData"] if keys_of("pinData", touched) else []
        sent = only(meant, {*_REQUIRED, *touched, *pinned, *(["nodeGroups"] if meant.get("nodeGroups") else [])})
        names = keys_of("settings", touched)
        settings, was = meant.get("settings") or {}, before.get("settings") or {}
        gone = {key: REMOVED_BY[key] for key in names if key not in settings and key in was and key in REMOVED_BY}
        # Older versions replace all settings.
        kept = {key: settings[key] for key in settings if key in names or "versionCounter" not in before}
        sent["settings"] = {**kept, **gone}
        try:
            written = await self._client.workflows.update(self._workflow_id, sent, names)
        except ApiError as error:
            raise naming_keys(error, sent) from error
        self.wrote = True
        return written

    async def _saved_beside(self, before: JsonObject, written: JsonObject, meant: JsonObject) -> "_Beside":
        """Look in n8n's history for what somebody else has saved since the version before ours.

        Only the history tells: n8n's counter of changes does not count connections, and two writes at once may end in
        another order than their versions. Versions are told apart by their content.
        """
        alone = _Beside(written.get("versionId"))
        versions = [str(row["versionId"]) for row in await recent_versions(self._client, self._workflow_id)]
        if before.get("versionId") not in versions:
            return alone
        newer = versions[: versions.index(str(before["versionId"]))][:_MOST_VERSIONS]
        if newer in ([], [alone.ours]):
            return alone
        found = [await self._client.workflows.version(self._workflow_id, one) for one in newer]
        place, other = await offload_if_large(before, ours_and_theirs, meant, found)
        if other is None:
            return _Beside(newer[place])
        theirs = {**before, **only(found[other], (*VERSIONED, "authors", "createdAt")), "versionId": newer[other]}
        return _Beside(newer[place], theirs, newer=other < place)


async def _pause() -> None:
    """Wait for some tenths of a second, and never as long as another process does."""
    await anyio.sleep(random.uniform(*_PAUSE_SECONDS))  # noqa: S311 - parts processes, guards nothing


class _Beside(NamedTuple):
    """The id of our version, and one that somebody else saved at the same moment, if any."""

    ours: Any
    theirs: JsonObject | None = None
    # Whether theirs came after ours, and not before it.
    newer: bool = False


def _without(change: JsonObject, theirs: JsonObject, base: JsonObject) -> JsonObject:
    """Their version without our change: another process that found ours may have saved it along with its own."""
    alone, clashes = merge_renamed(change, theirs, base)
    return theirs if clashes else alone


def _changed_by_them(base: JsonObject, change: JsonObject, theirs: JsonObject) -> list[str]:
    """What they changed. Who has read our version has saved our change along with theirs."""
    beside_ours = set(changed_paths(only(change, GRAPH), only(theirs, GRAPH))[0])
    return [path for path in changed_paths(only(base, GRAPH), only(theirs, GRAPH))[0] if path in beside_ours]


def ours_and_theirs(meant: JsonObject, versions: Sequence[JsonObject]) -> tuple[int, int | None]:
    """The place of our version among the newest, and of the one that somebody else saved beside it.

    Ours has overwritten the version below it, and the newest one has overwritten ours. Another process may have saved
    just what we did at the same moment: then what lies below both of them was overwritten.
    """
    place = _nearest(meant, versions)
    others = [one for one in range(len(versions)) if one == place or not same_graph(versions[one], versions[place])]
    at = others.index(place)
    below = others[at + 1] if at + 1 < len(others) else None
    return place, below if below is not None else others[0] if at else None


def _nearest(meant: JsonObject, versions: Sequence[JsonObject]) -> int:
    """The place of our version. n8n adds to what it saves, such as a webhook's id: then ours differs least."""
    for place, one in enumerate(versions):
        if same_graph(one, meant):
            return place
    apart = [len(changed_paths(only(meant, GRAPH), only(one, GRAPH))[0]) for one in versions]
    return apart.index(min(apart)) if apart else 0


def naming_keys(error: ApiError, requested: Mapping[str, Any]) -> ApiError:
    """Name the settings, or the keys of nodes, that the public API does not take: its own words tell half of it."""
    if error.status_code != 400 or error.hint is not None:
        return error
    unknown = [key for key in requested.get("settings") or {} if key not in KNOWN_SETTINGS]
    odd = [
        f"{key} of '{one.get('name')}'" for one in requested.get("nodes") or () for key in one if key not in NODE_KEYS
    ]
    if unknown:
        error.hint = f"Unknown settings: {', '.join(unknown)}."
    elif odd:
        told = f"n8n's public API takes no node with {', '.join(odd[:_MOST_CLASHES])}: nothing was saved. Leave it out;"
        error.hint = f"{told} where the editor has saved it, replace the node, or save the workflow there without it."
    return error


def conflict(theirs: JsonObject, clashes: Sequence[Clash]) -> ConflictError:
    """Nothing was written, or the other side's version was put back."""
    shown = "; ".join(
        f"{one.path} was removed or renamed" if one.gone else f"{one.path} is now {shown_value(one.theirs)!r}"
        for one in clashes[:_MOST_CLASHES]
    )
    more = f"; and {len(clashes) - _MOST_CLASHES} more" if len(clashes) > _MOST_CLASHES else ""
    who = f" by {theirs['authors']} at {theirs.get('createdAt')}" if theirs.get("authors") else ""
    message = f"Workflow '{theirs['id']}' was changed{who} in the same place: {shown[:1_000]}{more}"
    return ConflictError(message, hint=read_again(theirs))


def read_again(workflow: JsonObject) -> str:
    call = example_call("get_workflow", id=str(workflow["id"]))
    return f"Your change was not saved. Read it again with {call}, and expect versionId '{workflow.get('versionId')}'."
