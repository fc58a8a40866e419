"""The gate's parsers take anything: they understand it, or refuse it in their own words."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from dogubako.contract.call import Caller, ToolCall
from dogubako.contract.errors import AuthenticationError
from dogubako.gate.api_keys import ApiKey, KeysError, KeyStore
from dogubako.gate.audit import AuditLog, read_line
from dogubako.gate.authentication import bearer_of
from dogubako.gate.scopes import is_scope, known_scopes

from .sheds import log_in

names = st.sampled_from([b"authorization", b"x-api-key", b"host", b"cookie"]) | st.binary(max_size=20)
values = st.binary(max_size=100) | st.binary(max_size=60).map(lambda token: b"Bearer " + token)
json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(exclude_categories=[])),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)


@given(st.lists(st.tuples(names, values), max_size=5))
def test_any_headers_bring_a_credential_or_none_or_are_refused(headers: list[tuple[bytes, bytes]]) -> None:
    try:
        token = bearer_of(headers)
    except AuthenticationError as error:
        assert not any(value and value.decode("latin-1") in error.message for _, value in headers if len(value) > 8)
    else:
        assert token is None or any(token.encode("latin-1") in value for _, value in headers)


@given(st.text(max_size=200) | st.from_regex(r"[a-z]{1,9}:[a-z*?]{1,9}"))
def test_a_scope_is_one_word_of_few_characters(text: str) -> None:
    assert known_scopes([text]) == (frozenset({text}) if is_scope(text) else frozenset())
    assert not is_scope(text) or (text.isascii() and text.isprintable() and " " not in text)


@given(st.text(st.sampled_from("abc_-:*?dgb019 "), max_size=120) | st.text(max_size=120))
def test_nothing_but_a_key_is_a_key(secret: str) -> None:
    with TemporaryDirectory() as folder:
        KeyStore(Path(folder)).create("ann", ["read"])

        assert KeyStore(Path(folder)).find(secret) is None


@given(st.binary(max_size=300) | json_values.map(lambda value: repr(value).encode("utf-8", "replace")))
def test_a_file_of_keys_is_read_or_refused_in_one_sentence(content: bytes) -> None:
    with TemporaryDirectory() as folder:
        (Path(folder) / "keys.json").write_bytes(content)
        try:
            found = KeyStore(Path(folder)).find("dgb_00000000_x")
        except KeysError as error:
            assert error.message.startswith(f"{Path(folder) / 'keys.json'} ") and "\n" not in error.message
        else:
            assert found is None and isinstance(msgspec.json.decode(content), list)


@given(st.datetimes(timezones=st.just(UTC)) | st.none(), st.datetimes(timezones=st.just(UTC)) | st.none())
def test_a_key_is_active_only_before_its_end(expires: datetime | None, revoked: datetime | None) -> None:
    now = datetime(2026, 11, 16, tzinfo=UTC)
    key = ApiKey(id="1", name="a", hash="h", scopes=(), created=now, expires=expires, revoked=revoked)
    ended = revoked is not None or (expires is not None and expires <= now)

    assert (key.state(now) == "active") is not ended
    assert key.state(now + timedelta(days=1)) != "active" or key.state(now) == "active"


@given(st.binary(max_size=400))
def test_any_line_of_the_log_is_read_or_left_out(raw: bytes) -> None:
    line = read_line(raw)

    assert line is None or read_line(line.encoded()) == line


@given(
    st.text(st.characters(exclude_categories=[]), max_size=100),
    st.dictionaries(st.text(st.characters(exclude_categories=[]), max_size=100), json_values, max_size=5),
    st.text(st.characters(exclude_categories=[]), max_size=300),
)
def test_every_call_makes_one_line_that_can_be_read_again(name: str, parameters: dict[str, Any], caller: str) -> None:
    with TemporaryDirectory() as folder:
        audit = AuditLog(Path(folder))
        call = ToolCall(name=name, parameters=parameters, caller=Caller(name=caller))
        audit.record(call, "OK", 1.5)
        audit.close()
        [raw] = log_in(Path(folder)).read_bytes().splitlines()

    line = read_line(raw)
    assert line is not None and (line.code, line.ms, line.call_id) == ("OK", 1.5, call.id)
    assert len(line.arguments) == len(parameters)
