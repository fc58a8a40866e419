"""Credentials that nodes name, and nodes without a version: what is told, and how certain it is."""

from pathlib import Path
from typing import Any, Final

import pytest

import dogubako_sandbox
from dogubako.packs.n8n.nodes.runtime_checks import check_running

from .checked import Node, node
from .wired import bench

NODE_TYPES: Final = str(Path(dogubako_sandbox.__file__).parent / "n8n" / "node_types")
HOOK: Final = node("Hook", "webhook", 2)
GONE: Final = {"slackApi": {"id": "gone", "name": "Gone"}}


async def checked(folder: Path, *nodes: Node) -> dict[str, Any]:
    async with bench(folder, N8N_NODE_TYPES=NODE_TYPES) as n8n:
        found: dict[str, Any] = await n8n.data("validate_workflow", nodes=[HOOK, *nodes])
    return found


@pytest.mark.parametrize(("disabled", "part"), [(True, "warnings"), (False, "errors")])
async def test_a_credential_that_is_gone_refuses_only_a_node_that_runs(
    tmp_path: Path, disabled: bool, part: str
) -> None:
    found = await checked(tmp_path, node("Post", "noOp", 1, credentials=GONE, disabled=disabled))

    assert "unknownCredential" in {one["problem"] for one in found[part]}


async def test_a_node_that_is_switched_off_is_saved_without_its_credential(tmp_path: Path) -> None:
    off = node("Post", "noOp", 1, credentials=GONE, disabled=True)
    async with bench(tmp_path) as n8n:
        made = await n8n.data("create_workflow", name="Off", nodes=[HOOK, off], connections={})

    assert made["id"]


async def test_a_node_without_a_version_is_told_which_one_n8n_takes(tmp_path: Path) -> None:
    fields = {"assignments": {"assignments": [{"id": "1", "name": "a", "value": "b", "type": "string"}]}}
    bare, old = (node(name, "set", 1, parameters=fields) for name in ("Bare", "Old"))
    del bare["typeVersion"]

    found = await checked(tmp_path, bare, old)

    told = {one["node"]: one["message"] for one in found["errors"]}
    assert "The node has no typeVersion, so n8n takes version 1; the newest is 3.5" in told["Bare"]
    assert "typeVersion" not in told["Old"]


def login_problems(kind: str, **more: Any) -> list[tuple[str, str | None, tuple[str, ...]]]:
    parameters = {"url": "https://a.test", "authentication": "genericCredentialType", "genericAuthType": kind}
    asks = node("Ask", "httpRequest", 4.2, parameters=parameters, **more)
    found = list(check_running({"nodes": [asks], "connections": {}}, [asks]))
    assert not any(one.certain for one in found)
    return [(one.kind, one.path, one.near) for one in found]


def test_a_generic_login_that_does_not_exist_is_told_with_the_near_one() -> None:
    ((kind, path, near),) = login_problems("headerAuth")

    assert (kind, path, near[0]) == ("unknownOption", "genericAuthType", "httpHeaderAuth")


@pytest.mark.parametrize(
    ("kind", "more", "found"),
    [
        ("httpHeaderAuth", {}, ["missingCredential"]),
        ("httpHeaderAuth", {"credentials": {"httpHeaderAuth": {"id": "1", "name": "A"}}}, []),
        ("oAuth2Api", {"credentials": {"oAuth2Api": {"id": "1", "name": "A"}}}, []),
        ("={{ $json.kind }}", {}, []),
        ("headerAuth", {"disabled": True}, []),
        ("", {}, []),
    ],
)
def test_a_generic_login_that_exists_is_left_alone(kind: str, more: dict[str, Any], found: list[str]) -> None:
    assert [one[0] for one in login_problems(kind, **more)] == found
