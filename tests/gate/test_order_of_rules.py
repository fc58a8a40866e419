"""The scope comes first: who may not have a tool does not learn what else is the matter with it."""

from pathlib import Path

import pytest

from dogubako.contract.call import Caller, ToolCall

from .guarded import guarded_box

STRANGER = Caller(name="stranger", scopes=frozenset({"redmine:destroy"}))
AT_HOME = Caller(name="at home", scopes=frozenset({"n8n:destroy"}))


@pytest.mark.parametrize(
    ("caller", "settings", "disabled", "code"),
    [
        pytest.param(STRANGER, {}, True, "AUTHORIZATION_ERROR", id="no scope, disabled"),
        pytest.param(STRANGER, {"DOGUBAKO_READ_ONLY": "true"}, False, "AUTHORIZATION_ERROR", id="no scope, read-only"),
        pytest.param(STRANGER, {"DOGUBAKO_CONFIRM": "deny"}, False, "AUTHORIZATION_ERROR", id="no scope, denied"),
        pytest.param(AT_HOME, {}, True, "TOOL_DISABLED", id="disabled"),
        pytest.param(AT_HOME, {"DOGUBAKO_READ_ONLY": "true"}, False, "READ_ONLY", id="read-only"),
        pytest.param(AT_HOME, {"DOGUBAKO_CONFIRM": "deny"}, False, "READ_ONLY", id="denied"),
        pytest.param(AT_HOME, {}, False, "CONFIRMATION_REQUIRED", id="nothing the matter"),
    ],
)
async def test_the_first_thing_that_is_the_matter_is_told(
    tmp_path: Path, caller: Caller, settings: dict[str, str], disabled: bool, code: str
) -> None:
    async with guarded_box(tmp_path, **settings).running() as box:
        if disabled:
            box.registry.disable("destroy_n8n")
        result = await box.pipeline.handle(ToolCall(name="destroy_n8n", caller=caller))

    assert result.code == code
