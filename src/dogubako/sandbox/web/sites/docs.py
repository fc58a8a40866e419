"""docs.sandbox.invalid: the manual of a made-up program that queues jobs."""

from typing import Final

from dogubako.sandbox.web.document import Document


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
