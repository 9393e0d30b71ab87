"""What hosts send in a trial and take from their buckets: which budgets that makes matter."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from tare.findings.network_cells import Ladder, Networks, Rung
from tare.statistics.intervals import Interval, quantile_interval


@dataclass(frozen=True)
class HostSpending:
    """What one host sent in the trials of one level.

    Attributes
    ----------
    sent : Interval
        Bits in a trial: the median, headers included.
    taken : float or None
        Most bits that any trial took out of the bucket, net of what came back meanwhile.
    dry : int
        Trials in which the bucket was empty at some time.
    """

    host: int
    sent: Interval
    taken: float | None
    dry: int


@dataclass(frozen=True, eq=False)
class Spending:
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
    def dry(self) -> bool:
        """Whether any bucket was empty in any trial."""
        return any(h.dry for h in self.hosts)


@dataclass(frozen=True, eq=False)
class Need:
    """Which budgets matter to one ladder's trials.

    Attributes
    ----------
    bits : float or None
        Most that a trial in which no bucket was empty took out of one; None where there is none.
    enough : Spending or None
        The smallest budget that never ran dry, all larger ones included.
    short : Spending or None
        The largest budget that ran dry.
    """

    ladder: Ladder
    spendings: tuple[Spending, ...]
    bits: float | None
    enough: Spending | None
    short: Spending | None

    @property
    def busiest(self) -> HostSpending:
        """The host that sends most, at the largest budget."""
        return self.spendings[0].busiest


def taken_of(rung: Rung) -> Iterator[tuple[int, int, int]]:
    """Give trial, host, and what the trial took out of its bucket: at the least that was left."""
    log = rung.log.dropna(subset=["tokens_bits"])
    least = log.groupby(["trial", "host"])["tokens_bits"].min()
    known = rung.use.dropna(subset=["tokens_start_bits", "tokens_end_bits"])
    columns = ("trial", "host", "tokens_start_bits", "tokens_end_bits")
    for trial, host, start, end in zip(*(known[c] for c in columns), strict=True):
        yield int(trial), int(host), int(start) - min(int(end), int(least.get((trial, host), end)))


def spending(rung: Rung) -> Spending | None:
    """Sum up what the hosts of one level sent; None where nothing was counted."""
    if rung.use.empty:
        return None
    most: dict[int, int] = {}
    for _, host, taken in taken_of(rung):
        most[host] = max(most.get(host, 0), taken)
    hosts = []
    for number, rows in rung.use.groupby("host"):
        host = int(str(number))
        sent = quantile_interval(rows["sent_bytes"].to_numpy(dtype=float) * 8, tick=0.0)
        dry = int((rows["times_dry"] > 0).sum())
        hosts.append(HostSpending(host, sent, most.get(host), dry))
    return Spending(rung, tuple(hosts))


def unhindered(rung: Rung) -> list[int]:
    """Give what trials in which no bucket was empty took out of the one they took most from."""
    dry = set(rung.use.loc[rung.use["times_dry"] > 0, "trial"])
    most: dict[int, int] = {}
    for trial, _, taken in taken_of(rung):
        if trial not in dry:
            most[trial] = max(most.get(trial, 0), taken)
    return list(most.values())


@lru_cache(maxsize=4)
def needs(networks: Networks) -> tuple[Need, ...]:
    """Find which budgets matter, for each ladder that has buckets."""
    made = []
    for ladder in networks.ladders:
        found = [s for s in map(spending, ladder.buckets) if s is not None]
        if not found:
            continue
        first = next((i for i, s in enumerate(found) if s.dry), len(found))
        taken = [bits for s in found for bits in unhindered(s.rung)]
        made.append(
            Need(
                ladder=ladder,
                spendings=tuple(found),
                bits=max(taken, default=None),
                enough=found[first - 1] if first else None,
                short=found[first] if first < len(found) else None,
            )
        )
    return tuple(made)
