"""Settings that would open the gate to anybody, or that no request could ever meet, stop the start."""

import pytest

from dogubako.settings import Settings, SettingsError, Sources

TOKENS = {"DOGUBAKO_AUTH": "oauth", "DOGUBAKO_OAUTH_AUDIENCE": "https://tools.example.com/mcp"}


def load(**environ: str) -> Settings:
    return Sources(environ=environ, env_file=None).load()


FORGEABLE = [
    pytest.param({"DOGUBAKO_OAUTH_ISSUER": "http://id.example"}, "DOGUBAKO_OAUTH_ISSUER", id="the issuer"),
    pytest.param(
        {"DOGUBAKO_OAUTH_ISSUER": "https://id.example", "DOGUBAKO_OAUTH_JWKS_URL": "http://192.0.2.9/jwks"},
        "DOGUBAKO_OAUTH_JWKS_URL",
        id="its keys",
    ),
]


@pytest.mark.parametrize(("settings", "named"), FORGEABLE)
def test_tokens_are_not_believed_by_what_somebody_on_the_way_could_have_said(
    settings: dict[str, str], named: str
) -> None:
    with pytest.raises(SettingsError, match=f"{named}: must be https"):
        load(**TOKENS, **settings)


@pytest.mark.parametrize(
    "issuer", ["https://id.example", "http://127.0.0.1:9000", "http://localhost", "http://[::1]:9"]
)
def test_what_nobody_can_listen_to_is_fine(issuer: str) -> None:
    assert load(**TOKENS, DOGUBAKO_OAUTH_ISSUER=issuer).oauth_issuer == issuer


NO_HOST_NAMES = [
    "tools.example.com:8443",
    "https://tools.example.com",
    "*.example.com",
    "*",
    "tools.example.com/mcp",
    "tools example",
    "user@host",
]


@pytest.mark.parametrize("name", NO_HOST_NAMES)
def test_a_host_name_that_no_request_can_have_is_refused(name: str) -> None:
    with pytest.raises(SettingsError, match=r"DOGUBAKO_ALLOWED_HOSTS.*is no host name"):
        load(DOGUBAKO_ALLOWED_HOSTS=f"fine.example,{name}")


@pytest.mark.parametrize("name", ["tools.example.com", "TOOLS", "my_host-1", "192.0.2.7", "::1", "[2001:db8::7]"])
def test_host_names_and_addresses_are_taken(name: str) -> None:
    assert load(DOGUBAKO_ALLOWED_HOSTS=name).allowed_hosts == (name,)


NO_ORIGINS = ["null", "app.example", "https://app.example/", "HTTPS://app.example", "https://*.example", "https://a b"]


@pytest.mark.parametrize("origin", NO_ORIGINS)
def test_an_origin_that_no_browser_sends_or_every_page_can_is_refused(origin: str) -> None:
    with pytest.raises(SettingsError, match=r"CORS_ORIGIN.*is no origin"):
        load(CORS_ENABLED="true", CORS_ORIGIN=f"https://fine.example,{origin}")


@pytest.mark.parametrize(
    "origin", ["*", "https://app.example", "http://localhost:5173", "http://[::1]:80", "chrome-extension://abcdef"]
)
def test_origins_as_browsers_send_them_are_taken(origin: str) -> None:
    assert load(CORS_ORIGIN=origin).cors_origin == (origin,)
