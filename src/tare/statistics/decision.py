"""What the stopping rule says of a cell, and of several metrics of one cell together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from tare.results.message import Message, message
from tare.statistics.refusals import Why

#: Why a cell stops: it has what was asked; it had as many trials as any cell gets; no further trial
#: will help; or, of a comparison, every verdict is safe, or what is compared with keeps failing.
Reason = Literal["target", "cap", "refused", "decided", "alone"]


@dataclass(frozen=True)
class Decision:
    """What the rule says of one cell.

    Attributes
    ----------
    stop : bool
        Whether the cell has what it needs, or never will.
    reason : {"target", "cap", "refused", "decided", "alone"} or None
        Why it stops.
    reached : float or None
        Relative half-width of the quantile's interval over all trials; None where there are
        too few.
    more_trials : int or None
        About how many trials the target still takes; None where it is met or cannot be said.
    why : {"wide", "remembers", "drifts", "jumps", "ordered"} or None
        What speaks against calling the target reached, where it is more than that trials are
        missing; also told while the cell goes on.
    refusal : Message or None
        The same as a sentence, with what to do.
    """

    stop: bool
    reason: Reason | None = None
    reached: float | None = None
    more_trials: int | None = None
    why: Why | None = None
    refusal: Message | None = None


def together(decisions: Mapping[str, Decision]) -> Decision:
    """Put the decisions on several metrics of one cell together.

    Parameters
    ----------
    decisions : mapping
        Metric to decision, made with ``family`` the number of metrics.

    Returns
    -------
    Decision
        Stops where all stop, with the first reason that is not ``target``; what it reached is
        the widest of all, and what is missing the most that is missing.
    """
    if len(decisions) == 1:
        return next(iter(decisions.values()))
    all_of = list(decisions.values())
    reached = [d.reached for d in all_of]
    more = [d.more_trials for d in all_of if d.more_trials is not None]
    refusals = [
        message("stopping.of", metric=metric, why=d.refusal)
        for metric, d in decisions.items()
        if d.refusal
    ]
    first = next((d for d in all_of if d.reason not in (None, "target")), all_of[0])
    stop = all(d.stop for d in all_of)
    return Decision(
        stop=stop,
        reason=first.reason if stop else None,
        reached=None if None in reached else max(r for r in reached if r is not None),
        more_trials=max(more) if more else None,
        why=next((d.why for d in all_of if d.why), None),
        refusal=message("stopping.several", parts=refusals) if refusals else None,
    )
