"""Words that are no scopes of ours open nothing, wherever they come from; a refusal names a scope that would help."""

import pytest

from dogubako import tool
from dogubako.contract.metadata import Effect, ToolMetadata
from dogubako.gate.scopes import allows, allows_reading, is_scope, needed_for


def _tool(effect: Effect) -> ToolMetadata:
    async def list_issues() -> str:
        """List issues."""
        return "none"

    return tool(effect=effect)(list_issues).metadata


@pytest.mark.parametrize("scope", ["", "openid", "redmine:openid", "redmine:", ":", "READ", "delegate"])
@pytest.mark.parametrize("effect", [Effect.READ, Effect.WRITE, Effect.DESTROY, Effect.DELEGATE])
def test_a_word_that_is_no_scope_opens_nothing(scope: str, effect: Effect) -> None:
    """As it may stand in a file of keys that somebody wrote by hand."""
    assert not allows(frozenset({scope}), _tool(effect), "redmine")
    assert not allows_reading(frozenset({scope}), "redmine")


@pytest.mark.parametrize("pack", ["redmine", "tool", "a pack of words", "core"])
@pytest.mark.parametrize("effect", [Effect.READ, Effect.WRITE, Effect.DESTROY])
def test_who_gets_the_scope_that_a_refusal_names_may_call(pack: str, effect: Effect) -> None:
    scope = needed_for(_tool(effect), pack)

    assert is_scope(scope) and allows(frozenset({scope}), _tool(effect), pack)
