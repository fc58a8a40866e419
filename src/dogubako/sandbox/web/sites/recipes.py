"""recipes.sandbox.invalid: a few dishes, with what they need and how they are made."""

from typing import Final

from dogubako.sandbox.web.document import Document


def _dish(path: str, title: str, text: str) -> Document:
    return Document(site="recipes", path=path, title=title, text=text, age_days=700)


RECIPES: Final = (
    _dish(
        "/miso-soup",
        "Miso soup with tofu",
        """
A bowl of miso soup takes a quarter of an hour and warms for a whole evening. This recipe is for four people.

## Ingredients

One litre of dashi, four spoons of miso, two hundred grams of tofu, a spring onion, a handful of wakame.

## Method

Warm the dashi without boiling it. Stir the miso in through a sieve. Add tofu in small cubes and the wakame, wait three
minutes, and put the spring onion on top.
""",
    ),
    _dish(
        "/rye-bread",
        "Rye bread with caraway",
        """
This bread needs two days and twenty minutes of work. It stays fresh for a week, and it is best on the third day.

## Ingredients

Six hundred grams of rye flour, four hundred of water, a cup of sourdough, salt and a spoon of caraway.

## Method

Mix everything in the evening. In the morning form a loaf, let it rest for two hours, and bake it for one.
""",
    ),
    _dish(
        "/apple-cake",
        "Apple cake of the carpenters",
        """
Carpenters eat this cake when a roof is finished. It fits into a toolbox in one piece and does not mind a bumpy road.

## Ingredients

Three apples, two hundred grams of flour, a hundred of butter, a hundred of sugar, two eggs.

## Method

Beat butter, sugar and eggs, add the flour, press the apples in from above. Bake for forty minutes.
""",
    ),
    _dish(
        "/pumpkin-stew",
        "Pumpkin stew",
        """
A stew for the first cold days, made of one pumpkin and whatever else the garden has left. It can be kept for three
days, and it gets better with each.

## Method

Cut everything into cubes, fry it for ten minutes, add water and a bay leaf, and let it simmer for forty minutes.
""",
    ),
)
