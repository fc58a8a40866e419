"""Charts as inline SVG, drawn on the server. Colours come from the style sheet; every chart has a text for readers."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from markupsafe import Markup, escape

_WIDTH: Final = 400
_HEIGHT: Final = 130
_LEFT: Final = 40
_RIGHT: Final = 5
_BOTTOM: Final = 18
_TOP: Final = 8
_GRID_LINES: Final = 2

Series = tuple[str, str, Sequence[float | None]]


def bars(title: str, summary: str, starts: Sequence[int], stacked: Sequence[Series]) -> Markup:
    """Stacked bars. A series is a class for its colour, its name, and its values."""
    sums = [sum(values[at] or 0 for _, _, values in stacked) for at in range(len(starts))]
    top = _ceiling(max(sums, default=0))
    width = (_WIDTH - _LEFT - _RIGHT) / max(1, len(starts))
    shapes = []
    for at in range(len(starts)):
        base = 0.0
        for kind, name, values in stacked:
            value = values[at] or 0
            if not value:
                continue
            height = value / top * _room()
            y = _HEIGHT - _BOTTOM - base - height
            label = f"{_clock(starts[at])} {name}: {value:,.0f}"
            shapes.append(
                Markup(
                    '<rect class="{}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"><title>{}</title></rect>'
                ).format(kind, _LEFT + at * width + 0.5, y, max(1.0, width - 1), height, label)
            )
            base += height
    return _framed(title, summary, starts, top, shapes)


def lines(title: str, summary: str, starts: Sequence[int], series: Sequence[Series]) -> Markup:
    """Lines with gaps where a value is missing."""
    top = _ceiling(max((value or 0 for _, _, values in series for value in values), default=0))
    width = (_WIDTH - _LEFT - _RIGHT) / max(1, len(starts))
    shapes = []
    for kind, _, values in series:
        points = [
            None if value is None else (_LEFT + (at + 0.5) * width, _HEIGHT - _BOTTOM - value / top * _room())
            for at, value in enumerate(values)
        ]
        shapes.append(Markup('<path class="line {}" d="{}"/>').format(kind, _path(points)))
        shapes += [
            Markup('<circle class="{}" cx="{:.1f}" cy="{:.1f}" r="3"/>').format(kind, *point)
            for before, point, after in zip([None, *points], points, [*points[1:], None], strict=False)
            if point is not None and before is None and after is None
        ]
    return _framed(title, summary, starts, top, shapes)


def _path(points: Sequence[tuple[float, float] | None]) -> str:
    parts, pen_down = [], False
    for point in points:
        if point is not None:
            parts.append(f"{'L' if pen_down else 'M'}{point[0]:.1f} {point[1]:.1f}")
        pen_down = point is not None
    return " ".join(parts)


def _framed(title: str, summary: str, starts: Sequence[int], top: float, shapes: Sequence[Markup]) -> Markup:
    parts = []
    for line in range(_GRID_LINES + 1):
        y = _HEIGHT - _BOTTOM - line / _GRID_LINES * _room()
        parts.append(Markup('<line class="grid" x1="{}" x2="{}" y1="{:.1f}" y2="{:.1f}"/>').format(_LEFT, _WIDTH, y, y))
        text = _short(top * line / _GRID_LINES)
        parts.append(Markup('<text class="axis" x="{}" y="{:.1f}">{}</text>').format(_LEFT - 6, y + 4, text))
    width = (_WIDTH - _LEFT - _RIGHT) / max(1, len(starts))
    for place, anchor in ((0.0, "start"), (0.5, "middle"), (1.0, "end")) if starts else ():
        start = starts[round(place * (len(starts) - 1))]
        x = _LEFT + place * len(starts) * width
        parts.append(
            Markup('<text class="axis {}" x="{:.1f}" y="{}">{}</text>').format(anchor, x, _HEIGHT - 4, _clock(start))
        )
    inside = Markup("").join([*parts, *shapes])
    return Markup('<svg class="chart" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>').format(
        _WIDTH, _HEIGHT, f"{title}. {summary}", inside
    )


def _short(value: float) -> str:
    """A number in few characters: 950, 12k, 3.5M."""
    for unit, size in (("M", 1_000_000), ("k", 1_000)):
        if value >= size:
            return f"{value / size:.1f}".removesuffix(".0") + unit
    return f"{value:.0f}"


def _room() -> float:
    return _HEIGHT - _BOTTOM - _TOP


def _ceiling(value: float) -> float:
    """The next round number that can be halved."""
    step = 2.0
    while step < value:
        for factor in (2, 2.5, 2):
            step *= factor
            if step >= value:
                break
    return step


def _clock(start: int) -> str:
    return f"{datetime.fromtimestamp(start, UTC):%H:%M}"


def meter(share: float, label: str) -> Markup:
    """A small bar for a share between 0 and 1."""
    width = max(0.0, min(1.0, share)) * 60
    return Markup(
        '<svg class="meter" viewBox="0 0 60 6" role="img" aria-label="{}"><rect class="rest" width="60" height="6" '
        'rx="3"/><rect class="part" width="{:.1f}" height="6" rx="3"/></svg>'
    ).format(escape(label), width)
