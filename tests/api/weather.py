"""Tools as a stranger would write them: the public API alone."""

from collections.abc import AsyncIterator, Iterator
from typing import Annotated

from pydantic import BaseModel, Field

from dogubako import Context, Depends, lifespan, prompt, resource, tool
from dogubako.errors import NotFoundError
from dogubako.output import Markdown


class Weather(BaseModel):
    city: str
    degrees: float = Field(serialization_alias="degreesCelsius")


class Station:
    """What the tools of this file share."""

    def __init__(self) -> None:
        self.open = True
        self.degrees = {"Kyoto": 21.5, "小樽": -3.0}


@lifespan
async def station() -> AsyncIterator[Station]:
    shared = Station()
    yield shared
    shared.open = False


def clock() -> Iterator[str]:
    yield "noon"


@tool(effect="read")
async def weather(city: Annotated[str, "Where?"], context: Context[Station] | None = None) -> Weather:
    """The weather of a city."""
    return Weather(city=city, degrees=20.0)


@tool(effect="read")
async def measured(city: Annotated[str, "Where?"], context: Context[Station]) -> Weather:
    """The weather that the station has measured."""
    if city not in context.client.degrees:
        raise NotFoundError(f"No weather of '{city}'", hint="cities() has the names.")
    return Weather(city=city, degrees=context.client.degrees[city])


@tool(effect="read")
def cities(now: Annotated[str, Depends(clock)]) -> list[str]:
    """The cities that are measured, and when."""
    return [f"Kyoto at {now}", f"小樽 at {now}"]


@tool(effect="read")
async def average() -> float:
    """The mean of all degrees."""
    return 9.25


@tool(effect="read")
async def report() -> Markdown:
    """A report for people."""
    return Markdown(blocks=["# Weather", "Fine."])


@resource("weather://{city}/{day}")
async def forecast(city: str, day: int) -> str:
    """A forecast for one of the next days."""
    return f"{city} in {day} days: fine"


@resource("weather://stations")
def stations() -> list[Weather]:
    """All stations."""
    return [Weather(city="Kyoto", degrees=21.5)]


@prompt
def plan_a_trip(city: Annotated[str, "Where to?"], days: Annotated[str, "How long?"] = "2") -> str:
    """Plan a trip by the weather."""
    return f"Plan {days} days in {city}; look at the weather first."
