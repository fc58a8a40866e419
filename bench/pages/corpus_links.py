"""Pages whose links are hard to resolve."""

from typing import Final

from bench.pages.corpus_page import PROSE, CorpusPage, article, page

LINK_PAGES: Final[tuple[CorpusPage, ...]] = (
    page(
        "relative to the folder",
        article(
            f"<h1>Saws</h1>{PROSE}<p>Read <a href='rip-saw.html'>about rip saws</a> and <a href=./back>back saws</a>.</p>"
        ),
        links=(
            ("about rip saws", "https://corpus.sandbox.invalid/shop/tools/rip-saw.html"),
            ("back saws", "https://corpus.sandbox.invalid/shop/tools/back"),
        ),
        noise=("Write to us", "recycled bytes"),
    ),
    page(
        "up and down",
        article(
            f"{PROSE}<p><a href='../planes/'>planes</a>, <a href='../../about'>about</a>, <a href='/root'>root</a></p>"
        ),
        links=(
            ("planes", "https://corpus.sandbox.invalid/shop/planes/"),
            ("about", "https://corpus.sandbox.invalid/about"),
            ("root", "https://corpus.sandbox.invalid/root"),
        ),
    ),
    page(
        "a base element",
        article(
            f"{PROSE}<p>The <a href='chisel.html'>chisel</a> and the <a href='#care'>care</a>.</p>",
            head="<base href='/archive/2019/'>",
        ),
        links=(
            ("chisel", "https://corpus.sandbox.invalid/archive/2019/chisel.html"),
            ("care", "https://corpus.sandbox.invalid/archive/2019/#care"),
        ),
    ),
    page(
        "a base on another host",
        article(
            f"{PROSE}<p>Ask <a href=faq>the other site</a> or <a href=//mirror.example/faq>the mirror</a>.</p>",
            head="<base href='https://other.example/help/index.html' target=_blank>",
        ),
        links=(("the other site", "https://other.example/help/faq"), ("the mirror", "https://mirror.example/faq")),
    ),
    page(
        "queries and fragments",
        article(
            f"{PROSE}<p><a href='?page=2&amp;sort=name'>next page</a> <a href='#joints'>joints</a> <a href='list?q=a%20b#x'>list</a></p>"
        ),
        links=(
            ("next page", "https://corpus.sandbox.invalid/shop/tools/page.html?page=2&sort=name"),
            ("joints", "https://corpus.sandbox.invalid/shop/tools/page.html#joints"),
            ("list", "https://corpus.sandbox.invalid/shop/tools/list?q=a%20b#x"),
        ),
    ),
    page(
        "spaces and line ends in addresses",
        article(
            f"{PROSE}<p><a href=' /price list.html '>price list</a> and <a href='/long/\n  path'>a broken address</a></p>"
        ),
        links=(("price list", "https://corpus.sandbox.invalid/price%20list.html"),),
    ),
    page(
        "parentheses in addresses",
        article(
            f"{PROSE}<p>See <a href='/wiki/Plane_(tool)'>the plane</a> and <a href='/wiki/Odd)'>an odd one</a>.</p>"
        ),
        links=(
            ("the plane", "https://corpus.sandbox.invalid/wiki/Plane_(tool)"),
            ("an odd one", "https://corpus.sandbox.invalid/wiki/Odd%29"),
        ),
    ),
    page(
        "links around pictures",
        article(
            f"{PROSE}<p><a href=/gallery/1><img src=thumb.jpg alt='A jack plane'></a></p><p><a href=/gallery/2 title='The second bench'><svg></svg></a></p>"
        ),
        links=(
            ("A jack plane", "https://corpus.sandbox.invalid/gallery/1"),
            ("The second bench", "https://corpus.sandbox.invalid/gallery/2"),
        ),
    ),
    page(
        "cards",
        article(
            f"{PROSE}<a href=/course/1><h3>Dovetails by hand</h3><p>Two evenings in May.</p></a><a href=/course/2><div><strong>Sharpening</strong></div></a>"
        ),
        links=(
            ("Dovetails by hand", "https://corpus.sandbox.invalid/course/1"),
            ("Sharpening", "https://corpus.sandbox.invalid/course/2"),
        ),
    ),
    page(
        "scripts and mail",
        article(
            f"{PROSE}<p><a href='javascript:void(0)'>print it</a> <a href='mailto:shop@corpus.sandbox.invalid?subject=Saw'>write</a> <a href='tel:+81312345678'>call</a></p>"
        ),
        links=(("write", "mailto:shop@corpus.sandbox.invalid?subject=Saw"), ("call", "tel:+81312345678")),
        noise=("javascript:",),
    ),
    page(
        "Japanese addresses",
        article(f"{PROSE}<p><a href='/道具/鉋?色=赤'>鉋のページ</a></p>", lang="ja"),
        links=(("鉋のページ", "https://corpus.sandbox.invalid/道具/鉋?色=赤"),),
    ),
    page(
        "links in a table and in a list",
        article(
            f"{PROSE}<ul><li><a href=a1>first</a> and <a href=a2>second</a></ul><table><tr><th>Name<th>Page<tr><td>Hammer<td><a href=../h>open</a></table>"
        ),
        links=(
            ("first", "https://corpus.sandbox.invalid/shop/tools/a1"),
            ("second", "https://corpus.sandbox.invalid/shop/tools/a2"),
            ("open", "https://corpus.sandbox.invalid/shop/h"),
        ),
    ),
    page(
        "a directory of links without an article",
        "<html><head><title>Index of /files</title></head><body><h1>Index of /files</h1><pre><a href='../'>Parent</a>\n"
        "<a href='plans.pdf'>plans.pdf</a>  12-Nov\n<a href='saw%20list.csv'>saw list.csv</a>  13-Nov</pre></body></html>",
        url="https://corpus.sandbox.invalid/files/",
        links=(),
        texts=("plans.pdf", "saw list.csv"),
    ),
    page(
        "footnotes",
        article(
            f"{PROSE}<p>Beech is hard<sup><a href='#n1'>[1]</a></sup> and heavy.</p><ol><li id=n1>See <a href=/wood/beech>beech</a>.</ol>"
        ),
        links=(("beech", "https://corpus.sandbox.invalid/wood/beech"),),
    ),
    page(
        "a page without main",
        "<html><head><title>Old page</title></head><body><div id=header><a href=/h1>Banner</a></div><div class=sidebar><ul>"
        "<li><a href=/s1>Side one</a><li><a href=/s2>Side two</a></ul></div><div id=content><h2>Glue</h2>"
        f"{PROSE}{PROSE}<p>Hide glue is <a href=hide.htm>old</a> and good.</p></div><div class=footer><a href=/imprint>Imprint</a></div></body></html>",
        links=(("old", "https://corpus.sandbox.invalid/shop/tools/hide.htm"),),
        noise=("Side two",),
    ),
)
