"""Evaluate expressions of a node's code. What needs a clock, a network or a file is UNKNOWN, or ends the replay."""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Final

from dogubako.packs.n8n.diagnosis.evaluation import Unknowable
from dogubako.packs.n8n.diagnosis.javascript_values import ABSENT, COMPUTE, FUNCTIONS, UNKNOWN, is_nan
from dogubako.packs.n8n.diagnosis.replay.luxon import unread_date
from dogubako.packs.n8n.diagnosis.replay.scope import Scope
from dogubako.packs.n8n.diagnosis.replay.syntax import Tree
from dogubako.packs.n8n.diagnosis.replay.values import (
    Arr,
    Class,
    Func,
    Native,
    Obj,
    Sifted,
    Thrown,
    Val,
    made_of,
    short_text,
    tested,
    text_of,
    truth,
    type_of_value,
    written_with,
)

MOST_STEPS: Final = 10_000
_MOST_ASKED: Final = 1_000
_CALCULATES: Final = frozenset({"-", "*", "/", "%"})
_ORDERS: Final = frozenset({"<", ">", "<=", ">="})
_LARGEST: Final = 2**53


class Evaluator:
    """Evaluates names, operators and literals. What a name of n8n stands for comes from outside."""

    def __init__(self, known: Callable[[str], Val | None], suspect: tuple[int, str] | None = None) -> None:
        """`suspect` is a line and a property that was read there of nothing: a value that is not known is that."""
        self._known = known
        self._suspect = suspect
        self._left = MOST_STEPS
        self._depth = 0
        # The regular expression that could not be read, as the message of the error has it.
        self.bad_pattern: str | None = None
        # The fields that were tested for truth themselves.
        self.asked: list[Val] = []
        # The pairs of texts that were put in an order.
        self.compared: list[tuple[Val, Val]] = []
        # The pairs that are not the same to JavaScript, a number and the text of it.
        self.unlike: list[tuple[Val, Val]] = []
        # The fields that are null, where a product or a quotient took them for 0.
        self.zeros: list[Val] = []
        # The fields that are null, and alone were given to `new`, with the name of the class.
        self.nulls_given: list[tuple[str, Val]] = []
        # The errors of the language that the code caught.
        self.caught: list[Thrown] = []
        # The calls of filter that kept nothing.
        self.sifted: list[Sifted] = []

    def restart(self, known: Callable[[str], Val | None]) -> None:
        """Begin again with the next item; the steps are counted on."""
        self._known, self._depth = known, 0

    def spend(self, steps: int = 1) -> None:
        """Count steps; work on a long list is many of them. Code may be hostile."""
        self._left -= steps
        if self._left < 0:
            raise Unknowable

    def _evaluate(self, tree: Tree | None, scope: Scope) -> Val:
        if tree is None:
            return Val(ABSENT)
        self.spend()
        found: Val = getattr(self, f"_eval_{tree.kind}")(tree, scope)
        return found

    def _eval_literal(self, tree: Tree, _: Scope) -> Val:
        return Val(tree.value)

    def _eval_pattern(self, tree: Tree, _: Scope) -> Val:
        return Val(Obj({"·body": Val(tree.value[0]), "·flags": Val(tree.value[1])}, kind="pattern"))

    def _eval_name(self, tree: Tree, scope: Scope) -> Val:
        holder = scope.holder(tree.value)
        if holder is not None:
            return holder.names[tree.value]
        if tree.value == "this":
            return scope.this or Val(UNKNOWN)
        known = self._known(tree.value)
        if known is None:
            raise Thrown("name", f"{tree.value} is not defined", tree.line)
        return known

    def _is_no_name(self, tree: Tree, scope: Scope) -> bool:
        return scope.holder(tree.value) is None and self._known(tree.value) is None

    def _eval_template(self, tree: Tree, scope: Scope) -> Val:
        parts = [self._evaluate(one, scope) for one in tree.parts]
        texts = [text_of(one.value) for one in parts]
        if UNKNOWN in texts:
            return made_of(UNKNOWN, *parts)
        joined = tree.value[0] + "".join(str(one) + rest for one, rest in zip(texts, tree.value[1:], strict=True))
        return written_with(short_text(joined), *parts) if parts else Val(joined)

    def _eval_list(self, tree: Tree, scope: Scope) -> Val:
        elements = self._given(tree.parts, scope)
        return Val(Arr(elements, None, made_of(None, *elements[:3]).made if elements else ()))

    def _eval_object(self, tree: Tree, scope: Scope) -> Val:
        made = Obj()
        for one in tree.parts:
            if one is None:
                continue
            if one.kind == "spread":
                value = self._evaluate(one.parts[0], scope)
                if isinstance(value.value, Obj):
                    self.spend(len(value.value.names()))
                    made.fields.update({key: value.value.get(key) for key in value.value.names()})
                    made.copied.append(value.value)
                elif not value.is_known:
                    raise Unknowable
                continue
            key = self._evaluate(one.parts[0], scope).value
            if not isinstance(key, (str, int)):
                raise Unknowable
            made.fields[str(key)] = self._evaluate(one.parts[1], scope)
        return Val(made)

    def _eval_binary(self, tree: Tree, scope: Scope) -> Val:
        left = self._evaluate(tree.parts[0], scope)
        if tree.value in ("||", "&&", "??"):
            return self._logical(tree.value, left, tree.parts[1], scope)
        right = self._evaluate(tree.parts[1], scope)
        if tree.value == "in":
            if right.is_known and not isinstance(right.value, (Obj, Arr)):
                raise Thrown("in", None, tree.line, right)
            held = right.value.names() if isinstance(right.value, Obj) else None
            return made_of(UNKNOWN if held is None or not left.is_known else str(left.value) in held, right)
        if tree.value == "instanceof":
            return made_of(UNKNOWN, left)
        return self._compute(tree.value, left, right)

    def _compute(self, operator: str, left: Val, right: Val) -> Val:
        if operator in _CALCULATES and (unread := unread_date(left) or unread_date(right)) is not None:
            return unread
        if not left.is_known or not right.is_known or operator not in COMPUTE:
            return made_of(UNKNOWN, left, right)
        one, other = left.value, right.value
        if isinstance(one, (Obj, Arr, Func, Class)) or isinstance(other, (Obj, Arr, Func, Class)):
            if operator in ("===", "!=="):
                return made_of((one is other) is (operator == "==="), left, right)
            if operator in ("==", "!=") and (left.is_nothing or right.is_nothing):
                return made_of(operator == "!=", left, right)
            return made_of(UNKNOWN, left, right)
        self._watch(operator, left, right)
        if operator == "+" and (isinstance(one, str) or isinstance(other, str)):
            made_text = written_with(short_text(text_of(one) + text_of(other)), left, right)
            made_text.joined = _is_sum(left, right) or _is_sum(right, left)
            return made_text
        if operator in ("-", "*", "/", "%", "<", ">", "<=", ">=", "+") and not (
            isinstance(one, str) and isinstance(other, str) and operator in ("<", ">", "<=", ">=")
        ):
            one, other = number_of(one), number_of(other)
            if operator in ("/", "%") and other == 0:
                return _divided_by_zero(operator, one, left, right)
        try:
            made = COMPUTE[operator](one, other)
            if isinstance(made, int) and abs(made) > _LARGEST:
                made = float(made)
            # What is no number makes the result none, whatever the other side is.
            guilty = [side for side, held in ((left, one), (right, other)) if is_nan(held)] if is_nan(made) else []
        except (TypeError, ValueError, ArithmeticError):
            return made_of(UNKNOWN, left, right)
        result = made_of(made, *(guilty or (left, right)))
        if operator in ("===", "=="):
            sides = ((left, right), (right, left))
            result.against = next(((one.at, two.value) for one, two in sides if one.at and not two.spots), None)
            result.sides = (left.value, right.value)
        # What was calculated with a text that + had joined is as wrong as that.
        result.joined = operator in _CALCULATES and (left.joined or right.joined)
        # One times a number, and nothing added to it, is the number.
        result.parsed = next((one.parsed for one in (left, right) if one.parsed and one.value == made), None)
        if left.chosen and not right.spots and COMPUTE[operator](0, other) is not made:
            result.chosen = left.chosen
        result.unfound = result.unfound or any(side.is_nothing and side.at is None for side in guilty)
        return result

    def _watch(self, operator: str, left: Val, right: Val) -> None:
        """Remember comparisons of which rules may say something."""
        if operator in ("===", "!=="):
            self.tell_apart(left, right)
        both_texts = isinstance(left.value, str) and isinstance(right.value, str)
        if operator in _ORDERS and both_texts and len(self.compared) < _MOST_ASKED:
            self.compared.append((left, right))
        if operator in ("*", "/") and len(self.zeros) < _MOST_ASKED:
            pairs = ((left, right), (right, left)) if operator == "*" else ((left, right),)
            self.zeros += [one for one, other in pairs if one.value is None and one.at and _is_other_than_zero(other)]

    def _logical(self, operator: str, left: Val, second: Tree | None, scope: Scope) -> Val:
        if not left.is_known:
            raise Unknowable
        if operator == "??":
            return _in_place_of(left, self._evaluate(second, scope)) if left.is_nothing else left
        if operator == "&&":
            self.ask(left)
        if self._decided(left) is (operator == "||"):
            return left
        right = self._evaluate(second, scope)
        if operator == "||":
            right = _in_place_of(left, right)
        if truth(right.value) is (operator == "||") or right.value is UNKNOWN:
            return right
        # Both sides decided it together.
        both = made_of(right.value, left, right) if left.spots else right
        both.missed = right.missed
        return both

    def _eval_unary(self, tree: Tree, scope: Scope) -> Val:
        if tree.value == "delete":
            return self._delete(tree.parts[0], scope)
        inner = tree.parts[0]
        if tree.value == "typeof" and inner is not None and inner.kind == "name" and self._is_no_name(inner, scope):
            return Val("undefined")
        value = self._evaluate(inner, scope)
        if tree.value == "await":
            return value
        if tree.value == "typeof":
            return tested(type_of_value(value.value), value)
        if tree.value == "!":
            self.ask(value)
            known = truth(value.value)
            return replace(made_of(UNKNOWN if known is None else not known, value), sought=value.sought)
        if not value.is_known or isinstance(value.value, (Obj, Arr, Func, Class, Native)):
            return made_of(UNKNOWN, value)
        number = number_of(value.value)
        return made_of(-number if tree.value == "-" else number if tree.value == "+" else UNKNOWN, value)

    def _eval_choice(self, tree: Tree, scope: Scope) -> Val:
        met = self._decided(self.ask(self._evaluate(tree.parts[0], scope)))
        return self._evaluate(tree.parts[1 if met else 2], scope)

    def ask(self, value: Val) -> Val:
        """The value, remembered as one that was tested for truth if it is a field of an item."""
        if value.at is not None and len(self.asked) < _MOST_ASKED:
            self.asked.append(value)
        return value

    def tell_apart(self, one: Val, other: Val) -> None:
        """Remember two values of which one is a number, and the other the text of it."""
        kinds = {type(one.value), type(other.value)}
        if str in kinds and kinds & {int, float} and text_of(one.value) == text_of(other.value):
            self.unlike += [(one, other)] if len(self.unlike) < _MOST_ASKED else []

    def sift(self, sifted: Sifted) -> None:
        """Remember a call of filter that kept nothing."""
        if len(self.sifted) < _MOST_ASKED:
            self.sifted.append(sifted)

    def read_pattern(self, given: list[Val], line: int) -> Val:
        """`new RegExp(text)`. Whether the text can be read is known from the message of the error alone."""
        if given and self.bad_pattern is not None and text_of(given[0].value) == self.bad_pattern:
            raise Thrown("pattern", None, line, given[0])
        return made_of(UNKNOWN, *given)

    def _decided(self, value: Val) -> bool:
        known = truth(value.value)
        if known is None:
            raise Unknowable
        return known

    def _given(self, parts: tuple[Tree | None, ...], scope: Scope) -> list[Val]:
        found: list[Val] = []
        for one in parts:
            if one is not None and one.kind == "spread":
                held = self._evaluate(one.parts[0], scope)
                found += self._elements(held, one.line)
                self.spend(len(found))
            else:
                found.append(self._evaluate(one, scope))
        return found

    def _elements(self, held: Val, line: int) -> Iterator[Val]:
        value = held.value
        if isinstance(value, Arr):
            return iter(list(value.elements))
        if isinstance(value, str):
            return iter([Val(one, None, held.spots) for one in value])
        if isinstance(value, Obj) and value.kind in ("set", "map"):
            return iter(list(value.fields["·all"].value.elements))
        if not held.is_known or (isinstance(value, Obj) and value.of is not None):
            raise Unknowable
        raise Thrown("iterable", None, line, held)

    def _delete(self, target: Tree | None, scope: Scope) -> Val:
        if target is None or target.kind not in ("member", "index"):
            raise Unknowable
        held, key = self._evaluate(target.parts[0], scope), self._key(target, scope)
        if isinstance(held.value, Obj):
            held.value.fields.pop(key, None)
            held.value.gone.add(key)
        return Val(True)

    def _key(self, target: Tree, scope: Scope) -> str:
        if target.kind == "member":
            return str(target.value[0])
        key = self._evaluate(target.parts[1], scope).value
        if not isinstance(key, (str, int, float)):
            raise Unknowable
        return str(text_of(key))


