"""Pages that were written before the converter was tuned, second half: code, lists and tables."""

from typing import Final

from bench.pages.corpus_page import PROSE, CorpusPage, article, page

_GO: Final = 'func main() {\n\tfmt.Println("saw")\n\n\tfor {\n\t}\n}'
_DIFF: Final = "-old\n+new\n \n context"

HELD_BACK_STRUCTURE: Final[tuple[CorpusPage, ...]] = (
    page(
        "tabs and a language",
        article(f"{PROSE}<pre><code class='hljs language-go'>{_GO}</code></pre>"),
        code=(("go", _GO),),
    ),
    page(
        "a figure with code",
        article(
            f"{PROSE}<figure class='highlight diff'><figcaption>change.diff</figcaption><pre class=language-diff>{_DIFF}</pre></figure>"
        ),
        code=(("diff", _DIFF),),
    ),
    page(
        "two blocks and code in a line",
        article(f"{PROSE}<p>Call <code>saw --rip</code> first.</p><pre>one\n\ntwo</pre><p>Then</p><pre>three</pre>"),
        code=(("", "one\n\ntwo"), ("", "three")),
        texts=("Call `saw --rip` first.",),
    ),
    page(
        "code in a quotation",
        article(f"{PROSE}<blockquote><p>Try</p><pre>a\n\nb</pre></blockquote>"),
        texts=("> a", "> b"),
    ),
    page(
        "console sessions",
        article(
            f"{PROSE}<div class='language-console highlighter-rouge'><div class=highlight><pre class=highlight><code><span class=gp>$</span> saw --list\nrip\n\ncross\n</code></pre></div></div>"
        ),
        code=(("console", "$ saw --list\nrip\n\ncross"),),
    ),
    page(
        "roman numbers and a start",
        article(f"{PROSE}<ol type=i start=4><li>fourth<li>fifth</ol>"),
        items=((0, "4.", "fourth"), (0, "5.", "fifth")),
    ),
    page(
        "a list between paragraphs of an item",
        article(f"{PROSE}<ol><li>Prepare<ul><li>bench</ul>and breathe<li>Cut</ol>"),
        items=((0, "1.", "Prepare"), (1, "-", "bench"), (0, "2.", "Cut")),
        texts=("and breathe",),
    ),
    page(
        "links and code in items",
        article(f"{PROSE}<ul><li><a href=/x>x</a>: <code>--fast</code><li><strong>Note:</strong> dry</ul>"),
        items=((0, "-", "[x](https://corpus.sandbox.invalid/x): `--fast`"), (0, "-", "**Note:** dry")),
    ),
    page(
        "a menu element and a directory",
        article(f"{PROSE}<menu><li>cut<li>paste</menu>"),
        items=((0, "-", "cut"), (0, "-", "paste")),
    ),
    page(
        "a deep list in Japanese",
        article(
            f"{PROSE}<ol><li>準備<ol><li>道具<ul><li>鋸</li></ul></li><li>材料</li></ol></li><li>作業</li></ol>",
            lang="ja",
        ),
        items=((0, "1.", "準備"), (1, "1.", "道具"), (2, "-", "鋸"), (1, "2.", "材料"), (0, "2.", "作業")),
    ),
    page(
        "two heads",
        article(
            f"{PROSE}<table><thead><tr><th rowspan=2>Tool<th colspan=2>Mass<tr><th>kg<th>lb</thead><tbody><tr><td>Maul<td>3<td>7</tbody></table>"
        ),
        rows=(("Tool", "Mass", "Mass"), ("Tool", "kg", "lb"), ("Maul", "3", "7")),
    ),
    page(
        "heads at the side",
        article(f"{PROSE}<table><tr><th>Name<td>Jack plane<tr><th>Length<td>350 mm</table>"),
        rows=(("Name", "Jack plane"), ("Length", "350 mm")),
    ),
    page(
        "paragraphs in cells",
        article(
            f"{PROSE}<table><tr><th>Wood<th>Use<tr><td><p>Oak</p><td><p>Frames</p><p>Floors</p><tr><td>Lime<td>Carving</table>"
        ),
        rows=(("Wood", "Use"), ("Oak", "Frames<br>Floors"), ("Lime", "Carving")),
    ),
    page(
        "code in cells",
        article(f"{PROSE}<table><tr><th>Flag<th>Meaning<tr><td><code>-a|-b</code><td>either</table>"),
        rows=(("Flag", "Meaning"), ("`-a|-b`", "either")),
    ),
)
