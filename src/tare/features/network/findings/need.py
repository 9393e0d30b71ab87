"""What hosts send in a trial and take from their buckets: which budgets that makes matter."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from operator import itemgetter
from typing import Literal, NamedTuple

import numpy as np

from tare.experiment.findings.network_cells import Ladder, Networks, Rung
from tare.features.network.findings.network_slowdown import Slowed, slowdowns
from tare.statistics.intervals import Interval, quantile_interval, share_interval

#: Trials from which on the median of what one takes has a 95 % interval.
FEWEST_TRIALS = 6
#: A budget that is depleted in at most this share of trials leaves their p10–p90 range as it is.
RARELY = 0.1

#: Whether a budget matters. ``enough``: it does not; ``dry``: trials depleted it; ``open``: it was
#: not depleted, in too few trials to say that it will not be.
State = Literal["enough", "dry", "open"]


@dataclass(frozen=True)
class HostSpending:
    """What one host sent in the trials of one level.

    Attributes
    ----------
    sent : Interval
        Bits in a trial: the median, headers included.
    taken : float or None
        Most bits that any trial took out of the bucket, net of what refilled meanwhile.
    dry : int
        Trials in which the bucket was empty at some time.
    """

    host: int
    sent: Interval
    taken: float | None
    dry: int


@dataclass(frozen=True, eq=False)
class LevelTraffic:
    """What the hosts sent in the trials of one level."""

    rung: Rung
    hosts: tuple[HostSpending, ...]

    @property
    def busiest(self) -> HostSpending:
        """The host that sends most."""
        return max(self.hosts, key=lambda h: h.sent.estimate)

    @property
    def taken(self) -> float | None:
        """Most that a trial took out of a bucket."""
        return max((h.taken for h in self.hosts if h.taken is not None), default=None)

    @property
    def dry(self) -> int:
        """Trials in which any bucket was empty."""
        return len(dry_trials(self.rung))

    @property
    def share(self) -> tuple[float, float]:
        """The 95 % interval of the share of trials in which any bucket was empty."""
        return share_interval(self.dry, self.rung.n)


@dataclass(frozen=True, eq=False)
class Need:
    """Which budgets matter to one ladder's trials.

    Attributes
    ----------
    states : tuple of State
        Of each of the spendings.
    bits : float or None
        Most that a trial in which no bucket was empty took out of one; None where there is none.
    most : LevelTraffic or None
        Where that was.
    """

    ladder: Ladder
    spendings: tuple[LevelTraffic, ...]
    states: tuple[State, ...]
    bits: float | None
    most: LevelTraffic | None

    @property
    def enough(self) -> LevelTraffic | None:
        """The smallest budget that is enough, as all larger ones are."""
        first = next((i for i, s in enumerate(self.states) if s != "enough"), len(self.states))
        return self.spendings[first - 1] if first else None

    @property
    def short(self) -> LevelTraffic | None:
        """The largest budget that was depleted."""
        return next(iter(self.of("dry")), None)

    @property
    def bounded(self) -> bool:
        """Whether budgets above ``bits`` are enough: one is, and none above was depleted."""
        if self.enough is None or self.bits is None:
            return False
        return all((s.rung.level.budget_bits or 0) < self.bits for s in self.of("dry"))

    def of(self, state: State) -> tuple[LevelTraffic, ...]:
        """Return the budgets in one state, from the largest on."""
        known = zip(self.spendings, self.states, strict=True)
        return tuple(spent for spent, its in known if its == state)

    @property
    def busiest(self) -> HostSpending:
        """The host that sends most, at the largest budget."""
        return self.spendings[0].busiest


class Fall(NamedTuple):
    """The largest fall of a host's tokens in a trial: what the trial took, and of how much.

    A bucket that is not full refills before a program sends: it holds more than it began with.
    """

    trial: int
    host: int
    began: int
    held: int
    taken: int


@lru_cache(maxsize=64)
def falls_of(rung: Rung) -> tuple[Fall, ...]:
    """Return the falls of each trial and host whose tokens are known."""
    return tuple(_falls(rung))


def _falls(rung: Rung) -> Iterator[Fall]:
    use, log = rung.use, rung.log.rows(~np.isnan(rung.log["tokens_bits"]))
    known = use.rows(~np.isnan(use["tokens_start_bits"]) & ~np.isnan(use["tokens_end_bits"]))
    seen = dict(log.sorted_by("at_ns").groups("trial", "host"))
    columns = ("trial", "host", "tokens_start_bits", "tokens_end_bits")
    for trial, host, start, end in zip(*(known[c] for c in columns), strict=True):
        own = seen.get((trial, host))
        between = [] if own is None else own["tokens_bits"].tolist()
        tokens = np.array([start, *between, end], dtype=float)
        most = np.maximum.accumulate(tokens)
        at = int(np.argmax(most - tokens))
        yield Fall(int(trial), int(host), int(start), int(most[at]), int(most[at] - tokens[at]))


def spending(rung: Rung) -> LevelTraffic | None:
    """Sum up what the hosts of one level sent; None where nothing was counted."""
    if not rung.use:
        return None
    most: dict[int, int] = {}
    for fall in falls_of(rung):
        most[fall.host] = max(most.get(fall.host, 0), fall.taken)
    hosts = []
    for host, rows in rung.use.groups("host"):
        sent = quantile_interval(rows["sent_bytes"] * 8.0, tick=0.0)
        dry = int((rows["times_dry"] > 0).sum())
        hosts.append(HostSpending(host, sent, most.get(host), dry))
    return LevelTraffic(rung, tuple(hosts))


def dry_trials(rung: Rung) -> set[int]:
    """Return the trials in which the bucket of some host was empty."""
    return set(rung.use["trial"][rung.use["times_dry"] > 0].tolist())


def unhindered(rung: Rung) -> list[int]:
    """Give what trials in which no bucket was empty took out of the one they took most from."""
    dry = dry_trials(rung)
    most: dict[int, int] = {}
    for fall in falls_of(rung):
        if fall.trial not in dry:
            most[fall.trial] = max(most.get(fall.trial, 0), fall.taken)
    return list(most.values())


@lru_cache(maxsize=4)
def needs(networks: Networks) -> tuple[Need, ...]:
    """Find which budgets matter, for each ladder that has buckets alike for all hosts."""
    made = []
    for ladder in networks.ladders:
        even = [rung for rung in ladder.buckets if not rung.level.uneven]
        found = [s for s in map(spending, even) if s is not None]
        if not found:
            continue
        taken = [(max(some), s) for s in found if (some := unhindered(s.rung))]
        bits, most = max(taken, key=itemgetter(0)) if taken else (None, None)
        states = tuple(_state(s, bits, slowdowns_vs_largest(networks, ladder)) for s in found)
        made.append(Need(ladder, tuple(found), states, bits, most))
    return tuple(made)


def _state(spent: LevelTraffic, bits: float | None, vs_largest: list[Slowed]) -> State:
    """Judge one budget by what trials took from any, or else by its own trials alone."""
    if spent.dry:
        return "dry"
    budget = spent.rung.level.budget_bits or 0
    if spent.rung.n >= FEWEST_TRIALS and bits is not None and bits < budget:
        return "enough"
    costless = any(s.harmless for s in vs_largest if s.level == spent.rung.level)
    return "enough" if costless and spent.share[1] <= RARELY else "open"


def slowdowns_vs_largest(networks: Networks, ladder: Ladder) -> list[Slowed]:
    """Return what the budgets of a ladder cost relative to the largest of all."""
    return [
        s
        for s in slowdowns(networks)
        if s.reference == networks.largest
        and s.pair.levels == ladder.levels
        and s.level.bucket is not None
    ]
