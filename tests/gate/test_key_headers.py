"""Credentials as they come: in two headers, twice, garbled, endless. Only a whole key opens."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dogubako.contract.errors import AuthenticationError
from dogubako.gate.api_keys import KeyStore
from dogubako.gate.authentication import KeyAuthentication, bearer_of

Headers = list[tuple[bytes, bytes]]

TAKEN = [
    pytest.param([(b"authorization", b"Bearer abc")], "abc", id="bearer"),
    pytest.param([(b"authorization", b"bEARER abc")], "abc", id="in any letters"),
    pytest.param([(b"authorization", b"  Bearer   abc  ")], "abc", id="blanks around it"),
    pytest.param([(b"x-api-key", b" abc ")], "abc", id="the other header"),
    pytest.param([(b"x-api-key", b"abc"), (b"authorization", b"Bearer abc")], "abc", id="the same twice"),
    pytest.param([(b"x-api-key", b"\xe9\xff")], "éÿ", id="no ASCII"),
    pytest.param([(b"x-api-key", b"a" * 8_192)], "a" * 8_192, id="as long as may be"),
    pytest.param([(b"authorization", b"Bearer")], "", id="a scheme alone"),
    pytest.param([(b"x-api-key", b"")], "", id="an empty header"),
    pytest.param([(b"cookie", b"key=abc"), (b"x-api-keys", b"abc")], None, id="other headers"),
    pytest.param([], None, id="none"),
]


@pytest.mark.parametrize(("headers", "token"), TAKEN)
def test_a_token_is_found_where_it_belongs(headers: Headers, token: str | None) -> None:
    assert bearer_of(headers) == token


_TWO = "The request brings two different credentials."
_SCHEME = "Only the scheme Bearer is understood here."

NOT_TAKEN = [
    pytest.param([(b"x-api-key", b"a"), (b"x-api-key", b"b")], _TWO, id="two keys"),
    pytest.param([(b"authorization", b"Bearer a"), (b"authorization", b"Bearer b")], _TWO, id="two tokens"),
    pytest.param([(b"authorization", b"Bearer a"), (b"x-api-key", b"b")], _TWO, id="one of each"),
    pytest.param([(b"authorization", b"Bearer a"), (b"x-api-key", b"")], _TWO, id="one of them empty"),
    pytest.param([(b"authorization", b"Basic YTpi")], _SCHEME, id="a password"),
    pytest.param([(b"authorization", b"abc")], _SCHEME, id="no scheme"),
    pytest.param([(b"authorization", b"")], _SCHEME, id="nothing"),
    pytest.param([(b"authorization", b"Bearer\tabc")], _SCHEME, id="a tab"),
    pytest.param([(b"authorization", b"Bearer a"), (b"authorization", b"Basic b")], _SCHEME, id="two schemes"),
    pytest.param([(b"x-api-key", b"a" * 8_193)], "The credentials are too long.", id="too long"),
    pytest.param([(b"authorization", b"Bearer " + b"a" * 100_000)], "The credentials are too long.", id="endless"),
]


@pytest.mark.parametrize(("headers", "message"), NOT_TAKEN)
def test_what_is_ambiguous_is_refused_and_not_repeated(headers: Headers, message: str) -> None:
    with pytest.raises(AuthenticationError) as raised:
        bearer_of(headers)

    assert raised.value.message == message


@pytest.fixture(scope="module")
def gate(tmp_path_factory: pytest.TempPathFactory) -> tuple[KeyAuthentication, str]:
    folder: Path = tmp_path_factory.mktemp("keys")
    secret, _ = KeyStore(folder).create("agent", ["admin"])
    return KeyAuthentication(KeyStore(folder)), secret


@given(data=st.data())
def test_no_mutated_key_gets_in(gate: tuple[KeyAuthentication, str], data: st.DataObject) -> None:
    authentication, secret = gate
    mutated = data.draw(_mutations(secret.encode()))

    if mutated.strip() == secret.encode():
        assert authentication.authenticate_cached([(b"x-api-key", mutated)]).name == "agent"
    else:
        with pytest.raises(AuthenticationError):
            authentication.authenticate_cached([(b"x-api-key", mutated)])


def _mutations(secret: bytes) -> st.SearchStrategy[bytes]:
    """Bytes changed, left out, doubled, moved and put around a real key."""
    place = st.integers(0, len(secret))
    piece = st.binary(max_size=3)
    cut = st.tuples(place, place).map(sorted)
    return st.one_of(
        st.builds(lambda at, new: secret[:at] + new + secret[at + 1 :], place, piece),
        st.builds(lambda at, new: secret[:at] + new + secret[at:], place, piece),
        cut.map(lambda ends: secret[: ends[0]] + secret[ends[1] :]),
        cut.map(lambda ends: secret[ends[0] : ends[1]]),
        cut.map(lambda ends: secret[ends[0] :] + secret[: ends[0]]),
        st.sampled_from([secret.upper(), secret.swapcase(), secret[::-1], secret * 2, secret + b"\0", b"dgb__"]),
        st.binary(max_size=80).map(lambda end: secret[:13] + end),
    )
