"""What an audit is asked: precision, confidence, quantiles, and what the columns mean."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from tare.errors import InputError, Typed
from tare.readers import ColumnOptions
from tare.statistics.time_of_day import HOUR_S
from tare.statistics.trust import PRECISION

#: Told what is done, how much of it, and of how much.
Tell = Callable[[str, int, int], None]
#: Quantiles beside the median that are always told.
QUANTILES = (0.9, 0.95, 0.99)


@dataclass(frozen=True)
class Sizing:
    """What was said of a study of platforms; None: told by names and levels.

    Attributes
    ----------
    size, pinning : str or None
        Columns of the sizes, and of whether programs were pinned.
    reference : str or None
        The level without any layer, which all others are put beside.
    host_cores : float or None
        CPUs of the machine that all sizes were cut from.
    """

    size: str | None = None
    pinning: str | None = None
    reference: str | None = None
    host_cores: float | None = None


@dataclass(frozen=True)
class Question:
    """What an audit is asked.

    Attributes
    ----------
    columns : ColumnOptions
        What the columns of a table, or the keys of another format, mean.
    format : str or None
        Name of the format; None: the one that recognises the file.
    precision : float
        Half-width that the median's interval should have, relative to it: 0.01 is ±1 %. A series
        whose median is known less precisely is doubtful.
    confidence : float
        Of all intervals, between 0 and 1.
    quantiles : tuple of float
        Beside the median.
    margin : float
        Relative difference below which two series are the same for all practical purposes.
    seed : int
        Of all resampling: the same seed gives the same audit.
    finding : str or None
        The one that is wanted: ``overhead``; None: all that the columns allow.
    unit_s : float
        Length of the units of time that medians are taken of, in seconds.
    sizing : Sizing
        What makes a study of platforms.
    steady : bool
        Whether values are means of the steady part of each trial, or steady trials alone.
    """

    columns: ColumnOptions = field(default_factory=ColumnOptions)
    format: str | None = None
    precision: float = PRECISION
    confidence: float = 0.95
    quantiles: tuple[float, ...] = QUANTILES
    margin: float = 0.02
    seed: int = 1
    finding: str | None = None
    unit_s: float = HOUR_S
    sizing: Sizing = field(default_factory=Sizing)
    steady: bool = False

    def __post_init__(self) -> None:
        for name, value in (("precision", self.precision), ("confidence", self.confidence)):
            if not 0 < value < 1:
                raise InputError(
                    f"{name} is to be between 0 and 1, not {value:g}",
                    Typed(f"--{name} 1%"),
                )
        for q in self.quantiles:
            if not 0 < q < 1:
                raise InputError(
                    f"a quantile is to be between 0 and 1, not {q:g}", Typed("--quantile p99")
                )


def silent(what: str, done: int, of: int) -> None:
    """Tell nobody."""
