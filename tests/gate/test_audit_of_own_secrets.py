"""A caller may put a secret of this very server in place of a name; the audit log knows it and does not repeat it."""

from pathlib import Path

import pytest

from dogubako.app import Toolbox, build
from dogubako.packs.core.pack import CORE
from dogubako.packs.n8n.pack import N8N
from dogubako.settings import Sources
from tests.gate.sheds import log_in, recorded_in

# Nothing but our settings says that this is a secret.
SECRET = "c4narySmithHasRightOfWay"


def box_in(folder: Path) -> Toolbox:
    environ = {"N8N_URL": "http://127.0.0.1:1", "N8N_API_KEY": SECRET, "DOGUBAKO_DATA_DIR": str(folder)}
    return build(Sources(overrides={"audit": True}, environ=environ, env_file=None), packs=[CORE, N8N])


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        pytest.param(SECRET, {}, id="a tool"),
        pytest.param("search_tools", {SECRET: 1}, id="an argument"),
        pytest.param("search_tools", {f"before {SECRET} behind": 1}, id="a part of an argument"),
    ],
)
async def test_a_secret_of_a_pack_is_masked_in_place_of_a_name(
    tmp_path: Path, tool: str, arguments: dict[str, int]
) -> None:
    async with box_in(tmp_path).running() as box:
        await box.call(tool, arguments)

    (line,) = recorded_in(tmp_path)
    assert SECRET not in log_in(tmp_path).read_text()
    assert "***" in f"{line['tool']} {line['arguments']}"
