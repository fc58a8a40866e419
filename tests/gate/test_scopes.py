"""What scopes mean: which are scopes at all, what each opens, and that more of them never open less."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dogubako.contract.metadata import Effect, ToolMetadata
from dogubako.gate.scopes import allows, allows_reading, is_scope, known_scopes, needed_for

SCOPES = [
    pytest.param("read", True, id="an effect"),
    pytest.param("destroy", True, id="the strongest effect"),
    pytest.param("admin", True, id="everything"),
    pytest.param("redmine:write", True, id="an effect in a pack"),
    pytest.param("my-pack_2:read", True, id="a pack of somebody else"),
    pytest.param("tool:list_*", True, id="tools by pattern"),
    pytest.param("tool:get_?ssue", True, id="one letter left open"),
    pytest.param("", False, id="nothing"),
    pytest.param("delegate", False, id="an effect that nobody is given"),
    pytest.param("READ", False, id="capitals"),
    pytest.param("redmine:admin", False, id="an administrator of one pack"),
    pytest.param("redmine:", False, id="a pack without an effect"),
    pytest.param(":read", False, id="an effect without its pack"),
    pytest.param("tool:", False, id="no tool"),
    pytest.param("tool:[a-z]*", False, id="a class of letters"),
    pytest.param("read\n", False, id="a line after it"),
    pytest.param("openid", False, id="a scope of somebody else"),
]


@pytest.mark.parametrize(("text", "ours"), SCOPES)
def test_a_scope_is_written_in_one_of_three_ways(text: str, ours: bool) -> None:
    assert is_scope(text) is ours
    assert known_scopes(["read", text]) == ({"read", text} if ours else {"read"})


GRANTS = [
    pytest.param("read", "list_issues", Effect.READ, "redmine", True, id="reading reads"),
    pytest.param("read", "list_issues", Effect.WRITE, "redmine", False, id="reading writes nothing"),
    pytest.param("write", "list_issues", Effect.READ, "redmine", True, id="who writes may read"),
    pytest.param("write", "list_issues", Effect.DESTROY, "redmine", False, id="writing destroys nothing"),
    pytest.param("destroy", "list_issues", Effect.WRITE, "redmine", True, id="who destroys may write"),
    pytest.param("admin", "list_issues", Effect.DESTROY, "redmine", True, id="administrators may everything"),
    pytest.param("redmine:write", "list_issues", Effect.READ, "redmine", True, id="in its pack"),
    pytest.param("redmine:write", "list_issues", Effect.READ, "n8n", False, id="not in another"),
    pytest.param("redmine:write", "list_issues", Effect.READ, "redmine2", False, id="not in one that begins alike"),
    pytest.param("tool:list_*", "list_issues", Effect.DESTROY, "redmine", True, id="a pattern opens what it fits"),
    pytest.param("tool:list_*", "relist_issues", Effect.READ, "redmine", False, id="a pattern fits the whole name"),
    pytest.param("tool:list_?", "list_issues", Effect.READ, "redmine", False, id="one letter is one letter"),
    pytest.param("tool:echo", "search_tools", Effect.READ, "core", True, id="tools about tools are for everybody"),
    pytest.param("read", "passing", Effect.DELEGATE, "core", True, id="passing on is reading"),
    pytest.param("tool:echo", "wipe", Effect.WRITE, "core", False, id="but nobody writes there without a scope"),
]


@pytest.mark.parametrize(("scope", "tool", "effect", "pack", "may"), GRANTS)
def test_a_scope_opens_what_it_says(scope: str, tool: str, effect: Effect, pack: str, may: bool) -> None:
    assert allows(frozenset({scope}), _metadata(tool, effect), pack) is may


@pytest.mark.parametrize("pack", ["redmine", "core"])
@pytest.mark.parametrize("effect", [Effect.READ, Effect.WRITE, Effect.DESTROY, Effect.DELEGATE])
def test_who_has_no_scope_may_nothing(effect: Effect, pack: str) -> None:
    assert not allows(frozenset(), _metadata("any", effect), pack)
    assert not allows_reading(frozenset(), pack)


@pytest.mark.parametrize("effect", [Effect.READ, Effect.WRITE, Effect.DESTROY])
def test_the_scope_that_a_refusal_names_would_do(effect: Effect) -> None:
    metadata = _metadata("any", effect)
    needed = needed_for(metadata, "redmine")

    assert is_scope(needed)
    assert allows(frozenset({needed}), metadata, "redmine")


def test_a_scope_for_tools_opens_no_resources() -> None:
    assert not allows_reading(frozenset({"tool:*"}), "redmine")


_scopes = st.sets(st.sampled_from(["read", "write", "destroy", "redmine:read", "n8n:write", "tool:a*", "tool:b", "x"]))


@given(some=_scopes, more=_scopes, tool=st.sampled_from(["a1", "b", "c"]), effect=st.sampled_from(Effect))
def test_more_scopes_never_open_less(some: set[str], more: set[str], tool: str, effect: Effect) -> None:
    metadata = _metadata(tool, effect)
    for pack in ("redmine", "n8n", "core"):
        if allows(frozenset(some), metadata, pack):
            assert allows(frozenset(some | more), metadata, pack)


def _metadata(name: str, effect: Effect) -> ToolMetadata:
    def schemas() -> None:
        raise AssertionError("nobody needs the arguments to judge a caller")

    return ToolMetadata(name=name, description="Any.", title="Any", effect=effect, schemas=schemas)  # type: ignore[arg-type]
