"""Pictures of characters: a plot with axes, and a series in one line."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

#: Heights of a character, the lowest first.
_BLOCKS = "▁▂▃▄▅▆▇█"
_NOTHING, _UNKNOWN = "·", " "


@dataclass(frozen=True)
class Axis:
    """The values from one end of a plot to the other; of a logarithmic one both are positive."""

    low: float
    high: float
    logarithmic: bool = False

    def place(self, value: float, size: int) -> int | None:
        """Return which of so many characters a value stands at; None: beyond the ends."""
        if self.logarithmic and value <= 0:
            return None
        low, high, at = map(self._scaled, (self.low, self.high, value))
        place = round((at - low) / (high - low) * (size - 1))
        return place if 0 <= place < size else None

    def value(self, place: int, size: int) -> float:
        """Return the value that stands at a character."""
        low, high = self._scaled(self.low), self._scaled(self.high)
        at = low + place / (size - 1) * (high - low)
        return math.exp(at) if self.logarithmic else at

    def _scaled(self, value: float) -> float:
        return math.log(value) if self.logarithmic else value


class TextPlot:
    """Signs at places in a field with axes; what is drawn later stands in front.

    Parameters
    ----------
    x, y : Axis
    width, height : int
        Of the field, in characters.
    """

    def __init__(self, x: Axis, y: Axis, width: int = 60, height: int = 7) -> None:
        self._x, self._y = x, y
        self._width, self._height = width, height
        self._grid = [[" "] * width for _ in range(height)]

    def mark(self, x: float, y: float, sign: str) -> None:
        """Draw one sign; what is beyond an end is not drawn."""
        column, row = self._x.place(x, self._width), self._y.place(y, self._height)
        if column is not None and row is not None:
            self._grid[row][column] = sign

    def upright(self, x: float, sign: str) -> None:
        """Draw a vertical line."""
        column = self._x.place(x, self._width)
        if column is not None:
            for row in self._grid:
                row[column] = sign

    def curve(self, of: Callable[[float], float], sign: str) -> None:
        """Draw a curve where nothing stands yet."""
        for column in range(self._width):
            row = self._y.place(of(self._x.value(column, self._width)), self._height)
            if row is not None and self._grid[row][column] == " ":
                self._grid[row][column] = sign

    def lines(
        self, x_text: Callable[[float], str], y_text: Callable[[float], str], title: str = ""
    ) -> list[str]:
        """Return the field with its axes, highest first.

        Parameters
        ----------
        x_text, y_text : callable
            A value of an axis as text.
        title : str
            Of the horizontal axis, between its ends.
        """
        top, half = self._height - 1, (self._height - 1) // 2
        labels = {row: y_text(self._y.value(row, self._height)) for row in (top, half, 0)}
        indent = max(map(len, labels.values())) + 1
        first, last = x_text(self._x.low), x_text(self._x.high)
        between = title.center(self._width - len(first) - len(last))
        return [
            *(
                f"{labels.get(row, ''):>{indent}} │{''.join(self._grid[row])}".rstrip()
                for row in range(top, -1, -1)
            ),
            f"{'':>{indent}} └{'─' * self._width}",
            f"{'':>{indent}}  {first}{between}{last}",
        ]


def sparkline(
    values: Sequence[float | None], most: float | None = None, width: int | None = None
) -> str:
    """Draw values from 0 to ``most`` as blocks of as many heights.

    Parameters
    ----------
    values : sequence of float or None
        None: unknown, drawn as a blank. 0 is drawn as a dot.
    most : float, optional
        By default the largest.
    width : int, optional
        Characters that must do; values that share one are drawn by their mean.
    """
    if width is not None and len(values) > width:
        edges = [round(i * len(values) / width) for i in range(width + 1)]
        values = [_mean(values[start:end]) for start, end in itertools.pairwise(edges)]
    if most is None:
        most = max((v for v in values if v is not None), default=0.0)
    return "".join(_block(value, most) for value in values)


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _block(value: float | None, most: float) -> str:
    if value is None:
        return _UNKNOWN
    if value <= 0 or most <= 0:
        return _NOTHING
    return _BLOCKS[min(len(_BLOCKS) - 1, int(len(_BLOCKS) * value / most))]
