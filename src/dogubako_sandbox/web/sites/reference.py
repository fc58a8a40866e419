"""Reference sites."""

from typing import Final

from dogubako_sandbox.web.documents import Document


def _page(path: str, title: str, text: str) -> Document:
    return Document(site="docs", path=path, title=title, text=text, age_days=90)


DOCS: Final = (
    _page(
        "/install",
        "Install Hako",
        """
Hako is a queue for jobs that may take their time. This page shows how to install it on one machine, and how to see
that it runs. You need nothing but a folder that Hako may write to.

## Requirements

A computer with two cores and one gigabyte of memory is enough for a hundred jobs a second. Hako keeps its jobs in one
file, so the disk should be a local one.

## First start

Run hako serve in an empty folder. It prints the address that it listens on, and it makes the file jobs.db. Stop it with
Ctrl-C; jobs that were running are run again at the next start.
""",
    ),
    _page(
        "/jobs",
        "Write a job for Hako",
        """
A job is a function with a name. Hako calls it with the data that was put into the queue, and remembers what it
returned for one day. Jobs are kept in the toolbox of the project, one file per job.

## Retries

A job that fails is tried again after one second, after two and after four. A job that must not run twice says so, and
is then never tried again.
""",
    ),
    _page(
        "/settings",
        "Settings of Hako",
        """
Every setting of Hako has a default. Settings come from the command line, from the environment or from the file
hako.toml, in this order. A setting that nobody knows stops the start.

## Memory

The setting memory says how many finished jobs are kept. Ten thousand is a good number for most machines.
""",
    ),
    _page(
        "/api",
        "The API of Hako",
        """
The API has four calls: put a job in, ask how it is, take its answer, and cancel it. All of them speak JSON. A toolbox
of small clients for other languages is part of the download.

## Errors

An error has a code, a sentence and a hint. The code never changes from one version to the next.
""",
    ),
    _page(
        "/search-shortcuts",
        "Shortcuts in the search box",
        """
The search box of these pages knows shortcuts, called bangs. Writing !w jumps to the encyclopedia, and writing !shop
jumps to the shop, without any list of results in between.

A word in quotes is looked for as it is written, so a quoted bang is only a word.
""",
    ),
    _page(
        "/upgrade",
        "Upgrade Hako from 1 to 2",
        """
Version 2 keeps jobs in another form. The command hako upgrade makes a copy of the file first, and then changes it. It
takes a minute for a million jobs.

## Going back

Version 1 cannot read the new form. Keep the copy until you are sure, and put it back if you are not.
""",
    ),
    _page(
        "/faq",
        "Questions about Hako",
        """
These are the questions that people ask most often about Hako, with short answers. If yours is not among them, the
handbook of the toolbox may have it.

## Why is it called Hako?

Hako means box. Jobs go in at one side and answers come out at the other.
""",
    ),
)


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
