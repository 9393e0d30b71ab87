"""The time that a session may spend on measuring."""

from __future__ import annotations

import time


class Budget:
    """A stretch of time that began when this was made.

    Parameters
    ----------
    total_s : float
        Seconds; infinite where only n bounds the experiment.
    """

    def __init__(self, total_s: float) -> None:
        self.total_s = total_s
        self._end = time.monotonic() + total_s

    @property
    def left_s(self) -> float:
        """Seconds that are left, never negative."""
        return max(0.0, self._end - time.monotonic())

    @property
    def over(self) -> bool:
        """Whether nothing is left."""
        return self.left_s <= 0

    def share(self, parts: int) -> Budget:
        """Return one of equal parts of what is left, beginning now."""
        return Budget(self.left_s / parts)
