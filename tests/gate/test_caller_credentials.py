"""Credentials of callers: stored encrypted with an API key, brought in a header, and never crossing callers."""

import json
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from dogubako.app import Toolbox, build
from dogubako.cli.main import app
from dogubako.contract.call import Caller
from dogubako.contract.credentials import Credential
from dogubako.contract.metadata import Effect
from dogubako.contract.output import Json
from dogubako.contract.pack import Host, Pack, setting
from dogubako.contract.tool import BaseTool, NoArgs
from dogubako.gate.api_keys import KeyStore
from dogubako.gate.credential_vault import CredentialVault
from dogubako.outbound.service_settings import ServiceSettings
from dogubako.settings import Sources
from dogubako.transports.http.app import HttpApp
from tests.doors.asgi import Client, Visit, opened

SECRET = "a-very-private-key-of-maria"


class VaultSettings(ServiceSettings):
    url: str | None = setting("http://safe.example", "SAFE_URL", "Where.")
    api_key: Any = setting(None, "SAFE_API_KEY", "Key.")
    ca_bundle: Path | None = setting(None, "SAFE_CA_BUNDLE", "CA.")
    credentials: Any = setting("own-or-shared", "SAFE_CREDENTIALS", "Whose key.")
    credential_header: str | None = setting("x-safe-key", "SAFE_CREDENTIAL_HEADER", "Header.")


class ShowKey(BaseTool[NoArgs, str]):
    """Show with which key the service would be used. Its answers are cached, and it repeats the key by mistake."""

    name = "show_key"
    effect = Effect.READ
    caches = True

    async def execute(self, args: NoArgs) -> Json:
        return Json(data={"length": len(self.client), "key": self.client}, cacheable=True)


class SafePack(Pack[VaultSettings, str]):
    name = "safe"
    tools = (ShowKey,)
    settings = VaultSettings

    @asynccontextmanager
    async def connect(self, settings: VaultSettings, host: Host) -> AsyncIterator[str]:
        yield "shared"

    def client_as(self, client: str, credential: Credential) -> str:
        return credential.key


@pytest.fixture
def keys(tmp_path: Path) -> dict[str, str]:
    store = KeyStore(tmp_path)
    return {name: store.create(name, ["read"])[0] for name in ("maria", "sato")}


def safe_box(folder: Path, **environ: str) -> Toolbox:
    known = {"DOGUBAKO_DATA_DIR": str(folder), "DOGUBAKO_AUTH": "keys", "DOGUBAKO_CACHE": "memory"}
    return build(Sources(environ={**known, **environ}, env_file=None), packs=[SafePack()])


async def show(client: Client, **headers: str) -> Visit:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return await client.post(
        "/v1/tools/call", {"name": "show_key", "parameters": {}}, {"content-type": "application/json", **named}
    )


def stored(folder: Path, which: str, service: str, secret: str, *words: str) -> Any:
    environ = {"DOGUBAKO_DATA_DIR": str(folder)}
    command = ["keys", "credential", which, service, *words]
    # In a thread, because a command runs an event loop of its own.
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(CliRunner().invoke, app, command, input=f"{secret}\n", env=environ).result()


@pytest.mark.anyio
async def test_a_stored_credential_is_used_for_its_key_alone(tmp_path: Path, keys: dict[str, str]) -> None:
    done = stored(tmp_path, "maria", "safe", SECRET)
    assert done.exit_code == 0, done.output
    assert SECRET not in done.output

    async with opened(HttpApp(safe_box(tmp_path))) as client:
        for _ in range(2):
            assert (await show(client, x_api_key=keys["maria"])).json["result"]["data"]["length"] == len(SECRET)
            assert (await show(client, x_api_key=keys["sato"])).json["result"]["data"]["key"] == "shared"


