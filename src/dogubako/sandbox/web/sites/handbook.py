"""handbook.sandbox.invalid: one page that is far too long to be read at once."""

from typing import Final

from dogubako.sandbox.web.document import Document

# Tool, what it does, what goes wrong with it.
_CHAPTERS: Final = (
    ("Hammers", "drive nails and move stubborn parts", "a loose head"),
    ("Mallets", "drive chisels and close joints", "a split face"),
    ("Chisels", "cut joints and clean corners", "a chipped edge"),
    ("Gouges", "cut hollows and round grooves", "a dull inside"),
    ("Planes", "make boards flat and smooth", "a blade that sits askew"),
    ("Spokeshaves", "shape curves and handles", "a clogged mouth"),
    ("Scrapers", "smooth wild grain", "a worn burr"),
    ("Pull saws", "cut joints with a thin kerf", "a bent blade"),
    ("Frame saws", "cut curves and long boards", "a slack string"),
    ("Rasps", "take off much in little time", "teeth full of dust"),
    ("Files", "take off little with much care", "teeth full of metal"),
    ("Drills", "make round holes", "a wandering bit"),
    ("Augers", "make deep holes", "a broken screw point"),
    ("Squares", "show right angles", "a corner that is no longer right"),
    ("Bevels", "carry angles about", "a nut that slips"),
    ("Gauges", "draw parallel lines", "a blunt pin"),
    ("Compasses", "draw circles and step off distances", "a leg that moves"),
    ("Rules", "measure lengths", "a worn end"),
    ("Levels", "show what is level", "a vial that was moved"),
    ("Plumb lines", "show what is upright", "wind"),
    ("Clamps", "hold work together", "a dry screw"),
    ("Vises", "hold work still", "a jaw that racks"),
    ("Holdfasts", "hold work down", "a hole that has grown"),
    ("Pliers", "hold, bend and cut wire", "a loose joint"),
    ("Wrenches", "turn nuts", "rounded corners"),
    ("Screwdrivers", "turn screws", "a tip that does not fit"),
    ("Awls", "mark and start holes", "a bent point"),
    ("Knives", "mark and trim", "a forgotten sheath"),
    ("Axes", "split and hew", "a dry handle"),
    ("Adzes", "hollow and level", "an angle that was changed"),
    ("Whetstones", "sharpen edges", "a hollow surface"),
    ("Strops", "polish edges", "a cut in the leather"),
    ("Oil cans", "keep rust away", "a missing cap"),
    ("Brushes", "carry glue and finish", "bristles that dried"),
    ("Toolboxes", "keep all of it together", "too much in them"),
)


def _chapter(tool: str, use: str, trouble: str) -> str:
    one = tool.lower()
    return f"""
## {tool}

This chapter is about {one}. In a toolbox they are there to {use}. Choose the size by the work: large {one} tire the
hand, and small {one} tire the patience. Try them before you buy them, since no two hands are the same, and look at the
whole piece in good light before you pay for it.

The usual trouble with {one} is {trouble}. It comes slowly and is seen late, so look for it every time you take {one}
out of the box and every time you put them back. What is mended at once takes a minute; what is left until the next day
takes an hour, and it takes the hour when there is none to spare.

When the work is done, {one} go back to their own place. An empty place shows what is missing before the box is closed,
which is the whole secret of a toolbox that has served three generations without losing more than a pencil.
"""


_OPENING: Final = """
This handbook describes every tool of a good toolbox, one chapter for each: what it does, what goes wrong with it, and
how to keep it. It is meant to be looked things up in, and not to be read from the first line to the last.
"""

HANDBOOK: Final = (
    Document(
        site="handbook",
        path="/",
        title="The toolbox handbook",
        text=_OPENING + "".join(_chapter(*chapter) for chapter in _CHAPTERS),
        age_days=800,
    ),
)
