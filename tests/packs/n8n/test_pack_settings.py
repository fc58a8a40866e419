"""Where n8n is: the forms of its settings, what `doctor` and `/readyz` say, and what happens without them."""

from pathlib import Path
from typing import Final

import httpx2
import pytest

from dogubako.app import Toolbox, build
from dogubako.contract.pack import HealthCheck
from dogubako.settings import SettingsError, Sources
from dogubako.transports.http.app import HttpApp
from dogubako_sandbox.n8n.app import NO_SCOPE_KEY, SANDBOX_KEY
from tests.doors.asgi import opened

from .wired import Answers, Wire, bench, box_on, told

FORM: Final = "N8N_URL: must be an address like https://n8n.example.com"
SCOPES_TO_WRITE: Final = "workflow:update, workflow:activate, execution:list, execution:read, execution:retry"


def box_with(**environ: str) -> Toolbox:
    return build(Sources(environ=environ, env_file=None))


@pytest.mark.parametrize(
    ("given", "used"),
    [
        pytest.param("https://n8n.example.com", "https://n8n.example.com", id="plain"),
        pytest.param("https://n8n.example.com/", "https://n8n.example.com", id="with a slash"),
        pytest.param("  https://n8n.example.com\n", "https://n8n.example.com", id="with white space"),
        pytest.param("https://n8n.example.com/api/v1", "https://n8n.example.com", id="of the API"),
        pytest.param("https://n8n.example.com/api/v1/", "https://n8n.example.com", id="of the API, with a slash"),
        pytest.param("https://example.com/n8n/", "https://example.com/n8n", id="below a path"),
        pytest.param("http://[::1]:5678", "http://[::1]:5678", id="IPv6"),
        pytest.param("HTTPS://N8N.example.com", "HTTPS://N8N.example.com", id="capitals"),
    ],
)
async def test_an_address_may_be_written_in_several_ways(given: str, used: str) -> None:
    box = box_with(N8N_URL=given, N8N_API_KEY="key")

    assert box.packs["n8n"].settings.model_dump()["url"] == used
    async with box.running():
        assert box.packs["n8n"].client is not None


@pytest.mark.parametrize(
    ("given", "message"),
    [
        pytest.param("n8n.example.com", FORM, id="no scheme"),
        pytest.param("ftp://n8n.example.com", FORM, id="another scheme"),
        pytest.param("https://", FORM, id="no host"),
        pytest.param("https://n8n.example.com:99999", FORM, id="no such port"),
        pytest.param("https://n8n.example.com:x", FORM, id="a port that is no number"),
        pytest.param("https://n8n example.com", FORM, id="a space inside"),
        pytest.param("https://n8n.example.com/?x=1", FORM, id="a query"),
        pytest.param("https://n8n.example.com/#home", FORM, id="a fragment"),
        pytest.param(
            "https://me:hunter2@n8n.example.com", "N8N_URL: must not hold a user name or password", id="login"
        ),
    ],
)
def test_what_is_no_address_stops_the_start_and_is_not_shown(given: str, message: str) -> None:
    with pytest.raises(SettingsError) as caught:
        box_with(N8N_URL=given, N8N_API_KEY="key")

    assert message in str(caught.value)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(None, "N8N_CA_BUNDLE: there is no such file", id="not there"),
        pytest.param(
            "not a certificate", "N8N_CA_BUNDLE: there is no certificate in it that can be read", id="something else"
        ),
    ],
)
def test_a_file_that_vouches_for_nothing_stops_the_start(tmp_path: Path, content: str | None, message: str) -> None:
    if content is not None:
        (tmp_path / "ca.pem").write_text(content)

    with pytest.raises(SettingsError, match=message):
        box_with(N8N_URL="https://n8n.example.com", N8N_API_KEY="key", N8N_CA_BUNDLE=str(tmp_path / "ca.pem"))


@pytest.mark.parametrize("key", ["schlüssel", "a\nb", "a b"])
def test_a_key_that_no_header_can_carry_stops_the_start(key: str) -> None:
    with pytest.raises(SettingsError, match="N8N_API_KEY: must consist of plain characters") as caught:
        box_with(N8N_URL="https://n8n.example.com", N8N_API_KEY=key)

    assert key not in str(caught.value)


async def test_white_space_around_the_key_is_not_sent(tmp_path: Path) -> None:
    async with bench(tmp_path, N8N_API_KEY=f" {SANDBOX_KEY}\n") as n8n:
        await n8n.data("list_tags")

        assert n8n.wire.requests[0].headers["x-n8n-api-key"] == SANDBOX_KEY


@pytest.mark.parametrize(
    ("environ", "reason"),
    [
        pytest.param({}, "n8n is not configured. Set N8N_URL.", id="nothing"),
        pytest.param({"N8N_URL": ""}, "n8n is not configured. Set N8N_URL.", id="an empty address"),
        pytest.param(
            {"N8N_URL": "https://n8n.example.com"}, "n8n needs an API key. Set N8N_API_KEY.", id="only an address"
        ),
        pytest.param(
            {"N8N_URL": "https://n8n.example.com", "N8N_API_KEY": " "},
            "n8n needs an API key. Set N8N_API_KEY.",
            id="an empty key",
        ),
    ],
)
async def test_without_settings_the_tools_are_shown_and_say_what_is_missing(
    environ: dict[str, str], reason: str
) -> None:
    box = box_with(**environ)
    async with box.running():
        result = await box.call("get_execution", {"id": "3"})
        findings = await box.check()

    assert told(result) == ("TOOL_DISABLED", "Tool is disabled: get_execution")
    assert reason in str(result.content[1]["text"])
    entries = [entry for entry in box.registry.list() if entry.pack == "n8n"]
    assert len(entries) > 20
    assert not any(entry.enabled for entry in entries)
    assert [f"{one.message} {one.advice}" for one in findings if one.subject == "n8n"] == [reason]
    assert all(one.ok or one.severity == "warning" for one in findings), "a pack that nobody wants is no fault"


