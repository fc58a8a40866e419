"""Evaluate functions, classes, calls, members and assignments."""

from typing import Final

from dogubako.packs.n8n.diagnosis.evaluation import Unknowable
from dogubako.packs.n8n.diagnosis.javascript_values import ABSENT, UNKNOWN
from dogubako.packs.n8n.diagnosis.replay.calls import called, constructed, deep, member_of
from dogubako.packs.n8n.diagnosis.replay.evaluator import Evaluator, as_number
from dogubako.packs.n8n.diagnosis.replay.scope import Leave, Nothing, Scope
from dogubako.packs.n8n.diagnosis.replay.statics import static_call
from dogubako.packs.n8n.diagnosis.replay.syntax import Tree
from dogubako.packs.n8n.diagnosis.replay.values import (
    Arr,
    Class,
    Func,
    Missed,
    Native,
    Obj,
    Thrown,
    Val,
    made_of,
    nearest,
    text_of,
)
from dogubako.packs.n8n.formatters.truncation import is_absent

_MOST_CALLS_DEEP: Final = 25
_MOST_LOOKED_AT: Final = 20


class Caller(Evaluator):
    """Evaluates what calls functions or stores values; statements are run by who inherits from it."""

    def _block(self, block: Tree, scope: Scope) -> None:
        raise NotImplementedError

    def _execute(self, tree: Tree, scope: Scope) -> None:
        raise NotImplementedError

    def _bind(self, target: Tree | None, value: Val, scope: Scope) -> None:
        if target is None:
            return
        if target.kind == "name":
            scope.names[target.value] = value
        elif target.kind == "default":
            if is_absent(value.value):
                value = self._evaluate(target.parts[1], scope)
            self._bind(target.parts[0], value, scope)
        elif target.kind == "list-target":
            self._bind_list(target, value, scope)
        else:
            self._bind_object(target, value, scope)

    def _bind_list(self, target: Tree, value: Val, scope: Scope) -> None:
        if not value.is_known:
            elements: list[Val] = [made_of(UNKNOWN, value)] * len(target.parts)
        else:
            elements = list(self._elements(value, target.line))
        for index, one in enumerate(target.parts):
            if one is not None and one.kind == "spread":
                self._bind(one.parts[0], Val(Arr(elements[index:], None, value.spots)), scope)
            elif index < len(elements):
                self._bind(one, elements[index], scope)
            elif isinstance(value.value, Arr):
                self._bind(one, value.value.get(index), scope)
            else:
                self._bind(one, Val(ABSENT, None, value.spots), scope)

    def _bind_object(self, target: Tree, value: Val, scope: Scope) -> None:
        if value.is_nothing:
            first = next((one.value for one in target.parts if one is not None and one.kind == "part"), "")
            raise Thrown("destructure", first, target.line, value)
        taken = []
        for one in target.parts:
            if one is None:
                continue
            if one.kind == "part":
                taken.append(one.value)
                self._bind(one.parts[0], member_of(value, one.value, one.line, self), scope)
            elif isinstance(value.value, Obj):
                rest = Obj({key: value.value.get(key) for key in value.value.names() if key not in taken})
                rest.copied.append(value.value)
                self._bind(one.parts[0], Val(rest), scope)
            else:
                self._bind(one.parts[0], made_of(UNKNOWN, value), scope)

    def _eval_function(self, tree: Tree, scope: Scope) -> Val:
        name, is_arrow = tree.value
        return Val(Func(name, tree, scope, scope.this if is_arrow else None, scope.home))

    def _eval_class(self, tree: Tree, scope: Scope) -> Val:
        parent, *methods = tree.parts
        above = self._evaluate(parent, scope).value if parent is not None else None
        if parent is not None and not isinstance(above, Class):
            raise Unknowable
        made = Class(tree.value[0], above, {}, [], {}, scope, above.is_error if above else False)
        for one in methods:
            if one is None:
                continue
            name, is_static, is_getter = one.value
            inner = one.parts[0]
            if inner is not None and inner.kind == "function":
                function = Func(name, inner, scope, None, made)
                if is_static and is_getter:
                    raise Unknowable
                if is_static:
                    made.statics[name] = Val(function)
                else:
                    (made.getters if is_getter else made.methods)[name] = function
            elif is_static:
                made.statics[name] = self._evaluate(inner, scope)
            else:
                made.fields.append((name, inner))
        return Val(made)

    def _eval_chain(self, tree: Tree, scope: Scope) -> Val:
        try:
            return self._evaluate(tree.parts[0], scope)
        except Nothing as end:
            return Val(ABSENT, end.value.at, end.value.made, missed=end.value.missed)

    def _eval_member(self, tree: Tree, scope: Scope) -> Val:
        held = self._evaluate(tree.parts[0], scope)
        name, optional = tree.value
        if optional and held.is_nothing:
            raise Nothing(held)
        self._suspected(tree, held, name)
        return member_of(held, name, tree.line, self)

    def _suspected(self, tree: Tree, held: Val, name: str) -> None:
        if not held.is_known and (tree.line, name) == self._suspect:
            thrown = Thrown("nothing", name, tree.line, Val(ABSENT, None, held.spots))
            thrown.read_from = _written(tree.parts[0]) or "a value"
            raise thrown

    def _eval_index(self, tree: Tree, scope: Scope) -> Val:
        held = self._evaluate(tree.parts[0], scope)
        if tree.value and held.is_nothing:
            raise Nothing(held)
        key = self._evaluate(tree.parts[1], scope)
        if not key.is_known:
            return made_of(UNKNOWN, held, key)
        if not isinstance(key.value, (str, int, float)) and not key.is_nothing:
            raise Unknowable
        found = member_of(held, str(text_of(key.value)), tree.line, self)
        missed = _missed(held, key, found)
        if (key.spots or missed) and found.is_nothing:
            return Val(found.value, found.at, (*key.spots, *found.made), found.beyond, missed=missed)
        return found

    def _eval_call(self, tree: Tree, scope: Scope) -> Val:
        callee, *given = tree.parts
        if callee is not None and callee.kind == "name" and callee.value == "super":
            return self._super(self._given(tuple(given), scope), scope, tree.line)
        if callee is not None and callee.kind in ("member", "index"):
            held = self._evaluate(callee.parts[0], scope)
            optional = callee.value[1] if callee.kind == "member" else callee.value
            if optional and held.is_nothing:
                raise Nothing(held)
            name = self._key(callee, scope)
            self._suspected(callee, held, name)
            if tree.value and member_of(held, name, callee.line, self).is_nothing:
                raise Nothing(member_of(held, name, callee.line, self))
            if held.is_nothing:
                member_of(held, name, callee.line, self)
            return called(held, name, lambda: self._given(tuple(given), scope), callee.line, self)
        function = self._evaluate(callee, scope)
        if tree.value and function.is_nothing:
            raise Nothing(function)
        return self.call(function, self._given(tuple(given), scope), tree.line)

    def _super(self, given: list[Val], scope: Scope, line: int) -> Val:
        if scope.home is None or scope.home.parent is None or scope.this is None:
            raise Unknowable
        self.initialize(scope.home.parent, scope.this, given, line)
        return Val(ABSENT)

    def call(self, function: Val, given: list[Val], line: int, this: Val | None = None) -> Val:
        """Call a function of the code or of the language."""
        target = function.value
        if isinstance(target, Native):
            return target.call(given, line)
        if not function.is_known:
            return made_of(UNKNOWN, function, *deep(given))
        if isinstance(target, Obj) and target.kind == "static":
            name = str(target.fields["·name"].value)
            return self.read_pattern(given, line) if name == "RegExp" else static_call(name, given, line)
        if not isinstance(target, Func):
            raise Thrown("function", None, line, function)
        if self._depth >= _MOST_CALLS_DEEP:
            raise Unknowable
        self._depth += 1
        bound = target.this if target.this is not None else this
        scope = Scope({}, target.scope, bound, target.home)
        body, *targets = target.tree.parts
        for index, one in enumerate(targets):
            if one is not None and one.kind == "spread":
                self._bind(one.parts[0], Val(Arr(given[index:])), scope)
            else:
                self._bind(one, given[index] if index < len(given) else Val(ABSENT), scope)
        try:
            if body.kind == "block":
                self._block(body, scope)
                return Val(ABSENT)
            self._execute(body, scope)
        except Leave as left:
            return left.value or Val(ABSENT)
        finally:
            self._depth -= 1
        return Val(ABSENT)

    def initialize(self, made: Class, this: Val, given: list[Val], line: int) -> None:
        """Run the constructor of a class, or of the class above it."""
        for name, tree in made.fields:
            this.value.fields[name] = self._evaluate(tree, Scope({}, made.scope, this, made))
        if "constructor" in made.methods:
            self.call(Val(made.methods["constructor"]), given, line, this)
        elif made.parent is not None:
            self.initialize(made.parent, this, given, line)
        elif made.is_error:
            this.value.fields["message"] = given[0] if given else Val("")

    def _eval_new(self, tree: Tree, scope: Scope) -> Val:
        callee, *given = tree.parts
        function = self._evaluate(callee, scope)
        arguments = self._given(tuple(given), scope)
        if [one.value for one in arguments] == [None] and arguments[0].at is not None and callee is not None:
            self.nulls_given.append((str(callee.value), arguments[0]))
        return constructed(function, arguments, tree.line, self)

    def _eval_assign(self, tree: Tree, scope: Scope) -> Val:
        target, written = tree.parts
        if target is None:
            raise Unknowable
        if tree.value in ("??", "||", "&&"):
            before = self._evaluate(target, scope)
            value = self._logical(tree.value, before, written, scope)
        elif tree.value:
            before = self._evaluate(target, scope)
            value = self._compute(tree.value, before, self._evaluate(written, scope))
        else:
            value = self._evaluate(written, scope)
        self._store(target, value, scope)
        return value

    def _store(self, target: Tree, value: Val, scope: Scope) -> None:
        if target.kind == "name":
            holder = scope.holder(target.value)
            (holder or scope).names[target.value] = value
            return
        held, key = self._evaluate(target.parts[0], scope), self._key(target, scope)
        if held.is_nothing:
            raise Thrown("nothing", key, target.line, held)
        if isinstance(held.value, Obj):
            held.value.fields[key] = value
        elif isinstance(held.value, Arr) and key.isdecimal() and int(key) <= len(held.value.elements):
            held.value.elements[int(key) : int(key) + 1] = [value]
        elif held.is_known:
            raise Unknowable

    def _eval_update(self, tree: Tree, scope: Scope) -> Val:
        operator, is_first = tree.value
        target = tree.parts[0]
        before = self._evaluate(target, scope)
        after = self._compute("+" if operator == "++" else "-", made_of(as_number(before), before), Val(1))
        if target is None:
            raise Unknowable
        self._store(target, after, scope)
        return after if is_first else before


def _written(tree: Tree | None) -> str:
    """A chain of names and calls, as the code writes it, without arguments."""
    if tree is None or tree.kind not in ("name", "member", "call", "chain"):
        return ""
    if tree.kind == "name":
        return str(tree.value)
    before = _written(tree.parts[0])
    if tree.kind == "chain" or not before:
        return before
    return f"{before}(…)" if tree.kind == "call" else f"{before}.{tree.value[0]}"


def _missed(held: Val, key: Val, found: Val) -> Missed | None:
    """The key that an object does not have, and some that it has."""
    if not isinstance(held.value, Obj) or held.value.kind != "object" or not is_absent(found.value):
        return None
    if not isinstance(key.value, (str, int)):
        return None
    names = held.value.names()
    of_items = any(held.value.get(one).spots for one in names[:_MOST_LOOKED_AT])
    # The keys of an object are texts, whatever is looked for.
    wanted = str(text_of(key.value))
    return Missed(wanted, nearest(wanted, names), of_items)
