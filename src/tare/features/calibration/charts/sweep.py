"""A sweep as it is drawn: in the unit that people read, each step with the piece it lies on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tare.experiment.sweep.axis import AXES, AxisName
from tare.experiment.sweep.document import By, Calibration, Fit, Interval, Point
from tare.experiment.sweep.rates import unit_for
from tare.statistics.scaling import Scaling

#: Axis title for each swept resource.
_SWEPT = {"quota": "CPUs asked for", "cpuset": "whole CPUs given"}
_MEMORY = "memory in MB"


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
    #: Measured point of the sweep; None: only the fitted line is known.
    point: Point | None = None


@dataclass(frozen=True)
class Sweep:
    """Steps and model of one sweep.

    Attributes
    ----------
    axis : AxisName
        What places are.
    x_title : str
        Of the axis that is swept.
    unit : str
        Of the rates.
    scale : float
        That rates were divided by.
    """

    axis: AxisName
    x_title: str
    unit: str
    scale: float
    steps: tuple[Step, ...]
    scaling: Scaling
    pieces: tuple[Piece, ...]

    @property
    def per(self) -> str:
        """The unit that slopes are per: CPU, or GB."""
        return AXES[self.axis].per

    def each(self, step: Step) -> float:
        """Return the rate of a step for each CPU, or GB."""
        return step.y / step.x * AXES[self.axis].places_per

    def slope(self, piece: Piece) -> float:
        """Return the slope of a piece per CPU, or per GB."""
        return piece.slope * AXES[self.axis].places_per

    def place(self, x: float) -> str:
        """Write a place with its unit."""
        return f"{x:.4g} {AXES[self.axis].unit}" if x < 1000 else f"{x:,.0f} {AXES[self.axis].unit}"

    @property
    def line(self) -> Piece:
        """The one line that the verdict is found by, over the whole sweep."""
        line = self.scaling.straight or self.scaling.line
        return Piece(
            letter="",
            start=self.start,
            end=self.end,
            slope=line.slope / self.scale,
            intercept=line.intercept / self.scale,
            flat=False,
        )

    @property
    def r2(self) -> float | None:
        """R² of :attr:`line`; None where it is another than CALIBRATE's, which R² is known of."""
        return None if self.scaling.straight else self.scaling.line.r2

    @property
    def start(self) -> float:
        """The first place; of a published line that of its range."""
        return self.steps[0].x if self.steps else self.pieces[0].start

    @property
    def end(self) -> float:
        """The last place."""
        return self.steps[-1].x if self.steps else self.pieces[-1].end

    def piece_of(self, x: float) -> int:
        """Tell which piece a place belongs to: the nearest where it lies between two."""
        away = [max(piece.start - x, x - piece.end, 0.0) for piece in self.pieces]
        return away.index(min(away))


def asked(calibration: Calibration | Fit, scale: tuple[float, str] | None = None) -> Sweep:
    """Draw a calibration against the CPU time or the memory that was asked for.

    Parameters
    ----------
    calibration : Calibration or Fit
    scale : (float, str), optional
        Unit of the rates, where several stand together.
    """
    size, unit = scale or scale_of([calibration])
    if isinstance(calibration, Fit):
        by: By = "quota"
        measured: list[tuple[float, Interval, Sequence[float], Point | None]] = [
            (x, Interval(value=sum(some) / len(some)), some, None) for x, some in calibration.steps
        ]
    else:
        by = calibration.by
        measured = [(calibration.place(p), p.rate, p.rates, p) for p in calibration.points]
    scaling = calibration.asked
    return Sweep(
        axis=calibration.axis,
        x_title=_MEMORY if calibration.axis == "memory" else _SWEPT.get(by, _SWEPT["quota"]),
        unit=unit,
        scale=size,
        steps=tuple(
            Step(
                x=x,
                y=rate.value / size,
                low=None if rate.low is None else rate.low / size,
                high=None if rate.high is None else rate.high / size,
                n=len(singles),
                singles=tuple(value / size for value in singles),
                point=point,
            )
            for x, rate, singles, point in sorted(measured, key=lambda step: step[0])
        ),
        scaling=scaling,
        pieces=tuple(
            Piece(
                letter=chr(ord("A") + i),
                start=one.start,
                end=one.end,
                slope=one.slope / size,
                intercept=one.intercept / size,
                flat=scaling.saturates_at is not None and one.start >= scaling.saturates_at - 1e-9,
            )
            for i, one in enumerate(sorted(scaling.segments, key=lambda one: one.start))
        ),
    )


def scale_of(calibrations: Sequence[Calibration | Fit]) -> tuple[float, str]:
    """Choose one unit for the rates of several calibrations."""
    return unit_for(
        calibrations[0].work,
        [rate for some in calibrations for _, rates in some.steps for rate in rates]
        or [some.asked.line.maximum for some in calibrations],
    )
