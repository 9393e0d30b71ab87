"""What is said of a sweep, in one sentence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tare.statistics.steps import Steps
from tare.statistics.telling import percent

if TYPE_CHECKING:
    from tare.statistics.scaling import Segment

#: Windows at a step beyond which a quieter machine is the better advice.
_MOST_WINDOWS = 50


def told(
    verdict: str,
    segments: Sequence[Segment],
    error: float | None,
    ceiling: tuple[float | None, float | None, float | None],
    sees: float | None,
) -> str:
    """Say how y follows x."""
    at, low, high = ceiling
    lines = segments if at is None else segments[:-1]
    ranges = [f"{s.start:.3g} to {s.end:.3g}" for s in lines]
    errs = "" if error is None else percent(error)
    if verdict == "linear":
        unseen = "" if sees is None or math.isinf(sees) else _unseen(sees)
        return f"Linear from {ranges[0]}: one line holds within {errs} at every step{unseen}."
    if not lines:
        return f"Flat from {segments[0].start:.3g} to {segments[0].end:.3g}: more gives nothing."
    flat = "" if at is None else f"flat from {at:.3g} [{low:.3g}, {high:.3g}] on"
    if verdict == "saturating":
        return f"Linear from {ranges[0]}, and {flat}: more than that gives nothing."
    text = f"Not one line but {len(ranges)}: {', '.join(ranges)}" + (flat and f"; {flat}")
    if len(ranges) == 1:
        text = f"One line from {ranges[0]}; {flat}"
    return f"{text}. A single line errs by up to {errs}."


def _unseen(sees: float) -> str:
    return f"; a jump that made it err by {percent(sees)} would have been seen"


def too_few(steps: int, fewest: int) -> str:
    """Say that there are too few steps to conclude anything."""
    return (
        f"Too few to say: {steps} step{'s' * (steps != 1)} cannot tell a line from a bend; "
        f"measure at {fewest} or more."
    )


def too_noisy(at: Steps, error: float | None, scatter: float, sees: tuple[float, float]) -> str:
    """Say why nothing is concluded, and what would help.

    ``scatter``: relative, of steps about the line; ``sees``: the error that would be seen, and the
    one that is to be.
    """
    n, windows = len(at.x), float(np.mean(at.counts))
    errs = "an unknown share" if error is None else percent(error)
    text = f"Too noisy to say: one line errs by up to {errs} at the {n} steps, "
    if not math.isfinite(sees[0]):
        return f"{text}and so few cannot tell whether by chance: measure at 10 or more."
    text += f"and a jump that made it err by {percent(sees[0])} could be overlooked. "
    if at.scatter is not None and scatter > 2 * at.scatter / math.sqrt(windows):
        return text + (
            "More windows would not help, since steps differ by more than their windows explain: "
            "measure at smaller steps, or on an idle machine."
        )
    wanted = math.ceil(windows * (sees[0] / sees[1]) ** 2)
    if wanted > _MOST_WINDOWS:
        return text + "Measure on an idle machine, or at smaller steps with more windows each."
    return text + (
        f"About {wanted} windows at each step instead of {windows:.3g} would do, "
        "or smaller steps, or an idle machine."
    )
