"""Keys that n8n's public API does not take, although its editor has saved them: the refusal names them."""

from dogubako.contract.errors import ApiError
from dogubako.packs.n8n.draft_saving import naming_keys


def refused(**requested: object) -> str | None:
    return naming_keys(ApiError("Failed to update workflow: Unrecognized key(s)", status_code=400), requested).hint


def test_the_keys_of_nodes_that_n8n_refuses_are_named() -> None:
    hint = refused(nodes=[{"name": "A", "type": "x"}, {"name": "顧客", "rewireOutputLogTo": "ai_tool"}], settings={})

    assert hint is not None
    assert "rewireOutputLogTo of '顧客'" in hint
    # It is true of a node that somebody gives, and of one that the editor has saved.
    assert "nothing was saved. Leave it out; where the editor has saved it, replace the node" in hint


def test_settings_are_named_before_nodes_and_nothing_where_all_is_known() -> None:
    assert refused(nodes=[{"color": 1}], settings={"bogus": 1}) == "Unknown settings: bogus."
    assert refused(nodes=[{"name": "A"}], settings={"timezone": "UTC"}) is None
