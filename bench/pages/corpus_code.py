"""Pages with code that converters damage."""

from typing import Final

from bench.pages.corpus_page import PROSE, CorpusPage, article, page

_PYTHON: Final = "def plane(board):\n    thin = board - 1\n\n\n    return thin\n\nprint(plane(20))"
_HTML_PYTHON: Final = _PYTHON.replace("<", "&lt;")
_SHELL: Final = '# sharpen\nfor blade in *; do\n    echo "$blade"\ndone'
_TEMPLATE: Final = "<ul>\n  <li>{{ tool }}</li>\n\n</ul>"


def _numbered(text: str) -> str:
    return "\n".join(str(number) for number, _ in enumerate(text.split("\n"), 1))


CODE_PAGES: Final[tuple[CorpusPage, ...]] = (
    page("blank lines", article(f"{PROSE}<pre><code>{_HTML_PYTHON}</code></pre>"), code=(("", _PYTHON),)),
    page(
        "a language class",
        article(f"{PROSE}<pre><code class='language-python hljs'>{_HTML_PYTHON}</code></pre>"),
        code=(("python", _PYTHON),),
    ),
    page(
        "the language on pre",
        article(f"{PROSE}<pre class='brush: bash; gutter: false'>{_SHELL}</pre>"),
        code=(("bash", _SHELL),),
    ),
    page(
        "the language on a wrapper",
        article(f"{PROSE}<div class='highlight highlight-source-shell'><pre>{_SHELL}</pre></div>"),
        code=(("shell", _SHELL),),
    ),
    page(
        "spans of a highlighter",
        article(
            f"{PROSE}<pre class=chroma data-lang=python><code><span class=k>def</span> <span class=nf>plane</span>(board):\n    thin <span class=o>=</span> board - <span class=mi>1</span>\n\n\n    <span class=k>return</span> thin\n\nprint(plane(20))</code></pre>"
        ),
        code=(("python", _PYTHON),),
    ),
    page(
        "a column of line numbers",
        article(
            f"{PROSE}<table class=highlighttable><tr><td class=linenos><pre>{_numbered(_PYTHON)}</pre></td><td class=code><div class='highlight language-python'><pre>{_HTML_PYTHON}</pre></div></td></tr></table>"
        ),
        code=(("python", _PYTHON),),
    ),
    page(
        "line numbers in spans",
        article(
            f"{PROSE}<pre>"
            + "\n".join(f"<span class=lineno>{n}</span>{line}" for n, line in enumerate(_SHELL.split("\n"), 1))
            + "</pre>"
        ),
        code=(("", _SHELL),),
    ),
    page(
        "lines as elements",
        article(
            f"{PROSE}<pre><code class=lang-python>"
            + "".join(f"<div class=line>{line or '<br>'}</div>" for line in ["a = 1", "", "b = 2"])
            + "</code></pre>"
        ),
        code=(("python", "a = 1\n\nb = 2"),),
    ),
    page("line breaks", article(f"{PROSE}<pre>cut<br>  glue<br><br>sand</pre>"), code=(("", "cut\n  glue\n\nsand"),)),
    page(
        "markup as code",
        article(f"{PROSE}<pre><code class=language-html>{_TEMPLATE.replace('<', '&lt;')}</code></pre>"),
        code=(("html", _TEMPLATE),),
    ),
    page(
        "fences in code",
        article(f"{PROSE}<pre class=lang-markdown>Text\n\n```sh\nls\n```\n</pre>"),
        code=(("markdown", "Text\n\n```sh\nls\n```"),),
    ),
    page(
        "code in a list",
        article(
            f"{PROSE}<ol><li>Install it:<pre><code class=language-sh>pip install saw\n\nsaw --help</code></pre><li>Done.</ol>"
        ),
        code=(("sh", "pip install saw\n\nsaw --help"),),
        items=((0, "1.", "Install it:"), (0, "2.", "Done.")),
    ),
    page(
        "a copy button",
        article(
            f"{PROSE}<div class=code-wrapper><button>Copy</button><pre><code class='language-js'>let a = 1;\n\n\nlet b = `x`;</code></pre></div>"
        ),
        code=(("js", "let a = 1;\n\n\nlet b = `x`;"),),
        noise=("Copy",),
    ),
)
