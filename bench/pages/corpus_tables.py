"""Pages with tables that converters break, and feeds."""

from typing import Final

from bench.pages.corpus_page import PROSE, CorpusPage, article, page

_RSS: Final = (
    '<?xml version="1.0"?><rss version="2.0" xmlns:content="http://purl.org/rss/1.0/modules/content/"><channel><title>Bench news</title>'
    "<link>https://corpus.sandbox.invalid/</link><item><title>A new vice</title><link>/news/vice</link>"
    "<description><![CDATA[<p>It <b>holds</b> well, see <a href='spec'>the sheet</a>.</p>]]></description></item>"
    "<item><title>Oil &amp; wax</title><link>https://corpus.sandbox.invalid/news/oil</link><description>Short.</description></item></channel></rss>"
)
_ATOM: Final = (
    '<feed xmlns="http://www.w3.org/2005/Atom"><title>道具だより</title><entry><title>鋸の話</title>'
    '<link rel="self" href="/feed/1"/><link href="/posts/saw"/><content type="html">&lt;p&gt;目立てのこと。&lt;/p&gt;</content></entry></feed>'
)
_JSON_FEED: Final = (
    '{"version": "https://jsonfeed.org/version/1.1", "title": "Shop log", "items": [{"id": "1", "url": "https://corpus.sandbox.invalid/log/1", '
    '"title": "Monday", "content_html": "<p>Swept <a href=\\"/floor\\">the floor</a>.</p>"}]}'
)

TABLE_PAGES: Final[tuple[CorpusPage, ...]] = (
    page(
        "a head and a body",
        article(
            f"{PROSE}<table><thead><tr><th>Tool</th><th>Price</th></tr></thead><tbody><tr><td>Saw</td><td>30</td></tr><tr><td>Plane</td><td>48</td></tr></tbody></table>"
        ),
        rows=(("Tool", "Price"), ("Saw", "30"), ("Plane", "48")),
    ),
    page(
        "no end tags",
        article(f"{PROSE}<table><tr><th>Tool<th>Price<tr><td>Saw<td>30<tr><td>Plane<td>48</table>", closed=False),
        rows=(("Tool", "Price"), ("Saw", "30"), ("Plane", "48")),
    ),
    page(
        "pipes in cells",
        article(f"{PROSE}<table><tr><th>Sign<th>Means<tr><td>a|b<td>or<tr><td>c<td>d || e</table>"),
        rows=(("Sign", "Means"), ("a|b", "or"), ("c", "d || e")),
    ),
    page(
        "cells over rows",
        article(f"{PROSE}<table><tr><th>Kind<th>Tool<tr><td rowspan=2>Saw<td>rip<tr><td>cross</table>"),
        rows=(("Kind", "Tool"), ("Saw", "rip"), ("Saw", "cross")),
    ),
    page(
        "cells over columns",
        article(f"{PROSE}<table><tr><th>Tool<th colspan=2>Size<tr><td>Saw<td>50<td>12</table>"),
        rows=(("Tool", "Size", "Size"), ("Saw", "50", "12")),
    ),
    page(
        "breaks and lists in cells",
        article(
            f"{PROSE}<table><tr><th>Step<th>Needs<tr><td>Cut<td>saw<br>square<tr><td>Glue<td><ul><li>brush<li>pot</ul></table>"
        ),
        rows=(("Step", "Needs"), ("Cut", "saw<br>square"), ("Glue", "- brush<br>- pot")),
    ),
    page(
        "empty cells",
        article(f"{PROSE}<table><tr><th>Tool<th>Mon<th>Tue<tr><td>Saw<td><td>x<tr><td>Plane<td>x<td></table>"),
        rows=(("Tool", "Mon", "Tue"), ("Saw", "", "x"), ("Plane", "x", "")),
    ),
    page(
        "a caption and links",
        article(
            f"{PROSE}<table><caption>Prices in May</caption><tr><th>Tool<th>Link<tr><td>Saw<td><a href=saw>look</a></table>"
        ),
        rows=(("Tool", "Link"), ("Saw", "[look](https://corpus.sandbox.invalid/shop/tools/saw)")),
        texts=("Prices in May",),
    ),
    page(
        "a table for the layout",
        f"<html><body><table width=100%><tr><td width=20%><a href=/n1>Menu one</a><br><a href=/n2>Menu two</a></td><td><h1>Clamps</h1>{PROSE}"
        "<table><tr><th>Clamp<th>Reach<tr><td>Bar<td>90</table></td></tr></table></body></html>",
        rows=(("Clamp", "Reach"), ("Bar", "90")),
        texts=("# Clamps",),
    ),
    page(
        "a table without a head",
        article(f"{PROSE}<table><tr><td>Saw<td>30<tr><td>Plane<td>48</table>"),
        rows=(("Saw", "30"), ("Plane", "48")),
    ),
    page(
        "RSS",
        _RSS,
        header="application/rss+xml",
        url="https://corpus.sandbox.invalid/feed.xml",
        links=(
            ("A new vice", "https://corpus.sandbox.invalid/news/vice"),
            ("the sheet", "https://corpus.sandbox.invalid/news/spec"),
            ("Oil & wax", "https://corpus.sandbox.invalid/news/oil"),
        ),
        texts=("Bench news", "It **holds** well"),
    ),
    page(
        "Atom, called text",
        _ATOM,
        header="text/xml",
        url="https://corpus.sandbox.invalid/feed",
        links=(("鋸の話", "https://corpus.sandbox.invalid/posts/saw"),),
        texts=("道具だより", "目立てのこと。"),
    ),
    page(
        "a JSON feed",
        _JSON_FEED,
        header="application/feed+json",
        url="https://corpus.sandbox.invalid/feed.json",
        links=(
            ("Monday", "https://corpus.sandbox.invalid/log/1"),
            ("the floor", "https://corpus.sandbox.invalid/floor"),
        ),
        texts=("Shop log",),
    ),
)
