"""Addresses, keys and certificates as people write them into settings."""

import ssl
from pathlib import Path

import certifi
import pytest
from pydantic import SecretStr

from dogubako.outbound.service_settings import checked_address, checked_ca_bundle, checked_key, plain_text_warnings

EXAMPLE = "https://service.example.com"


@pytest.mark.parametrize(
    ("given", "used"),
    [
        pytest.param("https://service.test", "https://service.test", id="plain"),
        pytest.param(" https://service.test/ \n", "https://service.test", id="blanks and a slash around"),
        pytest.param("http://127.0.0.1:3000/redmine/", "http://127.0.0.1:3000/redmine", id="below a path"),
        pytest.param("http://[::1]:3000", "http://[::1]:3000", id="an address of six parts"),
        pytest.param("HTTPS://Service.Test", "HTTPS://Service.Test", id="capital letters"),
        pytest.param("", None, id="empty"),
        pytest.param("  ", None, id="blank"),
        pytest.param(None, None, id="none"),
    ],
)
def test_an_address_is_taken_without_what_surrounds_it(given: str | None, used: str | None) -> None:
    assert checked_address(given, EXAMPLE) == used


@pytest.mark.parametrize(
    "given",
    [
        pytest.param("service.test", id="no scheme"),
        pytest.param("ftp://service.test", id="another scheme"),
        pytest.param("https://", id="no host"),
        pytest.param("https://:80", id="only a port"),
        pytest.param("https://service.test:0", id="port zero"),
        pytest.param("https://service.test:99999", id="no such port"),
        pytest.param("https://service.test:x", id="a port that is no number"),
        pytest.param("https://[::1", id="half a bracket"),
        pytest.param("https://service test", id="a blank inside"),
        pytest.param("https://service.test/?key=1", id="a query"),
        pytest.param("https://service.test/#top", id="a fragment"),
        pytest.param("javascript:alert(1)", id="no address at all"),
    ],
)
def test_what_is_no_address_is_refused_with_an_example(given: str) -> None:
    with pytest.raises(ValueError, match=f"^must be an address like {EXAMPLE}$"):
        checked_address(given, EXAMPLE)


@pytest.mark.parametrize("given", ["https://me:hunter2@service.test", "https://me@service.test"])
def test_a_login_does_not_belong_into_an_address(given: str) -> None:
    with pytest.raises(ValueError, match=r"^must not hold a user name or password$"):
        checked_address(given, EXAMPLE)


@pytest.mark.parametrize(
    ("given", "used"),
    [
        pytest.param("abc", "abc", id="plain"),
        pytest.param(" a!~ \n", "a!~", id="blanks around"),
        pytest.param(" ", None, id="blank"),
        pytest.param(None, None, id="none"),
    ],
)
def test_a_key_is_taken_without_blanks_around(given: str | None, used: str | None) -> None:
    key = checked_key(None if given is None else SecretStr(given))

    assert (key.get_secret_value() if key else None) == used


@pytest.mark.parametrize("given", ["a b", "a\nb", "schlüssel", "a\x7f", "鍵"])
def test_a_key_that_no_header_can_carry_is_refused_and_not_repeated(given: str) -> None:
    with pytest.raises(ValueError, match="must consist of plain characters") as caught:
        checked_key(SecretStr(given))

    assert given not in str(caught.value)


def test_a_file_with_certificates_is_taken() -> None:
    bundle = Path(certifi.where())

    assert checked_ca_bundle(bundle) == bundle
    assert checked_ca_bundle(None) is None
    assert ssl.create_default_context(cafile=bundle).cert_store_stats()["x509"] > 0


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(None, "there is no such file", id="not there"),
        pytest.param("", "there is no certificate in it that can be read", id="empty"),
        pytest.param("no certificate", "there is no certificate in it that can be read", id="something else"),
    ],
)
def test_a_file_that_vouches_for_nothing_is_refused(tmp_path: Path, content: str | None, message: str) -> None:
    if content is not None:
        (tmp_path / "ca.pem").write_text(content)

    with pytest.raises(ValueError, match=f"^{message}$"):
        checked_ca_bundle(tmp_path / "ca.pem")


def test_a_folder_is_no_certificate(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"^there is no such file$"):
        checked_ca_bundle(tmp_path)


@pytest.mark.parametrize(
    ("url", "warned"),
    [
        pytest.param("https://service.test", False, id="encrypted"),
        pytest.param("http://localhost:3000", False, id="this machine by name"),
        pytest.param("http://127.0.0.1", False, id="this machine by number"),
        pytest.param("http://[::1]:3000", False, id="this machine by six parts"),
        pytest.param("http://service.test", True, id="another machine"),
        pytest.param("http://localhost.service.test", True, id="a name that begins like this machine"),
    ],
)
def test_an_unencrypted_way_over_the_network_is_worth_a_warning(url: str, warned: bool) -> None:
    findings = plain_text_warnings("redmine", url)

    assert bool(findings) is warned
    for finding in findings:
        assert (finding.ok, finding.severity, finding.subject) == (False, "warning", "redmine")
        assert finding.message == "REDMINE_URL is plain http: the API key crosses the network unencrypted."
