"""What a token calls its caller: somebody, in words that every log and every answer can carry."""

import pytest

from .authorization_server import AuthorizationServer
from .token_gate import taking_tokens, verdict

_NOBODY = "The access token names nobody."

NOBODY = [
    pytest.param("", id="nothing"),
    pytest.param("   ", id="blanks"),
    pytest.param("\t\n", id="blanks that are no spaces"),
    pytest.param("anonymous", id="the name of those who need no token"),
    pytest.param("Anonymous ", id="nearly that name"),
]


@pytest.mark.parametrize("subject", NOBODY)
async def test_a_token_that_names_nobody_is_refused(subject: str) -> None:
    server = AuthorizationServer()
    async with taking_tokens(server) as gate:
        assert await verdict(gate, server.token(sub=subject)) == _NOBODY


PLAIN = [
    pytest.param("248289761001", id="digits"),
    pytest.param("auth0|5f7c8ec7c33c6c004bbafe82", id="a bar"),
    pytest.param("ann@tools.example", id="an address"),
    pytest.param("system:serviceaccount:prod:agent", id="colons"),
    pytest.param("山田 太郎", id="Japanese"),
    pytest.param("a" * 200, id="as long as may be"),
]


@pytest.mark.parametrize("subject", PLAIN)
async def test_a_plain_name_stays_as_it_is(subject: str) -> None:
    server = AuthorizationServer()
    async with taking_tokens(server) as gate:
        assert await verdict(gate, server.token(sub=subject)) == subject


ODD = [
    pytest.param("\ud800", id="half a character"),
    pytest.param("\ud800" * 201, id="many halves"),
    pytest.param("\udfff\ud800" * 200, id="halves in the wrong order"),
    pytest.param("ann\n08:00:00 INFO forged line", id="a second line"),
    pytest.param("ann\x1b]0;pwned\x07", id="orders to a terminal"),
    pytest.param("ann\u202enna", id="written backwards"),
    pytest.param("ann\x00", id="an end in the middle"),
    pytest.param("a" * 201, id="too long"),
]


@pytest.mark.parametrize("subject", ODD)
async def test_an_odd_name_becomes_one_that_can_be_printed_and_stays_one_caller(subject: str) -> None:
    server = AuthorizationServer()
    async with taking_tokens(server) as gate:
        name, again, other = [
            await verdict(gate, server.token(sub=one, jti=str(number)))
            for number, one in enumerate((subject, subject, subject + "x"))
        ]

    assert name.isprintable() and 0 < len(name) <= 200
    assert name == again and name != other
    assert not {name, other} & {"The access token is not valid.", _NOBODY}
