"""The time that a session may spend on measuring."""

from __future__ import annotations

import math
import time


def for_measuring(total_s: float, spent_s: float) -> float:
    """Return what of a budget is for trials: what is not spent otherwise, but at least half."""
    return max(total_s / 2, total_s - spent_s)


class Budget:
    """A stretch of time that began when this was made.

    Parameters
    ----------
    total_s : float or None
        Seconds; None where only n bounds the experiment.
    spent_s : float
        What of it is spent on something else, see :func:`for_measuring`.
    """

    def __init__(self, total_s: float | None, spent_s: float = 0.0) -> None:
        total_s = math.inf if total_s is None else total_s
        self._end = time.monotonic() + for_measuring(total_s, spent_s)

    @property
    def left_s(self) -> float:
        """Seconds that are left, never negative; infinite where nothing bounds them."""
        return max(0.0, self._end - time.monotonic())

    @property
    def over(self) -> bool:
        """Whether nothing is left."""
        return self.left_s <= 0

    def extend(self, seconds: float) -> None:
        """Give back time that somebody else had."""
        self._end += seconds

    def share(self, parts: int) -> Budget:
        """Return one of equal parts of what is left, beginning now."""
        return Budget(self.left_s / parts)
