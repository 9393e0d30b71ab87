"""A sweep as it is drawn: in the unit that people read, each step with the piece it lies on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tare.experiment.sweep.document import Calibration, Interval, Point
from tare.experiment.sweep.rates import unit_for
from tare.statistics.scaling import Scaling

#: What is swept, as the title of the axis.
_SWEPT = {
    "quota": "CPUs asked for",
    "cpuset": "whole CPUs given",
    "memory": "CPUs that go with the memory",
}


@dataclass(frozen=True)
class Piece:
    """One straight piece, with the letter that it goes by."""

    letter: str
    start: float
    end: float
    slope: float
    intercept: float
    #: Whether it is what the sweep saturates at.
    flat: bool

    def at(self, x: float) -> float:
        """Return its value at a place."""
        return self.intercept + self.slope * x


@dataclass(frozen=True)
class Step:
    """One step: the mean of its trials, and each of them."""

    x: float
    y: float
    low: float | None
    high: float | None
    n: int
    #: The value of each trial.
    singles: tuple[float, ...]
    #: What the machine did; None: nothing is known of a machine.
    point: Point | None = None


@dataclass(frozen=True)
class Sweep:
    """Steps and model of one sweep.

    Attributes
    ----------
    x_title : str
        Of the axis that is swept.
    unit : str
        Of the rates.
    scale : float
        That rates were divided by.
    """

    x_title: str
    unit: str
    scale: float
    steps: tuple[Step, ...]
    scaling: Scaling
    pieces: tuple[Piece, ...]

    @property
    def line(self) -> Piece:
        """The one line through everything, over the whole sweep."""
        line = self.scaling.line
        return Piece(
            letter="",
            start=self.steps[0].x,
            end=self.steps[-1].x,
            slope=line.slope / self.scale,
            intercept=line.intercept / self.scale,
            flat=False,
        )

    def piece_of(self, x: float) -> int:
        """Tell which piece a place belongs to: the nearest where it lies between two."""
        away = [max(piece.start - x, x - piece.end, 0.0) for piece in self.pieces]
        return away.index(min(away))


def asked(calibration: Calibration, scale: tuple[float, str] | None = None) -> Sweep:
    """Draw a calibration against the CPU time that was asked for.

    Parameters
    ----------
    calibration : Calibration
    scale : (float, str), optional
        Unit of the rates, where several stand together.
    """
    size, unit = scale or scale_of([calibration])
    steps = [
        _step(point.cpus, point.rate, size, point.rates, point) for point in calibration.points
    ]
    title = _SWEPT[calibration.by]
    return _sweep(title, unit, size, steps, calibration.asked)


def fitted(
    quotas: Sequence[float], rates: Sequence[float], scaling: Scaling, unit: str = "GFLOPS"
) -> Sweep:
    """Draw somebody else's sweep: places and values in a unit of theirs, in any order."""
    by_place: dict[float, list[float]] = {}
    for quota, rate in zip(quotas, rates, strict=True):
        by_place.setdefault(quota, []).append(rate)
    steps = [
        _step(x, Interval(value=sum(some) / len(some)), 1.0, some, None)
        for x, some in by_place.items()
    ]
    return _sweep(_SWEPT["quota"], unit, 1.0, steps, scaling)


def scale_of(calibrations: Sequence[Calibration]) -> tuple[float, str]:
    """Choose one unit for the rates of several calibrations."""
    return unit_for(
        calibrations[0].work, [p.rate.value for some in calibrations for p in some.points]
    )


def _step(
    x: float,
    rate: Interval,
    scale: float,
    singles: Sequence[float],
    point: Point | None,
) -> Step:
    return Step(
        x=x,
        y=rate.value / scale,
        low=None if rate.low is None else rate.low / scale,
        high=None if rate.high is None else rate.high / scale,
        n=len(singles),
        singles=tuple(value / scale for value in singles),
        point=point,
    )


def _sweep(
    title: str,
    unit: str,
    scale: float,
    steps: Sequence[Step],
    scaling: Scaling,
) -> Sweep:
    some = sorted(scaling.segments, key=lambda segment: segment.start)
    pieces = tuple(
        Piece(
            letter=chr(ord("A") + i),
            start=segment.start,
            end=segment.end,
            slope=segment.slope / scale,
            intercept=segment.intercept / scale,
            flat=scaling.saturates_at is not None and segment.start >= scaling.saturates_at - 1e-9,
        )
        for i, segment in enumerate(some)
    )
    return Sweep(title, unit, scale, tuple(sorted(steps, key=lambda s: s.x)), scaling, pieces)
