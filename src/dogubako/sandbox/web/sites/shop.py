"""shop.sandbox.invalid: a shop for people who work with their hands."""

from typing import Final

from dogubako.sandbox.web.document import Document

# Name, price in crowns, material, what it is for.
_GOODS: Final = (
    ("Smoothing plane", 48, "white oak and steel", "takes the last thin shavings off a board"),
    ("Pull saw", 31, "spring steel", "cuts on the pull, with a narrow and clean kerf"),
    ("Bench chisel", 22, "carbon steel", "pares joints and cleans corners"),
    ("Marking gauge", 19, "brass and maple", "draws a line parallel to an edge"),
    ("Joiner's mallet", 17, "beech", "drives chisels without hurting their handles"),
    ("Try square", 24, "walnut and steel", "shows whether a corner is a right angle"),
    ("Whetstone", 27, "aluminium oxide", "brings a dull edge back in ten minutes"),
    ("Hand drill", 39, "cast iron", "makes small holes without any noise"),
    ("Spokeshave", 29, "bronze", "rounds handles, spokes and chair legs"),
    ("Bar clamp", 14, "ash and steel", "holds two boards together while glue dries"),
    ("Sliding bevel", 21, "rosewood", "takes an angle from one piece to another"),
    ("Card scraper", 9, "spring steel", "smooths wood where a plane would tear it"),
    ("Steel toolbox", 64, "sheet steel", "carries twenty tools up a ladder"),
    ("Canvas tool roll", 18, "waxed canvas", "keeps edges apart on the way to work"),
    ("Pocket rule", 6, "boxwood", "measures two feet and folds to half of one"),
)


def _product(name: str, price: int, material: str, use: str) -> Document:
    text = f"""
{name} of {material}: it {use}. It costs {price} crowns and fits into every toolbox that we sell.

## Details

The {name.lower()} is made of {material}. Our shop in the sandbox tests each piece by hand before it is sent, and takes
it back within a month if it does not please you.

## Care

Wipe it with a dry cloth after use. Once a year a drop of oil keeps it as it is. Never leave it in the rain.
"""
    path = "/" + name.lower().replace("'", "").replace(" ", "-")
    return Document(site="shop", path=path, title=f"{name}, {price} crowns", text=text, age_days=200)


SHOP: Final = tuple(_product(*goods) for goods in _GOODS)
