"""Secrets do not get past the redactor, in whatever spelling."""

import base64
import json
from html import escape
from urllib.parse import quote
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dogubako.contract.redaction import MASK, Redactor

SECRET = 'k3y&"<\\ä/+?=%'
JWT = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJtZSJ9.c2lnbmF0dXJl-_"
KEY = "dgb_0123abcd_abcdefghijklmnop-_"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f"the key {SECRET} was refused", id="as it is"),
        pytest.param(json.dumps({"key": SECRET}, ensure_ascii=False), id="in JSON"),
        pytest.param(f"<key>{escape(SECRET, quote=False)}</key>", id="in XML text"),
        pytest.param(f'<a key="{escape(SECRET)}"/>', id="in an XML attribute"),
        pytest.param(f"https://example.org/?key={quote(SECRET, safe='')}", id="in a query"),
        pytest.param(f"https://example.org/{quote(SECRET)}/x", id="in a path"),
    ],
)
def test_a_known_secret_is_masked_in_every_spelling(text: str) -> None:
    redactor = Redactor([SECRET])

    for masked in (redactor.mask_configured(text), redactor.mask_all(text)):
        assert MASK in masked
        assert "k3y" not in masked


@given(st.text(min_size=6, max_size=40), st.binary(max_size=20), st.binary(max_size=20))
def test_an_encoded_secret_never_survives(secret: str, before: bytes, after: bytes) -> None:
    redactor = Redactor([secret])

    for encoding in ("utf-8", "utf-16-le", "utf-16-be"):
        data = secret.encode(encoding)
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            assert MASK in redactor.mask_configured(f"Basic {encode(before + data + after).decode()} end")
    data = before + secret.encode() + after
    for written in (data.hex(), data.hex().upper(), "".join(f"%{byte:02X}" for byte in data)):
        assert MASK in redactor.mask_configured(written)


@given(st.text(min_size=6, max_size=40), st.text(max_size=200), st.text(max_size=200))
def test_a_known_secret_never_survives(secret: str, before: str, after: str) -> None:
    masked = Redactor([secret]).mask_configured(before + secret + after)

    assert secret not in masked.replace(MASK, "\x00")


@given(st.text(alphabet=st.characters(categories=["L", "N", "P", "S"]), min_size=6, max_size=20))
def test_masking_leaves_json_and_xml_whole(secret: str) -> None:
    redactor = Redactor([secret])

    assert (
        MASK
        in json.loads(redactor.mask_configured(json.dumps({"nested": [f"{secret} here"]}, ensure_ascii=False)))[
            "nested"
        ][0]
    )
    assert MASK in (ElementTree.fromstring(redactor.mask_configured(f"<doc>{escape(secret)} here</doc>")).text or "")


def test_a_longer_secret_is_masked_before_a_shorter_one_inside_it() -> None:
    assert Redactor(["abcdef", "abcdefghi"]).mask_configured("abcdefghi abcdef") == f"{MASK} {MASK}"


def test_what_is_too_short_to_be_a_secret_stays() -> None:
    assert Redactor(["token"]).mask_configured("a token of thanks") == "a token of thanks"


def test_a_secret_learnt_later_is_masked_from_then_on() -> None:
    redactor = Redactor()
    assert redactor.mask_all("hunter22") == "hunter22"

    redactor.add("hunter22")

    assert redactor.mask_all("hunter22") == MASK


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("redis://user:pa55word@host/0", f"redis://{MASK}@host/0", id="credentials in a URL"),
        pytest.param("redis://:pa55word@host", f"redis://{MASK}@host", id="a password only"),
        pytest.param("redis://u:p@ssw0rd@X@host/0", f"redis://{MASK}@host/0", id="a password with @"),
        pytest.param("redis://u@corp:pa55word@host", f"redis://{MASK}@host", id="a user with @"),
        pytest.param("http://host:8080/a@b", "http://host:8080/a@b", id="a port, and an @ that is no user's"),
        pytest.param(f"it was {JWT}.", f"it was {MASK}.", id="access token"),
        pytest.param(f"it was x-{JWT}", f"it was x-{MASK}", id="access token behind something"),
        pytest.param(f"it was eyJ-{JWT}", f"it was {MASK}", id="access token behind its own beginning"),
        pytest.param(f"/v1/{KEY}/x", f"/v1/{MASK}/x", id="a key of ours"),
        pytest.param("eyJust a word. And another. dgb_ too", "eyJust a word. And another. dgb_ too", id="no token"),
        pytest.param("Authorization: Bearer abcdefgh12345678", f"Authorization: {MASK} {MASK}", id="header"),
        pytest.param("sent Bearer abcdefgh12345678", f"sent Bearer {MASK}", id="bearer"),
        pytest.param("X-N8N-API-KEY: n8n_api_123456", f"X-N8N-API-KEY: {MASK}", id="n8n key"),
        pytest.param("X-Redmine-API-Key=abcdef012345", f"X-Redmine-API-Key={MASK}", id="Redmine key"),
        pytest.param("?api_key=abcdef012345&page=2", f"?api_key={MASK}&page=2", id="query"),
        pytest.param('{"password": "letmein1"}', f'{{"password": "{MASK}"}}', id="JSON"),
        pytest.param("nothing to see here", "nothing to see here", id="plain prose"),
        pytest.param("token: short", "token: short", id="too short"),
    ],
)
def test_what_looks_like_a_secret_is_masked_in_messages_and_logs(text: str, expected: str) -> None:
    assert Redactor().mask_all(text) == expected
    assert Redactor().mask_all(f"{text} {'and more ' * 20}").startswith(expected)


