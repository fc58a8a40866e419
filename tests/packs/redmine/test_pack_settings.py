"""Settings of the pack: what is refused at the start, what is missing, and what `doctor` and `/readyz` say."""

from pathlib import Path
from typing import Final

import httpx2
import pytest
from structlog.testing import capture_logs

from dogubako.app import Toolbox, build
from dogubako.contract.errors import DogubakoError
from dogubako.contract.pack import HealthCheck
from dogubako.packs.redmine.tools import TOOLS
from dogubako.settings import SettingsError, Sources
from dogubako.transports.http.app import HttpApp
from tests.doors.asgi import opened

from .made import answered
from .wired import KEYS, Answers, Wire, bench, box_on

FORM: Final = "REDMINE_URL: must be an address like https://redmine.example.com"
KEY: Final = "k" * 40
SECURE: Final = "https://redmine.test"


def box_with(**environ: str) -> Toolbox:
    return build(Sources(environ=environ, env_file=None))


@pytest.mark.parametrize(
    ("given", "used"),
    [
        pytest.param("https://redmine.test", "https://redmine.test", id="plain"),
        pytest.param(" https://redmine.test/ ", "https://redmine.test", id="blanks and a slash around"),
        pytest.param("https://redmine.test/redmine/", "https://redmine.test/redmine", id="below a path"),
    ],
)
def test_an_address_is_taken_without_what_surrounds_it(given: str, used: str) -> None:
    assert box_with(REDMINE_URL=given, REDMINE_API_KEY=KEY).packs["redmine"].settings.model_dump()["url"] == used


@pytest.mark.parametrize(
    ("environ", "message"),
    [
        pytest.param({"REDMINE_URL": "redmine.test"}, FORM, id="no scheme"),
        pytest.param({"REDMINE_URL": "https://redmine.test/?key=1"}, FORM, id="a query"),
        pytest.param(
            {"REDMINE_URL": "https://me:hunter2@redmine.test"},
            "REDMINE_URL: must not hold a user name or password",
            id="a login",
        ),
        pytest.param(
            {"REDMINE_API_KEY": "hunter2 ü"}, "REDMINE_API_KEY: must consist of plain characters", id="an odd key"
        ),
        pytest.param({"REDMINE_FORMAT": "yaml"}, "REDMINE_FORMAT", id="another format"),
        pytest.param({"REDMINE_CA_BUNDLE": "/no/such/file"}, "REDMINE_CA_BUNDLE: there is no such file", id="no file"),
    ],
)
def test_a_wrong_setting_stops_the_start_and_is_not_repeated(environ: dict[str, str], message: str) -> None:
    with pytest.raises(SettingsError) as caught:
        box_with(**{"REDMINE_URL": SECURE, "REDMINE_API_KEY": KEY, **environ})

    assert message in str(caught.value)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("environ", "reason"),
    [
        pytest.param({}, "Redmine is not configured. Set REDMINE_URL.", id="nothing"),
        pytest.param({"REDMINE_URL": " "}, "Redmine is not configured. Set REDMINE_URL.", id="an empty address"),
        pytest.param({"REDMINE_URL": SECURE}, "Redmine needs an API key. Set REDMINE_API_KEY.", id="only an address"),
        pytest.param(
            {"REDMINE_URL": SECURE, "REDMINE_API_KEY": " "},
            "Redmine needs an API key. Set REDMINE_API_KEY.",
            id="an empty key",
        ),
    ],
)
async def test_without_settings_the_tools_are_shown_and_say_what_is_missing(
    environ: dict[str, str], reason: str
) -> None:
    box = box_with(**environ)
    async with box.running():
        result = await box.call("show_issue", {"id": 1})
        findings = await box.check()

    assert (result.code, result.content[0]["text"]) == ("TOOL_DISABLED", "Tool is disabled: show_issue")
    assert reason in str(result.content[1]["text"])
    entries = [entry for entry in box.registry.list() if entry.pack == "redmine"]
    assert len(entries) == len(TOOLS)
    assert not any(entry.enabled for entry in entries)
    assert [f"{one.message} {one.advice}" for one in findings if one.subject == "redmine"] == [reason]


@pytest.mark.parametrize(
    ("environ", "real"),
    [
        pytest.param({}, False, id="nothing is configured"),
        pytest.param({"REDMINE_URL": SECURE, "REDMINE_API_KEY": KEY}, True, id="a real one is configured"),
    ],
)
def test_the_sandbox_stands_in_only_where_nothing_is_configured(environ: dict[str, str], real: bool) -> None:
    state = box_with(DOGUBAKO_SANDBOX="true", **environ).packs["redmine"]

    assert state.unconfigured is None
    assert (state.sandbox is None) is real


async def test_the_sandbox_needs_no_settings_at_all(tmp_path: Path) -> None:
    async with box_with(DOGUBAKO_SANDBOX="true", DOGUBAKO_DATA_DIR=str(tmp_path)).running() as box:
        result = await box.call("show_current_user", {})

    assert "<login>admin</login>" in str(result.content[0]["text"])


async def findings_of(
    folder: Path, user: str = "admin", answers: Answers | None = None, url: str = SECURE
) -> list[HealthCheck]:
    async with bench(folder, user, answers, REDMINE_URL=url) as redmine:
        return [one for one in await redmine.box.check() if one.subject == "redmine"]


