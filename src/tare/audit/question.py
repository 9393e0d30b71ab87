"""What an audit is asked: precision, confidence, quantiles, and what the columns mean."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from tare.errors import InputError
from tare.interop import Columns

#: Told what is done, how much of it, and of how much.
Tell = Callable[[str, int, int], None]
#: Quantiles beside the median that are always told.
QUANTILES = (0.9, 0.95, 0.99)


@dataclass(frozen=True)
class Question:
    """What an audit is asked.

    Attributes
    ----------
    columns : Columns
        What the columns of a table, or the keys of another format, mean.
    format : str or None
        Name of the format; None: the one that recognises the file.
    precision : float
        Half-width that the median's interval should have, relative to it: 0.01 is ±1 %.
    confidence : float
        Of all intervals, between 0 and 1.
    quantiles : tuple of float
        Beside the median.
    margin : float
        Relative difference below which two series are the same for all practical purposes.
    seed : int
        Of all resampling: the same seed gives the same audit.
    """

    columns: Columns = field(default_factory=Columns)
    format: str | None = None
    precision: float = 0.01
    confidence: float = 0.95
    quantiles: tuple[float, ...] = QUANTILES
    margin: float = 0.02
    seed: int = 1

    def __post_init__(self) -> None:
        for name, value in (("precision", self.precision), ("confidence", self.confidence)):
            if not 0 < value < 1:
                raise InputError(
                    f"{name} is to be between 0 and 1, not {value:g}",
                    f"--{name} 1% or --{name} 0.01",
                )
        for q in self.quantiles:
            if not 0 < q < 1:
                raise InputError(
                    f"a quantile is to be between 0 and 1, not {q:g}", "--quantile p99"
                )


def silent(what: str, done: int, of: int) -> None:
    """Tell nobody."""
