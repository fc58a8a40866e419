"""Pages that were written before the converter was tuned, first half: links and encodings."""

from typing import Final

from bench.pages.corpus_page import PROSE, CorpusPage, article, page

_SAW: Final = "<h2>鋸の目立て</h2><p>刃の一つ一つに鑢を当て、切れ味を戻す仕事です。道具店に頼むこともできますが、自分でやると道具の癖が分かります。</p>"
_SAW_TEXTS: Final = ("鋸の目立て", "切れ味を戻す仕事です。", "道具の癖が分かります。")


def _said(tag: str) -> str:
    return article(_SAW, head=tag, lang="ja")


HELD_BACK_TEXT: Final[tuple[CorpusPage, ...]] = (
    page(
        "two bases",
        article(f"{PROSE}<p><a href=one>one</a></p>", head="<base target=_top><base href=first/><base href=second/>"),
        links=(("one", "https://corpus.sandbox.invalid/shop/tools/first/one"),),
    ),
    page(
        "backslashes and capitals",
        article(
            f"{PROSE}<p><A HREF='HTTPS://Corpus.Sandbox.Invalid/Upper'>upper</A> and <a href='\\share\\saw'>share</a></p>"
        ),
        links=(("share", "https://corpus.sandbox.invalid/share/saw"),),
        texts=("upper",),
    ),
    page(
        "a heading that is a link",
        article(f"<h2><a href=/posts/7>Seven clamps</a></h2>{PROSE}<h3>Nine <a href=/nine>knots</a></h3>"),
        links=(
            ("Seven clamps", "https://corpus.sandbox.invalid/posts/7"),
            ("knots", "https://corpus.sandbox.invalid/nine"),
        ),
        texts=("## ",),
    ),
    page(
        "a list of results",
        "<html><body><div id=results><div class=result><a href='/r?u=1&x=2'>First <em>result</em></a><p>Text of one.</p></div>"
        f"<div class=result><a href=/r?u=2>Second result</a><p>Text of two.</p></div>{PROSE}</div></body></html>",
        links=(
            ("First *result*", "https://corpus.sandbox.invalid/r?u=1&x=2"),
            ("Second result", "https://corpus.sandbox.invalid/r?u=2"),
        ),
    ),
    page(
        "brackets in labels",
        article(f"{PROSE}<p><a href=/spec>[draft] Specification</a>, <a href=/n>n[0]</a></p>"),
        links=(
            ("[draft] Specification", "https://corpus.sandbox.invalid/spec"),
            ("n[0]", "https://corpus.sandbox.invalid/n"),
        ),
    ),
    page(
        "a map of areas and a frame",
        article(
            f"{PROSE}<map name=m><area href=/room/1 alt='Room one'></map><iframe src=/embed/plan title='The plan'></iframe>"
        ),
        links=(
            ("Room one", "https://corpus.sandbox.invalid/room/1"),
            ("The plan", "https://corpus.sandbox.invalid/embed/plan"),
        ),
    ),
    page(
        "no article, much navigation",
        "<html><body><div class='menu main-menu'><ul><li><a href=/m1>Menu A</a><li><a href=/m2>Menu B</a></ul></div><div id=page><div class=text>"
        f"<h1>Workbench</h1>{PROSE}<p>Plans: <a href=plans/roubo.html>Roubo</a>.</p></div></div><div id=cookie-banner><p>We use cookies. <a href=/privacy>More</a></p></div></body></html>",
        links=(("Roubo", "https://corpus.sandbox.invalid/shop/tools/plans/roubo.html"),),
        noise=("Menu B", "We use cookies"),
    ),
    page(
        "JIS in a header", _said(""), encoding="iso2022_jp", header="text/html; charset=iso-2022-jp", texts=_SAW_TEXTS
    ),
    page(
        "EUC-JP called UTF-8 in the header",
        _said(""),
        encoding="euc_jp",
        header="text/html; charset=utf-8",
        texts=_SAW_TEXTS,
    ),
    page("Shift_JIS called Latin-1", _said("<meta charset=iso-8859-1>"), encoding="cp932", texts=_SAW_TEXTS),
    page("Shift_JIS called EUC-JP", _said("<meta charset=euc-jp>"), encoding="cp932", texts=_SAW_TEXTS),
    page("a commented meta", _said("<!-- <meta charset=shift_jis> --><meta charset=utf-8>"), texts=_SAW_TEXTS),
    page("an unknown name", _said("<meta charset=x-user-defined-99>"), encoding="euc_jp", texts=_SAW_TEXTS),
    page(
        "plain text in Shift_JIS",
        "件名: 納品のご連絡\n\n本日、注文の品を発送しました。ご確認ください。\n",
        encoding="cp932",
        header="text/plain",
        texts=("件名: 納品のご連絡", "注文の品を発送しました。"),
    ),
    page(
        "Polish, said in the header",
        article(
            "<h1>Strug ręczny</h1><p>Strug zdejmuje cienki wiór; najpierw ostrzymy żelazko, później sprawdzamy stopę.</p>",
            lang="pl",
        ),
        encoding="iso8859_2",
        header="text/html; charset=iso-8859-2",
        texts=("Strug ręczny", "ostrzymy żelazko, później"),
    ),
    page(
        "Chinese called Latin-1",
        article(
            "<h1>锯子</h1><p>锯子有很多种,我们先说最常用的两种。第一种是横锯,第二种是纵锯,使用的方法不一样。</p>",
            lang="zh",
        ),
        encoding="gbk",
        header="text/html; charset=iso-8859-1",
        texts=("最常用的两种", "使用的方法不一样"),
    ),
)
