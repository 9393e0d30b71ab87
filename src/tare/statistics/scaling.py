"""How y follows x: along one straight line, along several, or up to a ceiling."""

from __future__ import annotations

from typing import Literal

import msgspec

from tare.statistics.regression import Line

#: What can be said of a sweep.
Verdict = Literal["linear", "piecewise", "saturating", "too noisy to say"]


class Segment(msgspec.Struct, frozen=True, kw_only=True):
    """One straight piece: from its first to its last x."""

    start: float
    end: float
    slope: float
    intercept: float


class Scaling(msgspec.Struct, frozen=True, kw_only=True):
    """How y scales with x."""

    verdict: Verdict
    #: One sentence: the verdict with its ranges, and what would help where it is too noisy.
    sentence: str
    #: Where a piece ends and the next begins, between two measured x; the place of saturation is
    #: not among them.
    breaks: tuple[float, ...]
    #: One piece where it is linear; a flat one last where it saturates.
    segments: tuple[Segment, ...]
    #: One straight line through all points, as CALIBRATE fits it.
    line: Line
    #: The x from which more gives nothing, with its 95 % interval; None: there is none.
    saturates_at: float | None = None
    saturates_low: float | None = None
    saturates_high: float | None = None
    #: Largest relative error of the single line at any x (of its mean).
    largest_error: float | None = None
