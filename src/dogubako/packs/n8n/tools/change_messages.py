"""What is said of a change to a workflow that was written: all went well, or somebody else was there as well."""

from collections.abc import Callable
from typing import Final

from dogubako.contract.output import Guidance, Message
from dogubako.packs.n8n.workflow_change import Outcome

# The first that holds is said.
_BESIDE_OTHERS: Final[tuple[tuple[Callable[[Outcome], bool], Message], ...]] = (
    (
        lambda outcome: outcome.off_again,
        Message(
            en="Saved and published, but somebody unpublished it right after",
            ja="保存して公開しましたが、直後に非公開にされました",
        ),
    ),
    (
        lambda outcome: outcome.published_since is not None,
        Message(
            en="Saved and published, but somebody published another version right after (publishedSince)",
            ja="保存して公開しましたが、直後に別の版が公開されました（publishedSince）",
        ),
    ),
    (
        lambda outcome: outcome.may_have_been_live is not None,
        Message(
            en="Published, perhaps over a version that somebody published at the same moment (mayHaveBeenLive)",
            ja="公開しました（同時に公開された別の版を置き換えた可能性があります：mayHaveBeenLive）",
        ),
    ),
    (
        lambda outcome: outcome.published_draft is not None,
        Message(
            en="Published, together with a draft that was saved before (alsoPublished)",
            ja="公開しました（以前に保存された下書きも公開されました：alsoPublished）",
        ),
    ),
    (
        lambda outcome: outcome.published and bool(outcome.taken_back),
        Message(
            en="Published. A draft that somebody saved right after (savedSince) lacks your change (takenBack)",
            ja="公開しました。直後に保存された下書きには、この変更が含まれません（savedSince, takenBack）",
        ),
    ),
    (
        lambda outcome: outcome.other_tags,
        Message(
            en="Saved, but somebody set other tags right after",
            ja="保存しましたが、直後に別のタグが設定されました",
        ),
    ),
    (
        lambda outcome: bool(outcome.taken_back),
        Message(
            en="Saved, but somebody saved another version right after (savedSince) that lacks your change (takenBack)",
            ja="保存しましたが、直後に、この変更のすべてを含まない版が保存されました（savedSince, takenBack）",
        ),
    ),
    (
        lambda outcome: outcome.settings_lost,
        Message(
            en="Saved, but somebody changed settings at the same moment, and n8n kept the old ones (settingsPutBack)",
            ja="保存しましたが、同時に変更された設定をn8nが元に戻しました（settingsPutBack）",
        ),
    ),
    (
        lambda outcome: outcome.only_published_by_others,
        Message(
            en="Saved. Somebody published another version or unpublished it meanwhile (unrequested)",
            ja="保存しました（その間に別の版が公開されたか、非公開にされました：unrequested）",
        ),
    ),
    (
        lambda outcome: outcome.saved_since is None and bool(outcome.differences or outcome.unrequested),
        Message(
            en="Saved, but n8n or somebody else made something else of it: see differences and unrequested",
            ja="保存しましたが、差異があります",
        ),
    ),
    (
        lambda outcome: outcome.overwrote is not None,
        Message(
            en="Saved, but somebody saves again and again: a version of theirs is not in it (overwroteVersionId)",
            ja="保存しましたが、繰り返し保存されており、含まれない版があります（overwroteVersionId）",
        ),
    ),
    (
        lambda outcome: outcome.saved_since is not None,
        Message(
            en="Saved. Somebody saved another version right after, which has your change as well (savedSince)",
            ja="保存しました（直後に、この変更も含む別の版が保存されました：savedSince）",
        ),
    ),
    (
        lambda outcome: outcome.published and outcome.draft is not None,
        Message(
            en="Published. Somebody saved a draft meanwhile, which is not published (unpublishedDraft)",
            ja="公開しました（その間に保存された下書きは公開していません：unpublishedDraft）",
        ),
    ),
)


def undo_guidance(outcome: Outcome, call: str) -> Guidance:
    """The call that undoes a change, and what it leaves."""
    left = outcome.not_undone
    if not left:
        return Guidance(message="This would undo it.", example=call)
    told = f"but for {', '.join(left)}: n8n does not forget a setting, so give it another value."
    return Guidance(message=f"This would undo it, {told}", example=call)


def change_message(outcome: Outcome, *, differs: bool = True) -> Message:
    """What happened to a change; what somebody else did at the same moment comes first."""
    if not outcome.written:
        return Message(en="Nothing to change: the workflow is already so", ja="変更はありません")
    for holds, message in _BESIDE_OTHERS:
        if holds(outcome):
            return message
    if outcome.published and not outcome.changes_something:
        return Message(en="Published; nothing else was to change", ja="公開しました（ほかに変更はありません）")
    if outcome.published:
        return Message(en="Workflow changed and published", ja="ワークフローを変更し、公開しました")
    if not differs:
        return Message(
            en="Saved, but only empty values differ: [] or {} beside nothing", ja="保存しました（空の値のみの違いです）"
        )
    if outcome.live_at_once:
        ja = "保存しました（名前と設定は版に含まれないため、すぐに有効です）"
        return Message(en=f"Saved. {outcome.live_at_once}", ja=ja)
    if outcome.draft is not None:
        return Message(
            en="Saved as a draft; what is published is unchanged", ja="下書きとして保存しました（公開版は変わりません）"
        )
    return Message(en="Workflow changed", ja="ワークフローを変更しました")
