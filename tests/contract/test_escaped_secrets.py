"""A secret that JSON or HTML escapes hide is masked like the secret itself."""

import html
import json

import pytest

from dogubako.contract.redaction import Redactor

SECRET = "Sup3rSecretKey-abcdef0123456789"
OTHER = "pässwörd-日本-😀"
IN_JSON = "".join(f"\\u{ord(character):04x}" for character in SECRET)
IN_HTML = "".join(f"&#{ord(character)};" for character in SECRET)


@pytest.mark.parametrize(
    ("written", "masked"),
    [
        pytest.param(IN_JSON, "***", id="JSON"),
        pytest.param(IN_JSON.upper().replace("\\U", "\\u"), "***", id="capital digits"),
        pytest.param(json.dumps(IN_JSON), '"***"', id="JSON within JSON"),
        pytest.param(IN_HTML, "***", id="decimal references"),
        pytest.param("".join(f"&#x{ord(character):x};" for character in SECRET), "***", id="hexadecimal references"),
        pytest.param("".join(f"&#X00{ord(character):X};" for character in SECRET), "***", id="with zeros"),
        pytest.param(html.escape(IN_HTML), "***", id="HTML within XML"),
        pytest.param("\\u0053up3rSecretKey-abcdef012345678&#57;", "***", id="only two characters"),
        pytest.param(json.dumps(OTHER), '"***"', id="beyond ASCII"),
        pytest.param("x" * 65_530 + IN_JSON, "x" * 65_530 + "***", id="where a step ends"),
    ],
)
def test_an_escaped_secret_is_masked(written: str, masked: str) -> None:
    assert Redactor([SECRET, OTHER]).mask_configured(f"a {written} b") == f"a {masked} b"


@pytest.mark.parametrize("text", ["\\u0053 and &#83;", "C# #1 \\user", f"{IN_JSON[:-6]}", "\\u", "&#;"])
def test_other_escapes_stay_as_they_are(text: str) -> None:
    assert Redactor([SECRET]).mask_configured(text) is text