def _in_place_of(left: Val, right: Val) -> Val:
    """The null that stands in the place of what was not there, with what is known of that."""
    if right.value is not None or right.at is not None:
        return right
    return replace(right, instead=left.at or left.instead, missed=left.missed)


def _is_other_than_zero(value: Val) -> bool:
    number = as_number(value)
    return isinstance(number, (int, float)) and math.isfinite(number) and number != 0


def _divided_by_zero(operator: str, one: Any, left: Val, right: Val) -> Val:
    if math.isnan(one) or operator == "%":
        return made_of(math.nan, left, right)
    made = made_of(math.copysign(math.inf, one) if one else math.nan, left, right)
    made.zero = right
    return made


def _is_sum(one: Val, other: Val) -> bool:
    """Whether `+` was to add a number, or a field that is the text of one, to this text, which is a number, too."""
    is_number = isinstance(one.value, (int, float)) and not isinstance(one.value, bool)
    both_read = one.at is not None and other.at is not None and not is_nan(number_of(one.value or "x"))
    return (
        (is_number or one.joined or both_read)
        and isinstance(other.value, str)
        and not is_nan(number_of(other.value or "x"))
    )


def as_number(value: Val) -> Any:
    return number_of(value.value) if value.is_known and not isinstance(value.value, (Obj, Arr)) else UNKNOWN


def number_of(value: Any) -> Any:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return value
    number = FUNCTIONS["Number"](value)
    return int(number) if math.isfinite(number) and number == int(number) else number
