"""Regions in the words of each engine."""

import pytest

from dogubako.packs.web.providers.base import country_of, language_tag


@pytest.mark.parametrize(
    ("region", "country", "tag"),
    [
        pytest.param("us-en", "US", "en-US", id="plain"),
        pytest.param("uk-en", "GB", "en-GB", id="United Kingdom"),
        pytest.param("ua-uk", "UA", "uk-UA", id="Ukrainian"),
        pytest.param("jp-jp", "JP", "ja-JP", id="Japan"),
        pytest.param("kr-kr", "KR", "ko-KR", id="Korea"),
        pytest.param("hk-tzh", "HK", "zh-HK", id="Hong Kong"),
        pytest.param("sl-sl", "SI", "sl-SI", id="Slovenia"),
        pytest.param("xa-ar", None, "ar", id="a region that is no country"),
        pytest.param("wt-wt", None, "all", id="everywhere"),
        pytest.param("en-US", "US", "en-US", id="a language tag"),
        pytest.param("en", "EN", "en", id="a language alone"),
    ],
)
def test_a_region_has_a_country_and_a_language(region: str, country: str | None, tag: str) -> None:
    assert (country_of(region), language_tag(region)) == (country, tag)
