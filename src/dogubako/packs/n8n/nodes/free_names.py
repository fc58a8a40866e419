"""Which names a piece of JavaScript uses without declaring them.

A name that is declared anywhere counts as declared everywhere, so that no block and no order has to be followed.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from dogubako.packs.n8n.diagnosis.javascript import LONGEST_CODE_FOLLOWED, ParseError
from dogubako.packs.n8n.diagnosis.replay.statements import parse_script
from dogubako.packs.n8n.diagnosis.replay.syntax import Tree

# The right side of these may never be looked at.
_MAY_STOP: Final = ("&&", "||", "??")
_LOOPS: Final = ("for-of", "for-in")
_TARGETS: Final = ("spread", "part", "list-target", "object-target")
# Parts that are all looked at whenever the whole is.
_WHOLE: Final = ("expression", "return", "throw", "template", "list", "object", "entry", "spread", "member", "index")


class FreeNames(NamedTuple):
    """The names that come from outside, in order, with whether the code always fails if they are nothing."""

    used: dict[str, bool]
    declared: frozenset[str]


def parsed(code: str, *, expression: bool) -> Tree | None:
    """The code as a tree; None for what is not understood here, of which nothing may be said."""
    if len(code) > LONGEST_CODE_FOLLOWED:
        return None
    # Braces at the beginning of an expression are an object.
    for text in (f"return (\n{code}\n);", code) if expression else (code,):
        try:
            return parse_script(text)
        except (ParseError, RecursionError):
            continue
    return None


def free_names(tree: Tree) -> FreeNames:
    reader = _Reader()
    reader.read(tree, sure=True)
    used = {name: fails for name, fails in reader.used.items() if name not in reader.declared}
    return FreeNames(used, frozenset(reader.declared))


class _Reader:
    """Goes through a tree. `sure` parts are looked at in every run."""

    def __init__(self) -> None:
        self.used: dict[str, bool] = {}
        self.declared: set[str] = set()

    def read(self, tree: Tree | None, *, sure: bool) -> None:
        if tree is None:
            return
        match tree.kind, tree.parts:
            case "name", _:
                self.used.setdefault(str(tree.value), False)
            case "member" | "index" | "call" | "new", [base, *rest]:
                self._step(tree, base, rest, sure=sure)
            case "unary", [part] if tree.value == "typeof" and part is not None and part.kind == "name":
                # Code that asks whether there is such a name is ready for both.
                self.declared.add(str(part.value))
            case "binary", [left, right]:
                self.read(left, sure=sure)
                self.read(right, sure=sure and tree.value not in _MAY_STOP)
            case "choice" | "if", [condition, *ways]:
                self.read(condition, sure=sure)
                self._all(ways, sure=False)
            case "block", [first, *rest]:
                self.read(first, sure=sure)
                self._all(rest, sure=False)
            case "assign" | "update", [target, *rest]:
                self._bind(target) if target is not None and target.kind == "name" else self.read(target, sure=False)
                self._all(rest, sure=False)
            case _:
                self._declaring(tree, sure=sure)

    def _step(self, tree: Tree, base: Tree | None, rest: Sequence[Tree | None], *, sure: bool) -> None:
        optional = tree.value[1] if tree.kind == "member" else tree.value
        self.read(base, sure=sure)
        if base is not None and base.kind == "name" and sure and not optional:
            self.used[str(base.value)] = True
        self._all(rest, sure=sure and not optional)

    def _declaring(self, tree: Tree, *, sure: bool) -> None:
        match tree.kind, tree.parts:
            case "declare", parts:
                for target, value in zip(parts[::2], parts[1::2], strict=True):
                    self._bind(target)
                    self.read(value, sure=False)
            case "function", [body, *targets]:
                self.declared.add(tree.value[0])
                for target in targets:
                    self._bind(target)
                self.read(body, sure=False)
            case "class", parts:
                self.declared.add(tree.value[0])
                self._all(parts, sure=False)
            case "define", parts:
                self.declared.add(str(tree.value))
                self._all(parts, sure=False)
            case "try", [body, target, *rest]:
                self._bind(target)
                self._all((body, *rest), sure=False)
            case kind, [target, *rest] if kind in _LOOPS:
                self._bind(target)
                self._all(rest, sure=False)
            case kind, parts:
                self._all(parts, sure=sure and kind in (*_WHOLE, "unary", "binary"))

    def _bind(self, target: Tree | None) -> None:
        """The target of a declaration: its names, and the values that they have else."""
        if target is None:
            return
        if target.kind == "name":
            self.declared.add(str(target.value))
        elif target.kind == "default":
            self._bind(target.parts[0])
            self.read(target.parts[1], sure=False)
        elif target.kind in _TARGETS:
            for part in target.parts:
                self._bind(part)
        else:
            self.read(target, sure=False)

    def _all(self, parts: Sequence[Tree | None], *, sure: bool) -> None:
        for part in parts:
            self.read(part, sure=sure)
