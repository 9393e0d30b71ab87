"""What is said of a sweep, in one sentence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tare.statistics.statistic import FloatArray
from tare.statistics.steps import Steps
from tare.units import percent

if TYPE_CHECKING:
    from tare.statistics.scaling import Segment

#: Windows at a step beyond which a quieter machine is the better advice.
_MOST_WINDOWS = 50
#: Steps that one sentence names.
_MOST_NAMED = 3


def told(
    verdict: str,
    segments: Sequence[Segment],
    error: float,
    ceiling: tuple[float | None, float | None, float | None],
    sees: float | None,
    *,
    curved: bool,
) -> str:
    """Say how y follows x."""
    at, low, high = ceiling
    lines = [s for s in (segments if at is None else segments[:-1]) if s.start < s.end]
    alone = [s for s in segments if s.start == s.end]
    ranges = [f"{s.start:.3g} to {s.end:.3g}" for s in lines]
    if verdict == "linear":
        unseen = "" if sees is None or math.isinf(sees) else _unseen(sees)
        holds = f"one line holds within {percent(error)} at every step"
        return f"Linear from {ranges[0]}: {holds}{unseen}."
    if not lines:
        return f"Flat from {segments[0].start:.3g} to {segments[0].end:.3g}: more gives nothing."
    flat = "" if at is None else f"; flat from {at:.3g} [{low:.3g}, {high:.3g}] on"
    if verdict == "saturating":
        return f"Linear from {ranges[0]}{flat}: more than that gives nothing."
    errs = f"A single line errs by {_up_to(error)}"
    if curved:
        return f"Bends gradually, from one line to another: near {', '.join(ranges)}. {errs}."
    text = f"Not one line but {len(ranges)}: {', '.join(ranges)}{flat}"
    if len(ranges) == 1:
        text = f"One line from {ranges[0]}{flat}"
    off = f"; apart from it, {' and '.join(f'{s.start:.3g}' for s in alone)}" if alone else ""
    return f"{text}{off}. {errs}."


def _up_to(error: float) -> str:
    return f"up to {percent(error)}" if math.isfinite(error) else "an unknown share"


def _unseen(sees: float) -> str:
    return f"; a bend that made it err by {percent(sees)} would have been seen"


def apart(x: FloatArray, errors: FloatArray, most: float) -> str:
    """Say that one line describes all steps but a few; ``most``: the error that it may have."""
    far = errors > most
    places = ", ".join(f"{place:.3g}" for place in x[far][:_MOST_NAMED])
    more = f" and {int(far.sum()) - _MOST_NAMED} more" if far.sum() > _MOST_NAMED else ""
    rest = float(errors[~far].max(initial=0.0))
    return (
        f"Inconclusive: one line errs by {_up_to(float(errors.max()))} at {places}{more}, and by "
        f"at most {percent(rest)} elsewhere: so few steps are no line of their own. Measure at "
        "more steps near them, with 3 windows or more at each."
    )


def too_few(steps: int, fewest: int) -> str:
    """Say that there are too few steps to conclude anything."""
    return (
        f"Inconclusive: {steps} step{'s' * (steps != 1)} cannot tell a line from a bend; "
        f"measure at {fewest} or more."
    )


def too_noisy(at: Steps, error: float, scatter: float, sees: tuple[float, float]) -> str:
    """Say why nothing is concluded, and what would help.

    ``scatter``: relative, of steps about the line; ``sees``: the error that would be seen, and the
    one that is to be.
    """
    n, windows = len(at.x), float(np.mean(at.counts))
    text = f"Inconclusive: one line errs by {_up_to(error)} at the {n} steps, "
    if not math.isfinite(sees[0]):
        return f"{text}and so few cannot tell whether by chance: measure at 10 or more."
    text += f"and a jump that made it err by {percent(sees[0])} could be overlooked. "
    within = None if at.scatter is None else float(np.median(at.scatter / np.sqrt(at.counts)))
    if within is not None and scatter > 2 * within:
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
