"""Pages with lists that converters number wrongly or flatten."""

from typing import Final

from bench.pages.corpus_page import PROSE, CorpusPage, article, page

LIST_PAGES: Final[tuple[CorpusPage, ...]] = (
    page(
        "a start",
        article(f"{PROSE}<ol start=5><li>glue<li>clamp<li>wait</ol>"),
        items=((0, "5.", "glue"), (0, "6.", "clamp"), (0, "7.", "wait")),
    ),
    page(
        "no end tags in a list",
        article(f"{PROSE}<ul><li>oak<li>ash<ol><li>bark<li>leaf</ol><li>elm</ul>", closed=False),
        items=((0, "-", "oak"), (0, "-", "ash"), (1, "1.", "bark"), (1, "2.", "leaf"), (0, "-", "elm")),
    ),
    page(
        "values",
        article(f"{PROSE}<ol><li>one<li value=10>ten<li>eleven</ol>"),
        items=((0, "1.", "one"), (0, "10.", "ten"), (0, "11.", "eleven")),
    ),
    page(
        "counting down",
        article(f"{PROSE}<ol reversed><li>three<li>two<li>one</ol>"),
        items=((0, "3.", "three"), (0, "2.", "two"), (0, "1.", "one")),
    ),
    page(
        "nested",
        article(f"{PROSE}<ul><li>Saws<ul><li>rip<li>cross<ol><li>fine<li>coarse</ol></ul><li>Planes</ul>"),
        items=(
            (0, "-", "Saws"),
            (1, "-", "rip"),
            (1, "-", "cross"),
            (2, "1.", "fine"),
            (2, "2.", "coarse"),
            (0, "-", "Planes"),
        ),
    ),
    page(
        "nested without an item",
        article(f"{PROSE}<ul><li>Saws</li><ul><li>rip</li></ul><li>Planes</li></ul>"),
        items=((0, "-", "Saws"), (1, "-", "rip"), (0, "-", "Planes")),
    ),
    page(
        "paragraphs in items",
        article(f"{PROSE}<ol><li><p>Mark the line.</p><p>Use a knife.</p></li><li><p>Saw beside it.</p></li></ol>"),
        items=((0, "1.", "Mark the line."), (0, "2.", "Saw beside it.")),
        texts=("Use a knife.",),
    ),
    page(
        "tasks",
        article(
            f"{PROSE}<ul class=task-list><li><input type=checkbox checked disabled> sharpen<li><input type=checkbox> oil</ul>"
        ),
        items=((0, "-", "[x] sharpen"), (0, "-", "[ ] oil")),
    ),
    page(
        "a list in a quotation",
        article(f"{PROSE}<blockquote><p>He said:</p><ul><li>measure<li>cut</ul></blockquote>"),
        texts=("> He said:", "> - measure", "> - cut"),
    ),
    page(
        "definitions",
        article(f"{PROSE}<dl><dt>Kerf<dd>The width of the cut.<dt>Burr<dd>A thin edge.</dl>"),
        texts=("Kerf", "The width of the cut.", "Burr", "A thin edge."),
    ),
    page(
        "Japanese lines",
        article(f"{PROSE}<ol><li>墨を\n付ける<li>鋸で\n挽く</ol>", lang="ja"),
        items=((0, "1.", "墨を付ける"), (0, "2.", "鋸で挽く")),
    ),
    page(
        "divs in items",
        article(f"{PROSE}<ol><li><div><span>First </span><b>cut</b></div></li><li><div>Second</div></li></ol>"),
        items=((0, "1.", "First **cut**"), (0, "2.", "Second")),
    ),
)
