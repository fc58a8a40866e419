"""Pages whose encoding is declared wrongly, oddly or not at all."""

from typing import Final

from bench.pages.corpus_page import CorpusPage, article, page

_JAPANESE: Final = (
    "<h1>鉋の手入れ</h1><p>鉋は木の表面を薄く削る道具です。刃を研ぎ、台を整えると、透けるような薄い屑が出ます。</p>"
    "<p>初めての人は、柔らかい杉の板から始めるとよいでしょう。湿気の多い日は台が動くので、使う前に確かめます。</p>"
)
_TEXTS: Final = ("鉋の手入れ", "透けるような薄い屑が出ます。", "使う前に確かめます。")
_JA: Final = article(_JAPANESE, lang="ja")
_CHINESE: Final = article(
    "<h1>刨子的保养</h1><p>刨子是把木头表面刨平的工具。先磨刀,再调整底面,就能刨出很薄的刨花。我们明天再说。</p>",
    lang="zh",
)
_TAIWAN: Final = article(
    "<h1>刨子的保養</h1><p>刨子是把木頭表面刨平的工具。先磨刀,再調整底面,就能刨出很薄的刨花。我們明天再說。</p>",
    lang="zh-TW",
)
_KOREAN: Final = article(
    "<h1>대패 손질</h1><p>대패는 나무의 겉을 얇게 깎는 도구입니다. 날을 갈고 바닥을 고르면 얇은 대팻밥이 나옵니다.</p>",
    lang="ko",
)
_RUSSIAN: Final = article(
    "<h1>Уход за рубанком</h1><p>Рубанок снимает тонкую стружку. Сначала точат железко, потом выравнивают подошву.</p>",
    lang="ru",
)
_FRENCH: Final = article(
    "<h1>L’entretien du rabot</h1><p>Le rabot enlève un copeau très fin. On affûte d’abord le fer, puis on vérifie la semelle – à la lumière.</p>",
    lang="fr",
)


def _meta(html: str, tag: str) -> str:
    return html.replace("<title>", f"{tag}<title>")


ENCODING_PAGES: Final[tuple[CorpusPage, ...]] = (
    page("Shift_JIS, said in the header", _JA, encoding="cp932", header="text/html; charset=Shift_JIS", texts=_TEXTS),
    page("Shift_JIS, said nowhere", _JA, encoding="cp932", texts=_TEXTS),
    page("EUC-JP, said nowhere", _JA, encoding="euc_jp", texts=_TEXTS),
    page("ISO-2022-JP, said nowhere", _JA, encoding="iso2022_jp", texts=_TEXTS),
    page("UTF-16 with a mark", _JA, encoding="utf-16-le", bom=b"\xff\xfe", texts=_TEXTS),
    page("UTF-16 without a mark", _JA, encoding="utf-16-be", texts=_TEXTS),
    page("EUC-JP in meta", _meta(_JA, "<meta charset=EUC-JP>"), encoding="euc_jp", texts=_TEXTS),
    page(
        "Shift_JIS in an old meta",
        _meta(_JA, "<META HTTP-EQUIV='Content-Type' CONTENT='text/html; charset=x-sjis'>"),
        encoding="cp932",
        texts=_TEXTS,
    ),
    page("UTF-8 called Shift_JIS", _JA, header="text/html; charset=Shift_JIS", texts=_TEXTS),
    page("Shift_JIS called UTF-8", _meta(_JA, "<meta charset=utf-8>"), encoding="cp932", texts=_TEXTS),
    page("EUC-JP called Shift_JIS", _JA, encoding="euc_jp", header="text/html; charset=Shift_JIS", texts=_TEXTS),
    page(
        "UTF-8 called Latin-1",
        _FRENCH,
        header="text/html; charset=ISO-8859-1",
        texts=("L’entretien du rabot", "à la lumière"),
    ),
    page(
        "XHTML with an XML declaration",
        '<?xml version="1.0" encoding="EUC-JP"?>\n' + _JA,
        encoding="euc_jp",
        header="application/xhtml+xml",
        texts=_TEXTS,
    ),
    page("UTF-8 with a mark and a wrong meta", _meta(_JA, "<meta charset=euc-jp>"), bom=b"\xef\xbb\xbf", texts=_TEXTS),
    page("GBK, said nowhere", _CHINESE, encoding="gbk", texts=("刨子的保养", "就能刨出很薄的刨花")),
    page("Big5, said nowhere", _TAIWAN, encoding="cp950", texts=("刨子的保養", "就能刨出很薄的刨花")),
    page("EUC-KR, said nowhere", _KOREAN, encoding="cp949", texts=("대패 손질", "얇은 대팻밥이 나옵니다.")),
    page("windows-1251, said nowhere", _RUSSIAN, encoding="cp1251", texts=("Уход за рубанком", "выравнивают подошву")),
    page("windows-1252, said nowhere", _FRENCH, encoding="cp1252", texts=("L’entretien du rabot", "à la lumière")),
)