@pytest.mark.parametrize(
    ("environ", "real"),
    [
        pytest.param({}, False, id="nothing is configured"),
        pytest.param({"N8N_URL": "https://n8n.example.com", "N8N_API_KEY": "k"}, True, id="a real one is configured"),
    ],
)
def test_the_sandbox_stands_in_only_where_nothing_is_configured(environ: dict[str, str], real: bool) -> None:
    state = box_with(DOGUBAKO_SANDBOX="true", **environ).packs["n8n"]

    assert state.unconfigured is None
    assert (state.sandbox is None) is real


async def findings_of(folder: Path, answers: Answers | None = None, **environ: str) -> list[HealthCheck]:
    async with bench(folder, answers, **environ) as n8n:
        return [one for one in await n8n.box.check() if one.subject == "n8n"]


async def test_a_good_server_is_told_with_its_version(tmp_path: Path) -> None:
    [finding] = await findings_of(tmp_path, N8N_URL="https://n8n.test")

    assert finding.ok
    assert finding.message == "n8n 2.41.1 answers at https://n8n.test, the key is valid."


@pytest.mark.parametrize("url", ["http://localhost:5678", "http://127.0.0.1:5678", "http://[::1]:5678"])
async def test_plain_http_to_this_machine_is_fine(tmp_path: Path, url: str) -> None:
    assert [one.ok for one in await findings_of(tmp_path, N8N_URL=url)] == [True]


async def test_plain_http_over_the_network_is_a_warning(tmp_path: Path) -> None:
    warning, good = await findings_of(tmp_path, N8N_URL="http://n8n.test")

    assert (warning.ok, warning.severity, warning.advice) == (False, "warning", "Use https.")
    assert warning.message == "N8N_URL is plain http: the API key crosses the network unencrypted."
    assert good.ok


async def test_a_wrong_key_is_an_error_with_advice(tmp_path: Path) -> None:
    [finding] = await findings_of(tmp_path, N8N_URL="https://n8n.test", N8N_API_KEY="wrong-key")

    assert (finding.ok, finding.severity) == (False, "error")
    assert finding.message == "Failed to list workflows: Unauthorized"
    assert finding.advice is not None
    assert "N8N_API_KEY" in finding.advice
    assert "wrong-key" not in str(finding)


async def test_scopes_that_a_key_lacks_are_listed(tmp_path: Path) -> None:
    good, lacking = await findings_of(tmp_path, N8N_URL="https://n8n.test", N8N_API_KEY=NO_SCOPE_KEY)

    assert good.ok
    assert (lacking.ok, lacking.severity) == (False, "warning")
    assert lacking.message == f"The API key lacks {SCOPES_TO_WRITE}, tag:list, credential:list."


@pytest.mark.parametrize(
    "editor",
    [
        pytest.param(httpx2.Response(200, html="<html></html>"), id="a page without it"),
        pytest.param(httpx2.Response(302, headers={"location": "/signin"}), id="a login page"),
        pytest.param(
            httpx2.Response(200, html='<meta name="n8n:config:sentry" content="eyJyZWxlYXNlIjo1fQ==">'), id="a number"
        ),
        pytest.param(httpx2.Response(200, html='<meta name="n8n:config:sentry" content="AAAA">'), id="rubbish"),
    ],
)
async def test_a_server_that_hides_its_version_is_a_good_one_too(tmp_path: Path, editor: httpx2.Response) -> None:
    def answer(request: httpx2.Request) -> httpx2.Response | None:
        return editor if request.url.path == "/" else None

    [finding] = await findings_of(tmp_path, answer, N8N_URL="https://n8n.test")

    assert finding.ok
    assert finding.message == "n8n of an unknown version answers at https://n8n.test, the key is valid."


async def test_older_versions_do_not_tell_what_a_key_may_do(tmp_path: Path) -> None:
    def answer(request: httpx2.Request) -> httpx2.Response | None:
        return httpx2.Response(404, json={"message": "not found"}) if request.url.path.endswith("discover") else None

    assert [one.ok for one in await findings_of(tmp_path, answer, N8N_URL="https://n8n.test")] == [True]


@pytest.mark.parametrize(
    ("key", "status", "ready"),
    [
        pytest.param(SANDBOX_KEY, 200, True, id="good"),
        pytest.param(NO_SCOPE_KEY, 200, True, id="a warning is no fault"),
        pytest.param("wrong-key", 503, False, id="wrong key"),
    ],
)
async def test_readiness_asks_n8n(tmp_path: Path, key: str, status: int, ready: bool) -> None:
    async with opened(HttpApp(box_on(Wire(), tmp_path, {"N8N_API_KEY": key}))) as client:
        visit = await client.get("/readyz")

    assert (visit.status, visit.json["ready"]) == (status, ready)
    assert "n8n" in {check["subject"] for check in visit.json["checks"]}
    assert "wrong-key" not in visit.body.decode()
