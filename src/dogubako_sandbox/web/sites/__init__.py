"""The sites, in the order of equally good matches."""

from collections.abc import Mapping
from typing import Final

from dogubako_sandbox.web.documents import DOMAIN, Document
from dogubako_sandbox.web.sites.reference import DOCS, ENCYCLOPEDIA, HANDBOOK
from dogubako_sandbox.web.sites.stories import NEWS, ODDITIES, RECIPES, SHOP

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
