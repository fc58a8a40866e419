"""The names of a block, and how the code leaves it."""

from dataclasses import dataclass, field

from dogubako.packs.n8n.diagnosis.replay.values import Class, Val


class Leave(Exception):  # noqa: N818 - it leaves a block
    """`return`, `break` or `continue`."""

    def __init__(self, kind: str, value: Val | None = None) -> None:
        super().__init__(kind)
        self.kind = kind
        self.value = value


class Nothing(Exception):  # noqa: N818 - it ends a chain
    """A chain with `?.` met nothing."""

    def __init__(self, value: Val) -> None:
        super().__init__()
        self.value = value


@dataclass(slots=True)
class Scope:
    """The names of a block. `conditions` are what was decided on the way to here, in one call of a function."""

    names: dict[str, Val] = field(default_factory=dict)
    outer: "Scope | None" = None
    this: Val | None = None
    home: Class | None = None
    conditions: list[Val] = field(default_factory=list)
    exits: list[Val] = field(default_factory=list)

    def inner(self) -> "Scope":
        return Scope({}, self, self.this, self.home, self.conditions, self.exits)

    def holder(self, name: str) -> "Scope | None":
        scope: Scope | None = self
        while scope is not None and name not in scope.names:
            scope = scope.outer
        return scope