@pytest.mark.anyio
async def test_an_answer_never_repeats_the_caller_s_own_key(tmp_path: Path, keys: dict[str, str]) -> None:
    stored(tmp_path, "maria", "safe", SECRET)
    async with opened(HttpApp(safe_box(tmp_path))) as client:
        assert SECRET not in (await show(client, x_api_key=keys["maria"])).body.decode()
        brought = "brought-by-the-request"
        answer = await show(client, x_api_key=keys["maria"], x_safe_key=brought)
        assert answer.json["result"]["data"] == {"length": len(brought), "key": "***"}


@pytest.mark.anyio
async def test_two_credentials_for_one_service_are_refused(tmp_path: Path, keys: dict[str, str]) -> None:
    async with opened(HttpApp(safe_box(tmp_path))) as client:
        headers = [(b"content-type", b"application/json"), (b"x-api-key", keys["sato"].encode())]
        both = [*headers, (b"x-safe-key", b"first-key"), (b"x-safe-key", b"second-key")]
        refused = await client.post("/v1/tools/call", {"name": "show_key", "parameters": {}}, both)
        assert (refused.status, refused.json["code"]) == (400, "VALIDATION_ERROR")


@pytest.mark.anyio
async def test_a_removed_or_revoked_credential_is_gone(tmp_path: Path, keys: dict[str, str]) -> None:
    stored(tmp_path, "maria", "safe", SECRET)
    assert stored(tmp_path, "maria", "safe", "", "--remove").exit_code == 0
    async with opened(HttpApp(safe_box(tmp_path))) as client:
        assert (await show(client, x_api_key=keys["maria"])).json["result"]["data"]["key"] == "shared"
    stored(tmp_path, "maria", "safe", SECRET)
    assert KeyStore(tmp_path).revoke("maria").credentials == {}


@pytest.mark.anyio
async def test_another_encryption_key_opens_nothing(tmp_path: Path, keys: dict[str, str]) -> None:
    stored(tmp_path, "maria", "safe", SECRET)
    box = safe_box(tmp_path, DOGUBAKO_CREDENTIALS_KEY="another key of at least 32 characters")
    async with opened(HttpApp(box)) as client:
        assert (await show(client, x_api_key=keys["maria"])).json["result"]["data"]["key"] == "shared"


def test_the_file_holds_no_secret_and_lists_where_there_is_one(tmp_path: Path, keys: dict[str, str]) -> None:
    stored(tmp_path, "maria", "safe", SECRET)
    content = (tmp_path / "keys.json").read_text()
    assert SECRET not in content
    listed = CliRunner().invoke(app, ["keys", "list", "--json"], env={"DOGUBAKO_DATA_DIR": str(tmp_path)})
    assert [one["credentials"] for one in json.loads(listed.output)] == [["safe"], []]
    assert (tmp_path / "credentials.key").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("which", "service", "secret"),
    [("nobody", "safe", SECRET), ("maria", "../x", SECRET), ("maria", "safe", ""), ("maria", "safe", "two words")],
    ids=["unknown key", "no service", "empty", "blank"],
)
def test_a_wrong_command_stores_nothing(
    tmp_path: Path, keys: dict[str, str], which: str, service: str, secret: str
) -> None:
    assert stored(tmp_path, which, service, secret).exit_code != 0
    assert all(key.credentials == {} for key in KeyStore(tmp_path).all())


def test_a_sealed_credential_opens_for_its_key_and_service_only() -> None:
    vault = CredentialVault(lambda: b"x" * 32)
    sealed = vault.seal("key-1", "redmine", Credential(key=SECRET))
    assert vault.open("key-1", "redmine", sealed) == Credential(key=SECRET)
    assert vault.open("key-2", "redmine", sealed) is None
    assert vault.open("key-1", "redmine.hq", sealed) is None
    assert vault.open("key-1", "redmine", sealed[:-6] + "AAAAA=") is None
    assert vault.open("key-1", "redmine", "not even base64 %%%") is None
    assert CredentialVault(lambda: b"y" * 32).open("key-1", "redmine", sealed) is None


def test_a_caller_does_not_show_its_credentials() -> None:
    caller = Caller(name="maria", id="1", credentials=(("redmine", Credential(key=SECRET)),))
    assert SECRET not in repr(caller)
