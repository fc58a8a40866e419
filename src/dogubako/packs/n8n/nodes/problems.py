"""A finding of a check: certain ones refuse a write, doubtful ones are told."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher, get_close_matches
from typing import Any, Final, Literal

Kind = Literal[
    "unknownType",
    "unknownVersion",
    "unknownParameter",
    "hiddenParameter",
    "unknownOption",
    "missingParameter",
    "wrongShape",
    "unknownNode",
    "brokenExpression",
    "laterNode",
    "unconnectedNode",
    "unknownCredential",
    "wrongCredential",
    "missingCredential",
    "ignoredCredential",
    "duplicateName",
    "noTrigger",
    "unknownOutput",
    "unknownInput",
    "brokenCode",
    "brokenJson",
    "unknownVariable",
    "noResponse",
    "unusedResponse",
    "sameWebhook",
    "missingModel",
    "unknownWorkflow",
    "unpublishedWorkflow",
    "unknownTable",
    "notSaved",
    "endlessLoop",
    "unclosedLoop",
]
# An unknown name is compared and repeated up to this length.
_LONGEST_SHOWN: Final = 100
_MOST_NEAR: Final = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class Problem:
    """One problem of one node. `certain` means that n8n ignores or refuses it, whatever the data is."""

    kind: Kind
    message: str
    node: str | None = None
    path: str | None = None
    certain: bool = True
    near: tuple[str, ...] = ()

    def shown(self) -> dict[str, Any]:
        facts = {"node": self.node, "path": self.path, "problem": self.kind, "message": self.message}
        facts["didYouMean"] = list(self.near) or None  # type: ignore[assignment]
        return {key: value for key, value in facts.items() if value is not None}

    def doubtful(self) -> "Problem":
        return replace(self, certain=False)

    def of(self, node: str) -> "Problem":
        return replace(self, node=node[:_LONGEST_SHOWN])


def near_names(name: str, names: Iterable[str]) -> tuple[str, ...]:
    """The known names that resemble one, best first. Case and what stands before a dot do not matter."""
    known = {one.rpartition(".")[2].lower(): one for one in reversed(list(names))}
    wanted = name[:_LONGEST_SHOWN].rpartition(".")[2].lower()
    return tuple(known[one] for one in get_close_matches(wanted, known, n=_MOST_NEAR, cutoff=0.6))


def near_types(node_type: str, names: Sequence[str]) -> tuple[str, ...]:
    """The known types that resemble one: of the same name, then those that begin with it, then similar ones."""
    wanted = node_type[:_LONGEST_SHOWN].rpartition(".")[2].lower()
    short = {one: one.rpartition(".")[2].lower() for one in names}
    same = [one for one in names if short[one] == wanted]
    longer = [one for one in names if len(wanted) > 2 and short[one].startswith(wanted) and one not in same]
    similar = [one for one in near_names(node_type, names) if one not in same + longer]
    longer.sort(key=lambda one: len(short[one]))
    likely = [one for one in similar if is_likely_typo(node_type, one)]
    rest = [one for one in similar if one not in likely]
    return tuple([*same, *likely, *longer, *rest][:_MOST_NEAR])


def is_likely_typo(name: str, known: str) -> bool:
    """Whether two names are almost the same, or have swapped letters. `form` and `formTrigger` are different."""
    short, other = (one[:_LONGEST_SHOWN].rpartition(".")[2].lower() for one in (name, known))
    return SequenceMatcher(None, short, other).ratio() >= 0.85 or sorted(short) == sorted(other)


def quoted(name: str) -> str:
    return f"'{name[:_LONGEST_SHOWN]}'"


def parameters_of(node: Mapping[str, Any]) -> Mapping[str, Any]:
    """The parameters of a node; none if they are no object, which is told elsewhere."""
    parameters = node.get("parameters")
    return parameters if isinstance(parameters, Mapping) else {}
