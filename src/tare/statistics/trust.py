"""Can a series be trusted? TRUST, DOUBT or REJECT, with the reasons."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from tare.registry import Description, Parameter
from tare.statistics.changes import Changes, changes, remaining
from tare.statistics.independence import MOST_TAU
from tare.statistics.order import FEWEST, order_of
from tare.statistics.statistic import FloatArray, Statistic
from tare.statistics.telling import chosen, percent

Verdict = Literal["TRUST", "DOUBT", "REJECT"]

#: Between values in two units: the factor that at least is there, and the gap without any value.
_LEAST_SCALE, _LEAST_GAP = 900, 100
#: Values, evenly taken, that units are looked for in.
_MOST_SORTED = 100_000


class Defect(Protocol):
    """What a reader of a file found wrong."""

    @property
    def kind(self) -> str:
        """``corrupt``, ``mixed units`` or ``summary only``."""

    @property
    def message(self) -> str:
        """One sentence with the place."""


@dataclass(frozen=True)
class Trust:
    """A verdict and why.

    Attributes
    ----------
    verdict : {"TRUST", "DOUBT", "REJECT"}
    reasons : tuple of str
        Each a sentence with the figure and what to do; none of a TRUST.
    remarks : tuple of str
        What is to be known all the same, and lowers no verdict.
    """

    verdict: Verdict
    reasons: tuple[str, ...]
    remarks: tuple[str, ...] = ()


def trust(
    values: FloatArray,
    *,
    trials_known: bool,
    precision: float = 0.01,
    defects: Sequence[Defect] = (),
) -> Trust:
    """Judge one series.

    REJECT: fewer than 6 trials, corrupt values, mixed units (also where only the size of the values
    shows them). DOUBT: a dependence time above 1.5, a drift or a change of level larger than the
    target, values that are not known to be trials. Shape, modes and outliers never lower a verdict.

    Parameters
    ----------
    values : array, shape (n,)
        Trial values in order of time; memory maps included.
    trials_known : bool
        Whether each value is known to come from an execution of its own.
    precision : float
        The target: relative change that matters.
    defects : sequence of Defect
        What was found wrong when the values were read.

    Returns
    -------
    Trust

    Notes
    -----
    One error budget holds for dependence, drift and changes together: at most 5 % of series of
    independent values, whatever their distribution, get anything but TRUST.

    Found in 90 % or more by simulation, where larger than the target (SD is that of single trials):
    at n = 20 a drift of 3.5 SD, a step of 2.5 SD, a warm-up of the first 20 % of 3 SD or of the
    first 10 % of 5 SD; at n = 100 a drift of 1.5 SD, a step of 1 SD, a warm-up of 1.5 SD, AR(.5);
    at n = 1000 AR(.3). Not at n = 20: dependence (AR(.5) 40 %, AR(.8) 81 %).
    """
    rejections = [_rejection(d) for d in defects]
    unfit = 0 if len(values) == 0 else _not_finite(values)
    if unfit and not any(d.kind == "corrupt" for d in defects):
        rejections.append(
            f"{unfit} of {len(values)} values are not finite numbers: find out what wrote them, "
            "and measure again."
        )
    if len(values) - unfit < FEWEST:
        n = len(values) - unfit
        rejections.append(
            f"{n} {'value is' if n == 1 else 'values are'} too few: an interval of the median "
            f"needs {FEWEST}, so measure {FEWEST - n} more at least."
        )
    if not rejections and (scale := mixed_scale(values)) is not None:
        rejections.append(
            f"Some values are {scale:,.0f} times the others and nothing lies between, as if there "
            "were two units: convert them to one, or audit the two kinds as series of their own."
        )
    if rejections:
        return Trust("REJECT", tuple(rejections))
    doubts, remarks = _look(values, precision)
    if not trials_known:
        doubts.append(
            "Nothing says which execution each value comes from, so that they may be iterations "
            "of one: measure separate executions, or name the column of a table that tells them "
            "apart (--trial)."
        )
    if doubts:
        return Trust("DOUBT", tuple(doubts), tuple(remarks))
    return Trust("TRUST", (), tuple(remarks))


def mixed_scale(values: FloatArray) -> float | None:
    """Find two units in one series: two groups of values a power of 1,000 apart.

    Parameters
    ----------
    values : array, shape (n,)

    Returns
    -------
    float or None
        The power, where the groups' medians are within 5 % of it and a factor of 100 with no value
        lies between them; modes that differ by just such a factor are not known in nature.
    """
    values = values[:: max(1, len(values) // _MOST_SORTED)]
    low, high = float(np.min(values)), float(np.max(values))
    if low <= 0 or high < _LEAST_SCALE * low:
        return None
    ordered = np.sort(values)
    steps = ordered[1:] / ordered[:-1]
    cut = int(np.argmax(steps)) + 1
    if steps[cut - 1] < _LEAST_GAP:
        return None
    ratio = float(np.median(ordered[cut:]) / np.median(ordered[:cut]))
    power = 1000.0 ** round(math.log(ratio, 1000))
    return power if abs(ratio / power - 1) < 0.05 else None


def _rejection(defect: Defect) -> str:
    if defect.kind == "mixed units":
        return f"{defect.message} Convert them to one unit, or separate them, and audit again."
    return f"{defect.message} Repair the file or measure again."


def _not_finite(values: FloatArray, step: int = 1 << 20) -> int:
    """Count in pieces, so that a memory map is not loaded whole."""
    return sum(
        int(np.count_nonzero(~np.isfinite(values[i : i + step])))
        for i in range(0, len(values), step)
    )


def _look(values: FloatArray, precision: float) -> tuple[list[str], list[str]]:
    """Look at the order of the values: what lowers the verdict, what is only to be known."""
    order = order_of(values)
    if order is None:
        return [
            "All values are equal: the clock is coarser than their spread, how coarse cannot be "
            "seen. Time more work at once, or with a finer clock."
        ], []
    found = changes(values, precision, order)
    doubts = [] if found.ok else [_change_doubt(found, precision)]
    left = remaining(order, found)
    if left.remembers and left.tau > MOST_TAU:
        doubts.append(_memory_doubt(left.tau, len(values), bool(doubts)))
    changed = found.drift is not None or found.largest is not None
    return doubts, [found.sentence] if changed and not doubts else []


def _change_doubt(found: Changes, precision: float) -> str:
    size = percent(found.drift or found.largest or 0.0, sign=True)
    beyond = f"by {size}, more than the target of {chosen(precision)}"
    if found.drift is not None:
        return (
            f"From the first trial to the last the values drift {beyond}: let the machine settle, "
            "or spread the trials over blocks in random order, and measure again."
        )
    return (
        f"At trial {(found.at or 0) + 1} the level changes {beyond}: find out what happened then, "
        "or conclude from the trials on one side of it."
    )


def _memory_doubt(tau: float, n: int, changed: bool) -> str:
    beside = "Apart from that, trials" if changed else "Trials"
    return (
        f"{beside} resemble those before them (dependence time {tau:.1f}, above {MOST_TAU}), so "
        f"that {n:,} are worth about {n / tau:,.0f} and intervals that do not know of it are "
        f"{np.sqrt(tau):.1f} times too narrow: rest between trials, or reset what they leave."
    )


UNIT = Statistic(
    description=Description(
        name="trust",
        title="Verdict on one series: TRUST, DOUBT, REJECT",
        question="Can these numbers be trusted?",
        parameters=(
            Parameter(
                name="precision",
                meaning="relative change that matters: the target",
                unit="1",
                default=0.01,
                minimum=0.0,
            ),
        ),
        source="thresholds and error budget chosen by simulation",
    ),
    methods=(trust, mixed_scale),
)
