"""encyclopedia.sandbox.invalid: short articles about things that can be held."""

from typing import Final

from dogubako.sandbox.web.document import Document


def _entry(path: str, title: str, text: str) -> Document:
    return Document(site="encyclopedia", path=path, title=title, text=text, age_days=1_000)


ENCYCLOPEDIA: Final = (
    _entry(
        "/",
        "Encyclopedia of the Sandbox",
        """
An encyclopedia of things that can be held in two hands. It is small, unlike Wikipedia, and all of it is made up for
those who try out a search.
""",
    ),
    _entry(
        "/toolbox",
        "Toolbox",
        """
A toolbox is a box with a handle in which tools are kept, carried and found again. The Japanese word for it is
dogubako. A good toolbox has a place for every tool, and the tool in it.

## History

Boxes for tools are as old as tools that fit into boxes. Ship's carpenters had chests with drawers; their lids are
often painted on the inside.

## Kinds

There are boxes of wood, of steel and of canvas. Wood is quiet, steel is strong, and canvas can be rolled up.
""",
    ),
    _entry(
        "/plane",
        "Plane (tool)",
        """
A plane is a tool with a blade that takes thin shavings off wood. European planes are pushed, Japanese planes are
pulled. The same word means a flat surface, and a machine that flies.
""",
    ),
    _entry(
        "/workbench",
        "Workbench",
        """
A workbench is a strong table for work by hand. It has a vise to hold the piece, and below it there is room for a
toolbox. Its height is right when a hand can lie flat on it.
""",
    ),
    _entry(
        "/wikipedia",
        "Wikipedia",
        """
Wikipedia is an encyclopedia that everybody can read and change. This article is about the word only: wiki means fast,
and the rest comes from encyclopedia.
""",
    ),
)
