"""Is a deletion meant? The user is asked where the client can ask; nothing runs before a clear yes."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.doors.answers import Answer
from tests.doors.processes import serving

from .sheds import SHED
from .users import User, over_http, over_stdio

Url = Callable[[str], str]

FORESEEN = "Three rakes and a spade would be gone."
YES = {"confirm": True}

both_eras = pytest.mark.parametrize("era", ["2025", "2026"])
given_or_not = pytest.mark.parametrize("given", [{}, {"confirm": True}, {"confirm": False}], ids=["", "true", "false"])
passed_on_or_not = pytest.mark.parametrize("passed_on", [False, True], ids=["direct", "call_tool"])


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Url]:
    """The address of a server with this policy; each is started when it is first needed."""
    with ExitStack() as stack:
        started: dict[str, str] = {}

        def address(policy: str) -> str:
            if policy not in started:
                folder, settings = tmp_path_factory.mktemp(policy), {"DOGUBAKO_CONFIRM": policy}
                started[policy] = stack.enter_context(serving(SHED, folder=folder, settings=settings)).url()
            return started[policy]

        yield address


async def wipe(
    address: str, era: str, user: User | None, marker: Path, *, given: dict[str, Any], passed_on: bool = False
) -> Answer:
    arguments = {"marker": str(marker), **given}
    name = "call_tool" if passed_on else "wipe"
    async with over_http(address, era, user) as client:
        return await client.call(name, {"name": "wipe", "arguments": arguments} if passed_on else arguments)


@both_eras
@given_or_not
@passed_on_or_not
async def test_a_yes_of_the_user_lets_it_run(
    url: Url, tmp_path: Path, era: str, given: dict[str, Any], passed_on: bool
) -> None:
    marker = tmp_path / "marker"
    seen_before: list[bool] = []
    user = User(content=YES, watch=lambda: seen_before.append(marker.exists()))
    answer = await wipe(url("ask"), era, user, marker, given=given, passed_on=passed_on)

    assert (answer.code, answer.text, marker.read_text()) == ("OK", "empty", "wiped")
    assert user.questions == [f"{FORESEEN} Go on?"]
    assert seen_before == [False]


NOT_A_YES = [
    pytest.param("decline", None, id="declined"),
    pytest.param("cancel", None, id="closed the window"),
    pytest.param("accept", {"confirm": False}, id="accepted with the box empty"),
    pytest.param("accept", {}, id="accepted without a word"),
    pytest.param("accept", {"other": True}, id="accepted something else"),
    pytest.param("decline", {"confirm": True}, id="declined with the box ticked"),
]


@both_eras
@given_or_not
@passed_on_or_not
@pytest.mark.parametrize(("action", "content"), NOT_A_YES)
async def test_anything_else_of_the_user_is_a_no(
    url: Url, tmp_path: Path, era: str, given: dict[str, Any], passed_on: bool, action: str, content: Any
) -> None:
    user = User(action=action, content=content)
    answer = await wipe(url("ask"), era, user, tmp_path / "marker", given=given, passed_on=passed_on)

    assert not (tmp_path / "marker").exists()
    assert len(user.questions) == 1
    assert (answer.code, answer.is_error) == ("CONFIRMATION_REQUIRED", True)
    assert answer.text == f"{FORESEEN} The user did not agree; nothing was done."
    assert answer.facts["hint"] == "Do not try again unless the user asks for it."


@both_eras
@given_or_not
@pytest.mark.parametrize("content", [{"confirm": "yes"}, {"confirm": 1}], ids=["a word", "a number"])
async def test_an_answer_that_does_not_fit_is_asked_for_again_and_never_a_yes(
    url: Url, tmp_path: Path, era: str, given: dict[str, Any], content: dict[str, Any]
) -> None:
    user = User(content=content)
    answer = await wipe(url("ask"), era, user, tmp_path / "marker", given=given)

    assert not (tmp_path / "marker").exists()
    assert len(user.questions) > 1 and answer.is_error
    assert answer.code in ("CAPABILITY_REQUIRED", "GAVE_UP")


@both_eras
@passed_on_or_not
@pytest.mark.parametrize("policy", ["ask", "argument"])
async def test_without_a_user_the_argument_decides(
    url: Url, tmp_path: Path, era: str, passed_on: bool, policy: str
) -> None:
    marker = tmp_path / "marker"
    refused = [
        await wipe(url(policy), era, None, marker, given=given, passed_on=passed_on)
        for given in ({}, {"confirm": False})
    ]
    assert not marker.exists()
    done = await wipe(url(policy), era, None, marker, given={"confirm": True}, passed_on=passed_on)

    for answer in refused:
        assert (answer.code, answer.text) == ("CONFIRMATION_REQUIRED", FORESEEN)
        assert answer.facts["hint"] == "Call again with confirm: true to go on."
    assert (done.code, marker.read_text()) == ("OK", "wiped")


@both_eras
@passed_on_or_not
async def test_where_the_argument_decides_no_user_is_asked(url: Url, tmp_path: Path, era: str, passed_on: bool) -> None:
    user, marker = User(content=YES), tmp_path / "marker"
    refused = await wipe(url("argument"), era, user, marker, given={}, passed_on=passed_on)
    assert not marker.exists()
    done = await wipe(url("argument"), era, user, marker, given={"confirm": True}, passed_on=passed_on)

    assert (refused.code, done.code, user.questions) == ("CONFIRMATION_REQUIRED", "OK", [])


@both_eras
@passed_on_or_not
@given_or_not
@pytest.mark.parametrize("asked", [True, False])
async def test_where_it_is_denied_nothing_helps(
    url: Url, tmp_path: Path, era: str, passed_on: bool, given: dict[str, Any], asked: bool
) -> None:
    user = User(content=YES)
    answer = await wipe(
        url("deny"), era, user if asked else None, tmp_path / "marker", given=given, passed_on=passed_on
    )

    assert not (tmp_path / "marker").exists()
    assert (answer.code, user.questions) == ("READ_ONLY", [])
    assert answer.text == "Destructive tools are switched off on this server: wipe was not run."


@pytest.mark.slow
@both_eras
@pytest.mark.parametrize("agrees", [True, False])
async def test_over_stdio_the_user_is_asked_too(tmp_path: Path, era: str, agrees: bool) -> None:
    user, marker = User(content={"confirm": agrees}), tmp_path / "marker"
    async with over_stdio(tmp_path, era, user) as client:
        looked = await client.call("look", {"text": "the short way is open"})
        answer = await client.call("wipe", {"marker": str(marker), "confirm": True})

    assert looked.code == "OK" and user.questions == [f"{FORESEEN} Go on?"]
    assert (answer.code, marker.exists()) == (("OK", True) if agrees else ("CONFIRMATION_REQUIRED", False))
