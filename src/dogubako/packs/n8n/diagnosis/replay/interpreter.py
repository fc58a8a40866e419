"""Run the statements of a node's code."""

from typing import Final

from dogubako.packs.n8n.diagnosis.evaluation import Unknowable
from dogubako.packs.n8n.diagnosis.javascript_values import ABSENT, UNKNOWN
from dogubako.packs.n8n.diagnosis.replay.caller import Caller
from dogubako.packs.n8n.diagnosis.replay.scope import Leave, Scope
from dogubako.packs.n8n.diagnosis.replay.syntax import Tree
from dogubako.packs.n8n.diagnosis.replay.values import (
    Arr,
    Obj,
    Thrown,
    Val,
)

_MOST_CAUGHT: Final = 20


class Interpreter(Caller):
    """Runs the tree of a node's code."""

    def run(self, block: Tree) -> Val:
        """What the code returns."""
        try:
            self._block(block, Scope())
        except Leave as left:
            return left.value or Val(ABSENT)
        return Val(ABSENT)

    def _block(self, block: Tree, scope: Scope) -> None:
        for one in block.parts:
            if one is not None and one.kind == "define":
                scope.names[one.value] = self._evaluate(one.parts[0], scope)
        for one in block.parts:
            if one is not None:
                self._execute(one, scope)

    def _execute(self, tree: Tree, scope: Scope) -> None:
        self.spend()
        try:
            getattr(self, f"_run_{tree.kind.replace('-', '_')}")(tree, scope)
        except Thrown as thrown:
            thrown.lines.add(tree.line)
            raise

    def _run_block(self, tree: Tree, scope: Scope) -> None:
        self._block(tree, scope.inner())

    def _run_declare(self, tree: Tree, scope: Scope) -> None:
        for target, value in zip(tree.parts[::2], tree.parts[1::2], strict=True):
            self._bind(target, self._evaluate(value, scope) if value else Val(ABSENT), scope)

    def _run_if(self, tree: Tree, scope: Scope) -> None:
        condition, chosen, other = tree.parts
        value = self.ask(self._evaluate(condition, scope))
        met = self._decided(value)
        branch = chosen if met else other
        scope.conditions.append(value)
        if branch is not None:
            self._execute(branch, scope.inner())
        scope.conditions.pop()
        if chosen is not None and _leaves(chosen):
            scope.exits.append(value)

    def _run_for(self, tree: Tree, scope: Scope) -> None:
        first, condition, step, body = tree.parts
        inside = scope.inner()
        if first is not None:
            self._execute(first, inside) if first.kind == "declare" else self._evaluate(first, inside)
        while condition is None or self._decided(self._evaluate(condition, inside)):
            if not self._round(body, inside):
                return
            if step is not None:
                self._evaluate(step, inside)

    def _round(self, body: Tree | None, scope: Scope) -> bool:
        """One round of a loop; whether there may be a next one."""
        try:
            self._execute(body or Tree("block", 0), scope.inner())
        except Leave as left:
            if left.kind == "return":
                raise
            return left.kind == "continue"
        return True

    def _run_for_of(self, tree: Tree, scope: Scope) -> None:
        target, listed, body = tree.parts
        held = self._evaluate(listed, scope)
        for one in self._elements(held, tree.line):
            inside = scope.inner()
            self._bind(target, one, inside)
            if not self._round(body, inside):
                return

    def _run_for_in(self, tree: Tree, scope: Scope) -> None:
        target, listed, body = tree.parts
        held = self._evaluate(listed, scope)
        if not held.is_known:
            raise Unknowable
        value = held.value
        keys = value.names() if isinstance(value, Obj) else range(len(value.elements)) if isinstance(value, Arr) else ()
        for key in list(keys):
            inside = scope.inner()
            self._bind(target, Val(str(key)), inside)
            if not self._round(body, inside):
                return

    def _run_return(self, tree: Tree, scope: Scope) -> None:
        value = tree.parts[0]
        raise Leave("return", self._evaluate(value, scope) if value else Val(ABSENT))

    def _run_throw(self, tree: Tree, scope: Scope) -> None:
        value = self._evaluate(tree.parts[0], scope)
        told = value.value.get("message").value if isinstance(value.value, Obj) else value.value
        thrown = Thrown("throw", told if isinstance(told, str) else None, tree.line, None, value)
        thrown.conditions = [*scope.conditions[-1:]] or [*scope.exits[-1:]]
        raise thrown

    def _run_try(self, tree: Tree, scope: Scope) -> None:
        body, target, caught, last = tree.parts
        try:
            if body is not None:
                self._block(body, scope.inner())
        except Thrown as thrown:
            if caught is None:
                raise
            self._caught(target, caught, scope, thrown)
        finally:
            if last is not None:
                self._block(last, scope.inner())

    def _caught(self, target: Tree | None, caught: Tree, scope: Scope, thrown: Thrown) -> None:
        if thrown.kind != "throw" and len(self.caught) < _MOST_CAUGHT:
            self.caught.append(thrown)
        inside = scope.inner()
        if target is not None:
            message = Val(thrown.message if thrown.message is not None else UNKNOWN)
            self._bind(target, thrown.value or Val(Obj({"message": message}, kind="error")), inside)
        try:
            self._block(caught, inside)
        except Thrown as again:
            # What the code throws because of an error is about the value of that error.
            if again.kind == "throw":
                again.culprit = again.culprit or thrown.culprit
                again.conditions = thrown.conditions if thrown.culprit is None else []
            raise

    def _run_switch(self, tree: Tree, scope: Scope) -> None:
        subject, *cases = tree.parts
        value = self._evaluate(subject, scope)
        inside, entered = scope.inner(), False
        chosen = [one for one in cases if one is not None]
        for one in chosen:
            if one.value:
                continue
            tested = self._evaluate(one.parts[0], inside)
            same = self._compute("===", value, tested)
            if self._decided(same):
                entered = True
                chosen = chosen[chosen.index(one) :]
                break
        if not entered:
            start = next((index for index, one in enumerate(chosen) if one.value), len(chosen))
            chosen = chosen[start:]
        scope.conditions.append(value)
        try:
            for one in chosen:
                for statement in one.parts[1].parts if one.parts[1] else ():
                    if statement is not None:
                        self._execute(statement, inside)
        except Leave as left:
            if left.kind != "break":
                raise
        scope.conditions.pop()

    def _run_break(self, tree: Tree, _: Scope) -> None:
        raise Leave(tree.kind)

    _run_continue = _run_break

    def _run_define(self, tree: Tree, scope: Scope) -> None:
        """Functions and classes are known before the block begins."""

    def _run_expression(self, tree: Tree, scope: Scope) -> None:
        self._evaluate(tree.parts[0], scope)


def _leaves(tree: Tree) -> bool:
    """Whether a branch leads away from what follows it."""
    last = tree.parts[-1] if tree.kind == "block" and tree.parts else tree
    return last is not None and last.kind in ("return", "continue", "break", "throw")
