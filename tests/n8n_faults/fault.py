"""A fault: three nodes of a workflow, and what a good diagnosis says about them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from dogubako_sandbox.n8n.workflow_parts import JsonObject, node, stable_id

CaseSet = Literal[
    "tuning",
    "checking",
    "fresh",
    "unseen",
    "hard",
    "wide",
    "last",
    "odd",
    "daily",
    "later",
    "third",
    "fourth",
    "strange",
    "fifth",
    "sixth",
    "outside",
    "seventh",
    "eighth",
    "ninth",
    "tenth",
    "eleventh",
    "twelfth",
    "thirteenth",
    "fourteenth",
    "fifteenth",
    "sixteenth",
    "seventeenth",
    "eighteenth",
    "nineteenth",
    "twentieth",
    "twentyfirst",
    "twentysecond",
    "twentythird",
    "twentyfourth",
    "twentyfifth",
    "twentysixth",
    "twentyseventh",
    "twentyeighth",
    "twentyninth",
    "thirtieth",
    "thirtyfirst",
    "thirtysecond",
    "thirtythird",
    "thirtyfourth",
    "thirtyfifth",
    "thirtysixth",
    "thirtyseventh",
    "thirtyeighth",
    "thirtyninth",
    "fortieth",
]
Role = Literal["source", "culprit", "victim", "merge"]

# The loopback service is reached under this address in workflows; the recorder puts the real one in.
SERVICE: Final = "http://service.invalid"
START: Final = "Start"


@dataclass(frozen=True, kw_only=True)
class Truth:
    """What is known by construction. `cause` is None when nothing before the failing node is to blame.

    `also` are nodes that may be named as well. `short` are nodes on the way to the cause: who names them is not wrong,
    but has not found it.
    """

    cause: str | None
    failing: str | None
    says: Sequence[str] = ()
    also: Sequence[str] = ()
    short: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class Words:
    """The names in one half of the generated cases. The rules were tuned on one half only."""

    case_set: CaseSet
    nodes: Mapping[Role, str]
    steps: Sequence[str]
    field: str
    near: str
    part: str
    extra: str
    text: str

    @property
    def checking(self) -> bool:
        return self.case_set == "checking"

    def name(self, role: Role) -> str:
        return self.nodes[role]


TUNING: Final = Words(
    case_set="tuning",
    nodes={"source": "Read orders", "culprit": "Map fields", "victim": "Write letter", "merge": "Join"},
    steps=("Add subject", "Mark", "Report"),
    field="customer",
    near="custmer",
    part="name",
    extra="note",
    text="Aiko Sato",
)
CHECKING: Final = Words(
    case_set="checking",
    nodes={"source": "伝票を読む", "culprit": "顧客を調べる", "victim": "宛名を書く", "merge": "まとめる"},
    steps=("件名を足す", "印を付ける", "報告する"),
    field="請求先",
    near="請求元",
    part="住所",
    extra="備考",
    text="佐藤 愛子",
)


@dataclass(frozen=True, kw_only=True)
class Fault:
    """The nodes in a row, and the truth. `cause` is None when nothing before the victim is to blame.

    `says` are words that the diagnosis has to contain. A `quiet` fault ends in an execution that counts as a success.
    `not_in` names shapes in which the victim would not run.
    """

    kind: str
    source: JsonObject
    culprit: JsonObject
    victim: JsonObject
    cause: Role | None
    says: Sequence[str] = ()
    also: Sequence[Role] = ()
    quiet: bool = False
    not_in: Sequence[str] = ()


def expression_set(
    name: str, values: Mapping[str, Any], *, keep: bool = True, kind: str = "string", **options: Any
) -> JsonObject:
    """A Set node with fields of any name."""
    assignments = [
        {"id": stable_id(name, one), "name": one, "value": value, "type": "boolean" if value is True else kind}
        for one, value in values.items()
    ]
    parameters = {"assignments": {"assignments": assignments}, "includeOtherFields": keep, "options": {}}
    return node(name, "set", 3.4, parameters, **options)


def request(name: str, path: str, parameters: JsonObject | None = None, **options: Any) -> JsonObject:
    """An HTTP Request node that asks the loopback service."""
    return node(name, "httpRequest", 4.2, {"url": f"{SERVICE}{path}", "options": {}, **(parameters or {})}, **options)
