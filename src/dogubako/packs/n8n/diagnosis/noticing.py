"""Which rules look for what is odd, in a success and before a failure, and in which order it is told."""

from dataclasses import replace
from typing import Final

from dogubako.packs.n8n.diagnosis.dropped_rules import (
    DROPPED_RULES,
    duplicates_dropped,
    last_round_read,
    runs_for_each_branch,
    unmatched,
)
from dogubako.packs.n8n.diagnosis.failures import Failure
from dogubako.packs.n8n.diagnosis.flow_rules import FLOW_RULES, field_not_there, form_differs, last_is_empty
from dogubako.packs.n8n.diagnosis.format_rules import repaired_json
from dogubako.packs.n8n.diagnosis.hole_rules import some_holes
from dogubako.packs.n8n.diagnosis.item_count_rules import (
    COUNT_RULES,
    ends_in_first_round,
    equal_items,
    one_for_each_round,
)
from dogubako.packs.n8n.diagnosis.loss_rules import (
    LOSS_RULES,
    all_combined,
    fallback_taken,
    few_left,
    misread_setting,
    only_one_item,
    same_for_all,
    summarized_otherwise,
    switched_off,
    unpaired_dropped,
)
from dogubako.packs.n8n.diagnosis.lost_fields import ALWAYS_OUTPUT
from dogubako.packs.n8n.diagnosis.number_rules import NUMBER_RULES, sorted_as_texts
from dogubako.packs.n8n.diagnosis.odd_texts import null_in_text
from dogubako.packs.n8n.diagnosis.plausible_rules import (
    PLAUSIBLE_RULES,
    day_in_utc,
    joined_out_of_order,
    months_written_otherwise,
    numbers_sorted_as_texts,
)
from dogubako.packs.n8n.diagnosis.relevance import may_come_of
from dogubako.packs.n8n.diagnosis.replay_quiet import (
    compared_as_texts,
    date_of_null,
    joined_by_expression,
    no_number_again,
    same_but_for_type,
    text_is_true,
)
from dogubako.packs.n8n.diagnosis.scene import Cause, Scene
from dogubako.packs.n8n.diagnosis.spelling import ONE_LETTER
from dogubako.packs.n8n.diagnosis.text_rules import TEXT_RULES, date_from_nothing
from dogubako.packs.n8n.formatters.flow import Place
from dogubako.packs.n8n.formatters.truncation import is_absent

# What is only there to be looked at comes last.
_LAST_RULES: Final = (
    only_one_item,
    some_holes,
    switched_off,
    few_left,
    duplicates_dropped,
    last_round_read,
    fallback_taken,
    all_combined,
    last_is_empty,
    equal_items,
    runs_for_each_branch,
)
_QUIET_RULES: Final = (
    repaired_json,
    *TEXT_RULES,
    *FLOW_RULES,
    *LOSS_RULES,
    *NUMBER_RULES,
    *DROPPED_RULES,
    *COUNT_RULES,
    *PLAUSIBLE_RULES,
    *_LAST_RULES,
)
# None of these speaks in a recorded execution that is as it should be (ADR 0126).
LIKELY_RULES: Final = frozenset(
    {
        no_number_again,
        unmatched,
        same_for_all,
        sorted_as_texts,
        compared_as_texts,
        summarized_otherwise,
        day_in_utc,
        unpaired_dropped,
        joined_out_of_order,
        joined_by_expression,
        same_but_for_type,
        text_is_true,
        misread_setting,
        date_from_nothing,
        null_in_text,
        months_written_otherwise,
        numbers_sorted_as_texts,
        ends_in_first_round,
        date_of_null,
    }
)
_ABOUT_DATA: Final = frozenset({"400", "409", "422"})
_THIS_ITEM: Final = "this item"
_BEFORE_CHECKS: Final = (
    form_differs,
    field_not_there,
    one_for_each_round,
    *DROPPED_RULES,
    *COUNT_RULES,
    *PLAUSIBLE_RULES,
    *LOSS_RULES,
    *NUMBER_RULES,
    *_LAST_RULES,
    *TEXT_RULES,
)


def noticed_in(scene: Scene) -> list[Cause]:
    """What is odd in an execution that went well. What is known to be wrong comes before what is only unusual."""
    found = [replace(cause, likely=rule in LIKELY_RULES) for rule in _QUIET_RULES if (cause := rule(scene)) is not None]
    return sorted(found, key=lambda one: (not one.certain, not one.wrong))


def noticed_before(failure: Failure, cause: Cause) -> list[Cause]:
    """What is odd in the nodes before, where it is not known what is to blame."""
    if cause.certain:
        return []
    found = [
        replace(one, likely=rule in LIKELY_RULES) for rule in _BEFORE_CHECKS if (one := rule(failure.scene)) is not None
    ]
    before = failure.scene.leading_from(failure.node)
    way = {place for first in failure.places[:1] for place in failure.scene.walk(first)}
    return [_told_of(one, way) for one in found if one.node in before and one.node != cause.node]


def _told_of(one: Cause, way: set[Place]) -> Cause:
    """A finding about another item than the failing one says which."""
    if one.place is None or one.place in way or _THIS_ITEM not in one.problem:
        return one
    return one.with_problem(one.problem.replace(_THIS_ITEM, f"item {one.place.item} of '{one.place.node}'"))


def known_first(failure: Failure, cause: Cause, before: list[Cause]) -> list[Cause]:
    """What is known to be wrong on the way of the failing item comes before a finding without proof."""
    form = form_differs(failure.scene)
    if form is not None and form.node == cause.node and ALWAYS_OUTPUT in cause.problem:
        # Why nothing passed says more than that nothing did.
        cause = cause.with_problem(form.problem)
    way = {one.node for place in failure.places[:1] for one in failure.scene.walk(place)}
    # A service may complain about something else than the text that is broken.
    sure = [
        one
        for one in before
        if (
            one.certain
            or ONE_LETTER in one.problem
            or (one.wrong and failure.http_code is not None)
            or _emptied(failure.scene, one, cause)
            or (one.likely and failure.http_code in _ABOUT_DATA)
        )
        and (cause.node != failure.node or may_come_of(failure, one))
    ]
    known = next((one for one in sure if one.node in way), None)
    value = failure.scene.value(*cause.read) if cause.read is not None else None
    # A value that is there, and that the failing node does not take, is nearer than anything before it.
    if (
        known is None
        or cause.certain
        or cause.wrong
        or (cause.node != failure.node and not (value is None or is_absent(value)))
    ):
        return [cause, *before]
    return [replace(known, certain=False), cause, *(one for one in before if one is not known)]


def _emptied(scene: Scene, one: Cause, cause: Cause) -> bool:
    """Whether this is why the value is empty, or as it is, that the failing node has from that node."""
    told = one.problem.partition(": ")[0].replace(" is ", " as ", 1)
    if told in cause.problem and f"from '{one.node}'" in cause.problem:
        return True
    value = scene.value(one.place, one.path) if one.place is not None and one.path else None
    return value == "" and f"from '{one.node}'" in cause.problem
