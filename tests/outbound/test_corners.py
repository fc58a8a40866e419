"""Just inside and just outside of what is taken from settings and services."""

import gzip

import pytest

from dogubako.outbound.bounds import MEGABYTE, Bound, unpack
from dogubako.outbound.service_settings import checked_address

EXAMPLE = "https://service.example.com"


@pytest.mark.parametrize(
    "given",
    [
        pytest.param("http://somebody@n8n.test", id="a name"),
        pytest.param("http://:secret@n8n.test", id="a password of nobody"),
        pytest.param("http://somebody:secret@n8n.test", id="both"),
    ],
)
def test_neither_half_of_a_login_belongs_into_an_address(given: str) -> None:
    with pytest.raises(ValueError, match=r"^must not hold a user name or password$"):
        checked_address(given, EXAMPLE)


@pytest.mark.parametrize(
    ("values", "allowed"),
    [
        pytest.param(99, True, id="fewer"),
        pytest.param(100, True, id="as many as may be"),
        pytest.param(101, False, id="one too many"),
    ],
)
@pytest.mark.parametrize("padding", [b"", b" \n"], ids=["at once", "after blanks"])
def test_values_are_counted_to_the_last_one(values: int, allowed: bool, padding: bytes) -> None:
    body = padding + b"[" + b"0," * (values - 1) + b'"' + b"x" * MEGABYTE + b'"]'

    assert Bound(most_bytes=2 * MEGABYTE, most_values=100).allows_values_of(body) is allowed


def test_what_is_called_by_a_name_that_we_do_not_know_is_not_unpacked_whatever_it_is() -> None:
    with pytest.raises(ValueError, match="unknown encoding br"):
        unpack([gzip.compress(b"{}")], "br", Bound(most_bytes=100))


@pytest.mark.parametrize("encoding", ["gzip", "br", ""])
def test_nothing_is_nothing_in_every_packing(encoding: str) -> None:
    assert unpack([], encoding, Bound(most_bytes=100)) == (b"", None)