@pytest.mark.parametrize(
    "text",
    [
        "Set-Cookie: session=Zc0okie; Path=/; HttpOnly",
        "cookie: theme=dark; session=Zc0okie",
        "COOKIE:session=Zc0okie",
        "refused, it sent cookie = Zc0okie",
        "[(b'Date', b'now'), (b'Set-Cookie', b'session=Zc0okie; Path=/'), (b'Age', b'0')]",
        """[(b"Set-Cookie", b"a='Zc0okie'; Path=/")]""",
        """[(b'Set-Cookie', b'a="x"; b=\\'y\\'; c=Zc0okie')]""",
        "Headers([('set-cookie', 'session=Zc0okie')])",
        "Headers({'cookie': 'session=Zc0okie', 'age': '0'})",
        "{'Set-Cookie': ['a=1', 'session=Zc0okie]', 'b=Zc0okie'], 'age': '0'}",
        '{"set-cookie":"session=Zc0okie; Path=/","age":"0"}',
        '{"set-cookie":["a=1","session=Zc0okie"],"age":"0"}',
        '["set-cookie","session=Zc0okie"]',
        r'{"said": "{\"set-cookie\": \"a=\\\"1\\\"; session=Zc0okie\"}"}',
        r"b'HTTP/1.1 200 OK\r\nSet-Cookie: session=Zc0okie\r\n\r\n'",
        "cookies={'session': 'Zc0okie'}",
        "<CookieJar[<Cookie session=Zc0okie for localhost.local/>]>",
        "set-cookie2: session=Zc0okie",
        "X-Session-Cookie: Zc0okie",
    ],
)
def test_cookies_are_masked_in_every_spelling(text: str) -> None:
    for whole in (text, f"{text}\nand more {'words ' * 20}"):
        masked = Redactor().mask_all(whole)

        assert "Zc0okie" not in masked and MASK in masked
        assert Redactor().mask_all(masked) == masked


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Set-Cookie: a=b; Path=/\nAge: 0", f"Set-Cookie: {MASK}\nAge: 0"),
        ("(b'Set-Cookie', b'a=b'), (b'Age', b'0')", f"(b'Set-Cookie', b'{MASK}'), (b'Age', b'0')"),
        ('{"set-cookie":"a=b","age":"0"}', f'{{"set-cookie":"{MASK}","age":"0"}}'),
        ("{'set-cookie': ['a', 'b'], 'age': 0}", f"{{'set-cookie': {MASK}, 'age': 0}}"),
        ("A cookie jar, and cookies for all", "A cookie jar, and cookies for all"),
    ],
)
def test_only_the_value_of_a_cookie_is_masked(text: str, expected: str) -> None:
    assert Redactor().mask_all(text) == expected


@pytest.mark.parametrize("length", [8, 20, len(JWT) - 1])
def test_a_secret_that_was_shortened_is_masked_too(length: int) -> None:
    text = f"the key is {JWT[:length]}… [{len(JWT) - length} more characters], {JWT[:length]}x stays"

    masked = Redactor([JWT]).mask_configured(text)

    assert masked == f"the key is {MASK}… [{len(JWT) - length} more characters], {JWT[:length]}x stays"


@pytest.mark.parametrize("quoted", [True, False])
def test_a_secret_is_masked_as_html_writes_it(quoted: bool) -> None:
    secret = "a<b>&\"c'd"

    assert Redactor([secret]).mask_configured(f"<p>{escape(secret, quote=quoted)}</p>") == "<p>***</p>"