@pytest.mark.parametrize(
    ("user", "said"),
    [
        pytest.param("admin", "the key is that of user 'admin', an administrator.", id="an administrator"),
        pytest.param("dev", "the key is that of user 'dev', no administrator.", id="somebody else"),
    ],
)
async def test_doctor_says_whose_key_it_is(tmp_path: Path, user: str, said: str) -> None:
    [finding] = await findings_of(tmp_path, user)

    assert finding.ok
    assert finding.message == f"Redmine answers at https://redmine.test, {said}"
    assert KEYS[user] not in str(finding)


async def test_doctor_warns_of_an_unencrypted_way(tmp_path: Path) -> None:
    warning, good = await findings_of(tmp_path, url="http://redmine.test")

    assert (warning.ok, warning.severity, warning.advice) == (False, "warning", "Use https.")
    assert good.ok


async def test_an_unencrypted_way_is_logged_at_the_start(tmp_path: Path) -> None:
    with capture_logs() as logs:
        async with bench(tmp_path, REDMINE_URL="http://redmine.test"):
            pass

    assert "REDMINE_URL is plain http: the API key crosses the network unencrypted." in [one["event"] for one in logs]


@pytest.mark.parametrize(
    ("answer", "message", "advice"),
    [
        pytest.param(
            answered(401),
            "Failed to check the API key: Redmine does not accept the API key",
            "REDMINE_API_KEY",
            id="a wrong key",
        ),
        pytest.param(
            answered(403), "Failed to check the API key: Redmine does not let its API be used", "REST API", id="no API"
        ),
        pytest.param(
            answered(404),
            "Failed to check the API key: there is no Redmine at this address",
            "REDMINE_URL",
            id="something else",
        ),
        pytest.param(
            httpx2.Response(200, html="<html>Log in</html>"),
            "Failed to check the API key: Redmine answered with a page instead of data",
            "REDMINE_URL",
            id="a page",
        ),
        pytest.param(
            answered(200, {"users": []}),
            "Failed to check the API key: Redmine's answer was empty or incomplete",
            "Try again",
            id="another answer",
        ),
        pytest.param(
            answered(302, location="https://login.test/"),
            "Network error: Redmine sent us to another page",
            "login page",
            id="a login page",
        ),
        pytest.param(
            answered(503), "Failed to check the API key: Redmine answered with status 503", "later", id="not now"
        ),
    ],
)
async def test_doctor_says_what_is_wrong_and_what_to_do(
    tmp_path: Path, answer: httpx2.Response, message: str, advice: str
) -> None:
    [finding] = await findings_of(tmp_path, answers=lambda _: answer)

    assert (finding.ok, finding.severity, finding.message) == (False, "error", message)
    assert advice in str(finding.advice)


async def test_doctor_asks_anew_every_time(tmp_path: Path) -> None:
    async with bench(tmp_path, REDMINE_URL=SECURE) as redmine:
        assert [one.ok for one in await redmine.box.check() if one.subject == "redmine"] == [True]
        token = redmine.wire.store["tokens"].first(value=KEYS["admin"])
        assert token is not None
        redmine.wire.store["tokens"].remove(token)

        assert [one.ok for one in await redmine.box.check() if one.subject == "redmine"] == [False]


@pytest.mark.parametrize(
    ("user", "status"), [pytest.param("dev", 200, id="good"), pytest.param("locked", 503, id="a locked user")]
)
async def test_readiness_asks_redmine(tmp_path: Path, user: str, status: int) -> None:
    async with opened(HttpApp(box_on(Wire(), tmp_path, user, REDMINE_URL=SECURE))) as client:
        visit = await client.get("/readyz")

    assert visit.status == status
    assert "redmine" in {check["subject"] for check in visit.json["checks"]}
    assert KEYS[user] not in visit.body.decode()


async def test_a_redmine_that_is_away_does_not_keep_the_server_from_starting(tmp_path: Path) -> None:
    def away(_: httpx2.Request) -> httpx2.Response | None:
        raise httpx2.ConnectError("refused")

    async with bench(tmp_path, answers=away) as redmine:
        result = await redmine.call("list_issues")

    assert isinstance(result.error, DogubakoError)
    assert result.error.message == "Network error: Redmine could not be reached"


RULES = "Subjects begin with the module. Texts are Textile."


async def test_house_rules_reach_the_model(tmp_path: Path) -> None:
    """In the instructions of the server, in prompts, and beside the user."""
    async with bench(tmp_path, REDMINE_RULES=RULES) as redmine:
        shown = await redmine.data("show_current_user")
        _, messages = await redmine.box.render("weekly_report", {"project": "webshop"})
        told = redmine.box.pack_instructions

    assert shown["user"]["house_rules"] == RULES
    assert shown["user"]["markup"] == "textile"
    assert RULES in str(messages)
    assert told == f"House rules of Redmine: {RULES}"


async def test_without_house_rules_nothing_is_said_of_them(tmp_path: Path) -> None:
    async with bench(tmp_path) as redmine:
        shown = await redmine.data("show_current_user")

        assert redmine.box.pack_instructions == ""
    assert "house_rules" not in shown["user"]
