"""The trials of each level in order of time, with the tokens that each began with."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np

from tare.experiment.findings.network_cells import Ladder, Networks, OfRung, Rung, carried
from tare.experiment.specification import NO_NETWORK
from tare.features.network.findings.need import spending
from tare.results.message import Ratio
from tare.statistics.depletion import BOUND, FEWEST, Depletion, Early, depletion, early
from tare.statistics.holm import holm
from tare.statistics.statistic import FloatArray

_ERROR = 0.05
#: A fall of the tokens by less than this share of the budget counts as none.
_LEAST_FALL = 0.01

#: Effect of more trials at one level. ``drained``: each begins with less budget and takes longer;
#: ``changing``: times change from trial to trial, for an unknown reason; ``steady``: more trials
#: narrow the intervals; ``reset``: each begins with the same budget.
State = Literal["drained", "changing", "steady", "reset", "inconclusive"]


@dataclass(frozen=True, eq=False)
class LevelTrials(OfRung):
    """The trials of one level in order of time.

    Attributes
    ----------
    tokens : array or None
        Bits in the emptiest bucket when each trial began; None: not known.
    depletion : Depletion or None
        Whether trials took longer the fewer there were; None where there are too few.
    p : float
        Of the same, after Holm over all levels.
    early : Early or None
        What the first trials said, and what all of them say.
    reference : str or None
        The level whose trials of the same blocks the values are relative to; None: they are not.
    rest_s : float or None
        Idle period that refills what a trial takes; None where it is not known.
    lasting : int or None
        Trials after which the bucket will be empty, at the rate at which it falls.
    """

    tokens: FloatArray | None
    reference: str | None
    depletion: Depletion | None
    p: float
    early: Early | None
    state: State
    rest_s: float | None
    lasting: int | None

    @property
    def ratio(self) -> Ratio | None:
        """Values with the fewest tokens relative to those with the most."""
        d = self.depletion
        return None if d is None or d.ratio is None else Ratio(d.ratio, d.low, d.high)


def tokens_of(rung: Rung) -> FloatArray | None:
    """Return what was in the emptiest bucket when each trial began; None: not known."""
    known = rung.use.rows(~np.isnan(rung.use["tokens_start_bits"]))
    least = known.reduced("trial", "tokens_start_bits", np.min)
    trials = rung.trials["trial"].tolist()
    if not least or not all(trial in least for trial in trials):
        return None
    return np.array([least[trial] for trial in trials], dtype=float)


@lru_cache(maxsize=4)
def courses(networks: Networks) -> tuple[LevelTrials, ...]:
    """Look at every level whose trials could take something from one another."""
    shared = carried(networks.results)
    some = [
        (ladder, rung)
        for ladder, rung in networks.rungs
        if rung.level.bucket is not None or rung.level.text == NO_NETWORK
    ]
    found = [_depletion(ladder, rung, shared=shared) for ladder, rung in some]
    adjusted = iter(holm([d.following.p for d, _ in found if d is not None]))
    return tuple(
        _course(ladder, rung, d, reference, next(adjusted) if d is not None else 1.0, networks)
        for (ladder, rung), (d, reference) in zip(some, found, strict=True)
    )


def _depletion(ladder: Ladder, rung: Rung, *, shared: bool) -> tuple[Depletion | None, str | None]:
    """Compare trials that began with little; relative to unshaped trials of the same blocks."""
    bucket = rung.level.bucket is not None
    if bucket and not shared:
        return None, None
    tokens = tokens_of(rung) if bucket else None
    began_with = -np.arange(rung.n, dtype=float) if tokens is None else tokens
    reference = ladder.rungs[0]
    if bucket and reference.level.text == NO_NETWORK:
        unshaped = {
            (row["session"], row["block"]): row["value"] for row in reference.trials.records()
        }
        keys = zip(rung.trials["session"].tolist(), rung.trials["block"].tolist(), strict=True)
        beside = np.array([unshaped.get(key, np.nan) for key in keys], dtype=float)
        both = ~np.isnan(beside)
        if both.sum() >= max(FEWEST, 0.9 * rung.n):
            values = rung.values[both] / beside[both]
            return depletion(values, began_with[both]), reference.level.name
    return depletion(rung.values, began_with), None


def _course(
    ladder: Ladder,
    rung: Rung,
    found: Depletion | None,
    reference: str | None,
    p: float,
    networks: Networks,
) -> LevelTrials:
    tokens = tokens_of(rung)
    rest, lasting = _rest(rung, networks), _lasting(tokens)
    state = _state(rung, found, p, tokens, networks)
    return LevelTrials(
        ladder, rung, tokens, reference, found, p, early(rung.values), state, rest, lasting
    )


def _state(
    rung: Rung, found: Depletion | None, p: float, tokens: FloatArray | None, networks: Networks
) -> State:
    bucket = rung.level.bucket is not None
    if bucket and not carried(networks.results):
        return "reset"
    if found is None:
        alike = tokens is not None and len(tokens) >= FEWEST and np.ptp(tokens) == 0
        return "steady" if alike else "inconclusive"
    if p <= _ERROR and (found.ratio or 1) > 1:
        return "drained" if bucket and tokens is not None and fall(tokens) > 0 else "changing"
    if found.low is None or found.high is None:
        return "inconclusive"
    return "steady" if found.low > 1 / (1 + BOUND) and found.high < 1 + BOUND else "inconclusive"


def fall(tokens: FloatArray) -> float:
    """Bits by which tokens at start fell, from the first third of the trials to the last."""
    size = max(1, len(tokens) // 3)
    fallen = float(np.median(tokens[:size]) - np.median(tokens[-size:]))
    return fallen if fallen > _LEAST_FALL * float(np.max(tokens)) else 0.0


def _rest(rung: Rung, networks: Networks) -> float | None:
    """Seconds in which the refill brings back the most that a trial took."""
    spent, bucket = spending(rung), rung.level.bucket
    if spent is None or bucket is None or spent.taken is None or not bucket.refill_bps:
        return None
    return max(spent.taken, 0.0) / bucket.refill_bps


def _lasting(tokens: FloatArray | None) -> int | None:
    """More trials until the bucket is empty; None where it is, or does not fall."""
    if tokens is None or len(tokens) < 3 or not fall(tokens):
        return None
    each = float(tokens[0] - tokens[-1]) / (len(tokens) - 1)
    left = int(tokens[-1] / each) if each > 0 else 0
    return left or None
