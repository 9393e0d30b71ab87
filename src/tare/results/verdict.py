"""Decisions about differences, as data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

#: Of what is compared with a reference. ``higher`` and ``lower``: shown to differ; ``equivalent``:
#: shown to differ by less than the margin, if at all; ``inconclusive``: neither.
Direction = Literal["higher", "lower", "equivalent", "inconclusive"]

#: What a gate answers, and the exit code that says it.
GateAnswer = Literal["pass", "fail", "inconclusive"]
GATE_CODES: Mapping[GateAnswer, int] = {"pass": 0, "fail": 1, "inconclusive": 2}


def word_at_gate(answer: GateAnswer | None, *, failed: bool) -> str | None:
    """Return what stands in place of "inconclusive" where a gate is conclusive; None: it is not.

    ``failed``: the gate fails because trials of the candidate did.
    """
    if answer == "fail" and failed:
        return "failed"
    return {"pass": "below the gate", "fail": "above the gate"}.get(answer or "")


def worst(answers: Sequence[GateAnswer]) -> GateAnswer:
    """Answer for all comparisons: one that fails decides, then one that is inconclusive."""
    return max(answers, key=("pass", "inconclusive", "fail").index)


@dataclass(frozen=True)
class Verdict:
    """What an interval shows of a ratio or a difference.

    Attributes
    ----------
    direction : str
    within_margin : bool
        Whether any difference is shown to be smaller than what matters.
    """

    direction: Direction
    within_margin: bool = False

    @property
    def conclusive(self) -> bool:
        """Whether anything is shown."""
        return self.direction != "inconclusive"

    @property
    def differs(self) -> bool:
        """Whether a difference is shown, of whatever size."""
        return self.direction in ("higher", "lower")


HIGHER, HIGHER_WITHIN = Verdict("higher"), Verdict("higher", within_margin=True)
LOWER, LOWER_WITHIN = Verdict("lower"), Verdict("lower", within_margin=True)
EQUIVALENT = Verdict("equivalent", within_margin=True)
INCONCLUSIVE = Verdict("inconclusive")


def judge(low: float | None, high: float | None, margin: float, *, different: bool) -> Verdict:
    """Judge the interval of a ratio.

    Parameters
    ----------
    low, high : float or None
        Bounds of the ratio, where there is an interval.
    margin : float
        Relative difference below which two values are equivalent for all practical purposes.
    different : bool
        Whether "the ratio is 1" is rejected, after adjustment over the family.

    Returns
    -------
    Verdict
        ``higher`` and ``lower`` need the rejection, ``equivalent`` needs both bounds inside the
        margin: a claim that several cells are equivalent holds at the level of each, because
        all of them must be shown to be.
    """
    if low is None or high is None:
        return INCONCLUSIVE
    within = low > 1 / (1 + margin) and high < 1 + margin
    if different and low > 1:
        return HIGHER_WITHIN if within else HIGHER
    if different and high < 1:
        return LOWER_WITHIN if within else LOWER
    return EQUIVALENT if within else INCONCLUSIVE
