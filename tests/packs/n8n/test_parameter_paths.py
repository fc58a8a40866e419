"""Paths into parameters: what they may say, and that a hostile one costs nothing."""

from typing import Any

import pytest

from dogubako.packs.n8n.paths import PathError, merged, parse_path, set_at, unset_at


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("url", ("url",)),
        ("options.timeout", ("options", "timeout")),
        ("values[0].name", ("values", 0, "name")),
        ('headers["x.y"].z', ("headers", "x.y", "z")),
        ('a["say \\"hi\\""]', ("a", 'say "hi"')),
        ("顧客.名前", ("顧客", "名前")),
        ("constructor.prototype", ("constructor", "prototype")),
        ("a b.c-d", ("a b", "c-d")),
    ],
)
def test_a_path_is_read(text: str, path: tuple[str | int, ...]) -> None:
    assert parse_path(text) == path


@pytest.mark.parametrize(
    "text",
    [
        *("", ".a", "a..b", "a[", "a[-1]", "a[x]", "a.[0", "a]", "a[1000000000]"),
        *("a" * 1_001, ".".join("a" * 50), "a[0]" * 10_000),
        *("__proto__", "a.__proto__.b", 'a["__proto__"]'),
    ],
)
def test_a_path_that_cannot_be_meant_is_refused(text: str) -> None:
    with pytest.raises(PathError):
        parse_path(text)


def test_values_are_set_with_what_is_missing_on_the_way() -> None:
    root: dict[str, Any] = {"options": {"a": 1}, "values": [{"name": "x"}]}
    set_at(root, ("options", "b", "c"), 2)
    set_at(root, ("values", 0, "name"), "y")
    set_at(root, ("values", 1), {"name": "z"})
    set_at(root, ("new", 0, "deep"), None)

    assert root == {
        "options": {"a": 1, "b": {"c": 2}},
        "values": [{"name": "y"}, {"name": "z"}],
        "new": [{"deep": None}],
    }


@pytest.mark.parametrize("path", [("values", 3), ("values", 999_999_999), ("url", "x"), ("url", 0), ("options", 0)])
def test_a_path_that_does_not_fit_the_parameters_is_refused(path: tuple[str | int, ...]) -> None:
    root: dict[str, Any] = {"values": [1], "url": "x", "options": {}}
    with pytest.raises(PathError):
        set_at(root, path, 1)


def test_values_are_removed_and_nothing_else() -> None:
    root: dict[str, Any] = {"options": {"a": 1, "b": 2}, "values": [1, 2, 3]}

    assert (unset_at(root, ("options", "a")), unset_at(root, ("values", 1))) == (1, 2)
    assert root == {"options": {"b": 2}, "values": [1, 3]}
    for path in (("options", "a"), ("values", 2), ("none", "x")):
        with pytest.raises(PathError):
            unset_at(root, path)


def test_objects_are_merged_by_key_and_lists_are_replaced() -> None:
    old = {"options": {"timeout": 1, "redirect": {"follow": True}}, "list": [1, 2], "plain": 1}

    assert merged(old, {"options": {"timeout": 2}, "list": [3]}) == {
        "options": {"timeout": 2, "redirect": {"follow": True}},
        "list": [3],
        "plain": 1,
    }
    assert merged({"a": {"b": 1}}, {"a": "text"}) == {"a": "text"}
