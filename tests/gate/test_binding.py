"""Who can reach the server at all, in real processes: keys on a network, refusal without, and trust over stdio."""

from pathlib import Path

import httpx2
import pytest

from dogubako.gate.api_keys import KeyStore
from tests.doors.pipe import speaking
from tests.doors.processes import PATIENCE, WORKBENCH, run, serving
from tests.doors.waiting import until

_OAUTH = {
    "DOGUBAKO_AUTH": "oauth",
    "DOGUBAKO_OAUTH_ISSUER": "https://id.example",
    "DOGUBAKO_OAUTH_AUDIENCE": "https://tools.example/mcp",
}


def _status(url: str, **headers: str) -> int:
    return httpx2.get(url, headers=headers, timeout=PATIENCE).status_code


@pytest.mark.parametrize("words", [(), ("--workers", "2")], ids=["one process", "workers"])
def test_without_authentication_no_network_is_served(tmp_path: Path, words: tuple[str, ...]) -> None:
    ended = run("serve", "--port", "0", *words, folder=tmp_path, settings={"HOST": "0.0.0.0"})

    assert ended.returncode == 2
    assert "authentication is off" in ended.stderr.splitlines()[-1]


async def test_with_keys_a_network_is_served_to_those_who_have_one(tmp_path: Path) -> None:
    store = KeyStore(tmp_path / "data")
    secret, key = store.create("agent", ["read"])
    settings = {"HOST": "0.0.0.0", "DOGUBAKO_AUTH": "keys", "DOGUBAKO_DATA_DIR": str(tmp_path / "data")}
    with serving(WORKBENCH, folder=tmp_path, settings=settings) as server:
        url = server.url().replace("0.0.0.0", "127.0.0.1")

        def statuses(**headers: str) -> list[int]:
            return [_status(url + path, **headers) for path in ("/", "/v1/tools", "/healthz")]

        strangers, friends = statuses(), statuses(authorization=f"Bearer {secret}")
        store.revoke(key.id)
        # The promise is a second; the machine may be busy.
        await until(lambda: statuses(authorization=f"Bearer {secret}")[0] == 401, "the revoked key is refused", 15)
        said = server.stderr.text() + server.log_file

    assert (strangers, friends) == ([401, 401, 200], [200, 200, 200])
    assert secret not in said


@pytest.mark.slow
def test_with_tokens_a_network_is_served(tmp_path: Path) -> None:
    with serving(WORKBENCH, folder=tmp_path, settings={"HOST": "0.0.0.0", **_OAUTH}) as server:
        url = server.url().replace("0.0.0.0", "127.0.0.1")
        statuses = [_status(url + path) for path in ("/", "/healthz")]

    assert statuses == [401, 200]


@pytest.mark.slow
@pytest.mark.parametrize("modern", [False, True], ids=["2025", "2026"])
@pytest.mark.parametrize("settings", [{"DOGUBAKO_AUTH": "keys"}, _OAUTH], ids=["keys", "oauth"])
def test_stdio_trusts_its_parent_whatever_http_wants(tmp_path: Path, settings: dict[str, str], modern: bool) -> None:
    own = {**settings, "DOGUBAKO_DATA_DIR": str(tmp_path / "data")}
    with speaking(WORKBENCH, folder=tmp_path, modern=modern, settings=own) as pipe:
        if not modern:
            pipe.open()
            listed = {tool["name"] for tool in pipe.request("tools/list")["result"]["tools"]}
            assert "echo" in listed
        answer = pipe.call("echo", {"text": "mine"})

    assert answer["result"]["content"][0]["text"] == "mine"


def test_the_command_line_trusts_whoever_typed(tmp_path: Path) -> None:
    settings = {"DOGUBAKO_AUTH": "keys", "DOGUBAKO_DATA_DIR": str(tmp_path / "data")}

    said = run(
        "tools", "call", "echo", '{"text": "mine"}', "--tools", str(WORKBENCH), folder=tmp_path, settings=settings
    )

    assert (said.returncode, "mine" in said.stdout) == (0, True)


@pytest.mark.slow
def test_workers_want_keys_too(tmp_path: Path) -> None:
    secret, _ = KeyStore(tmp_path / "data").create("agent", ["read"])
    settings = {"DOGUBAKO_AUTH": "keys", "DOGUBAKO_DATA_DIR": str(tmp_path / "data")}
    with serving(WORKBENCH, folder=tmp_path, words=["--workers", "2"], settings=settings) as server:
        server.stderr.first(lambda line: b"Application startup complete" in line)
        url = server.url()
        strangers = {_status(url) for _ in range(6)}
        friends = {_status(url, **{"x-api-key": secret}) for _ in range(6)}

    assert (strangers, friends) == ({401}, {200})
