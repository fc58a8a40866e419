"""news.sandbox.invalid: what happened in a town that does not exist."""

from typing import Final

from dogubako.sandbox.web.document import Document


def _report(path: str, age_days: int, title: str, text: str) -> Document:
    return Document(site="news", path=path, title=title, text=text, age_days=age_days)


NEWS: Final = (
    _report(
        "/bridge",
        1,
        "The old bridge opens again",
        """
After two years of repair the old bridge over the river Tane is open for everybody again. Some three hundred people
walked across it this morning, and the band of the fire brigade played.

The carpenters brought a toolbox of the year 1890 with them, which had been found inside a pillar.
""",
    ),
    _report(
        "/library",
        3,
        "The library lends tools now",
        """
Since Monday the library of the town lends tools as well as books. Whoever has a card may take a toolbox home for two
weeks. Saws and drills are asked for most, says the librarian.

The idea came from a reader who needed a clamp for one afternoon only.
""",
    ),
    _report(
        "/market",
        6,
        "A market for repairs",
        """
On Saturday the market place belongs to those who repair things. Forty tables are there for shoes, clocks and radios.
Bring what is broken, and the toolbox is already waiting.

Last year nine of ten things went home in working order, and the tenth was at least understood.
""",
    ),
    _report(
        "/weather",
        2,
        "Snow before the weekend",
        """
The weather station on the hill expects snow from Thursday on. Down in the town it will be rain at first. The roads to
the north may be closed for some hours.
""",
    ),
    _report(
        "/school",
        20,
        "Pupils build forty chairs",
        """
The pupils of the seventh class built a chair each this winter, with hand tools only. Each of them packed a toolbox at
the beginning and knew every piece in it by name at the end.
""",
    ),
    _report(
        "/election",
        45,
        "Town council elected",
        """
The town has elected a new council of eleven members. Three of them are new. The first meeting will be about the roof
of the swimming hall.
""",
    ),
    _report(
        "/railway",
        300,
        "The night train comes back",
        """
From spring on the night train stops in the town again, once in each direction. It carries bicycles, and for the first
time there is a carriage in which people may work, with a toolbox for emergencies.
""",
    ),
)
