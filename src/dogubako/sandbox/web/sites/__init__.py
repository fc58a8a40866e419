"""The sites, in the order in which equally good pages are found."""

from collections.abc import Mapping
from typing import Final

from dogubako.sandbox.web.document import DOMAIN, Document
from dogubako.sandbox.web.sites.docs import DOCS
from dogubako.sandbox.web.sites.encyclopedia import ENCYCLOPEDIA
from dogubako.sandbox.web.sites.handbook import HANDBOOK
from dogubako.sandbox.web.sites.news import NEWS
from dogubako.sandbox.web.sites.oddities import ODDITIES
from dogubako.sandbox.web.sites.recipes import RECIPES
from dogubako.sandbox.web.sites.shop import SHOP

DOCUMENTS: Final[tuple[Document, ...]] = (
    *DOCS,
    *ENCYCLOPEDIA,
    *HANDBOOK,
    *SHOP,
    *NEWS,
    *RECIPES,
    *ODDITIES,
)

ROBOTS: Final[Mapping[str, str]] = {
    f"club.{DOMAIN}": "User-agent: *\nDisallow: /members/\n",
}

REDIRECTS: Final[Mapping[tuple[str, str], str]] = {
    (f"moved.{DOMAIN}", "/"): f"https://docs.{DOMAIN}/install",
    (f"moved.{DOMAIN}", "/relative"): "/further",
    (f"moved.{DOMAIN}", "/further"): f"https://docs.{DOMAIN}/install",
    (f"moved.{DOMAIN}", "/away"): "https://example.com/",
    (f"moved.{DOMAIN}", "/in-circles"): f"https://moved.{DOMAIN}/in-circles",
}
