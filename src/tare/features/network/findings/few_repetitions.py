"""How often a few repetitions lie outside the interval of all: CLOUDNET's Figure 3."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from tare.experiment.findings.evidence import share_estimate
from tare.experiment.findings.finding import FindingUnit
from tare.experiment.findings.network_cells import Ladder, Networks, OfRung, Rung, over_networks
from tare.networks.shaping.specification import Distribution
from tare.registry import Description
from tare.results.finding import Column, Estimate, Finding, Table, interval_columns
from tare.results.message import Amount, Message, message
from tare.statistics.intervals import Interval, quantile_interval, share_interval
from tare.statistics.statistic import FloatArray

_DESCRIPTION = Description(
    name="few_repetitions",
    title="Groups of 3 and of 10 repetitions against the interval of all",
    question="Would few repetitions have misled?",
    source="CLOUDNET, Figure 3",
)
#: Numbers of repetitions that studies use, and quantiles that they report.
GROUPS, QUANTILES = (3, 10), (0.5, 0.9)
#: Below, the interval of all is not one that a long run has, and too few groups stand against it.
FEWEST = 40
NAMES = {0.5: "median", 0.9: "p90"}


@dataclass(frozen=True, eq=False)
class Few(OfRung):
    """Groups of so many repetitions in a row, against the interval of a quantile of all.

    Attributes
    ----------
    size : int
        Repetitions of a group; groups share none.
    quantile : float
    all : Interval
        The quantile's, of all repetitions; both ends are known.
    each : array, shape (groups,)
        The quantile of each group.
    """

    size: int
    quantile: float
    all: Interval
    each: FloatArray

    @property
    def is_outside(self) -> np.ndarray:
        """Which groups are outside the interval of all, shape (groups,)."""
        return (self.each < self.ends[0]) | (self.each > self.ends[1])

    @property
    def ends(self) -> tuple[float, float]:
        """Those of the interval of all."""
        assert self.all.low is not None
        assert self.all.high is not None
        return self.all.low, self.all.high

    @property
    def outside(self) -> int:
        """How many groups are outside."""
        return int(self.is_outside.sum())

    @property
    def groups(self) -> int:
        """How many there are."""
        return len(self.each)

    @property
    def furthest(self) -> float:
        """The largest distance of a group's from the estimate of all, relative to that."""
        return float(np.abs(self.each / self.all.estimate - 1).max())

    @property
    def share(self) -> tuple[float, float, float]:
        """The share of groups outside, and its interval."""
        return (self.outside / self.groups, *share_interval(self.outside, self.groups))


def groups_of(values: FloatArray, size: int, quantile: float) -> FloatArray:
    """Return the quantile of each group of consecutive values, shape (n // size,)."""
    whole = values[: len(values) // size * size].reshape(-1, size)
    return np.asarray(np.quantile(whole, quantile, axis=1))


@lru_cache(maxsize=4)
def few(networks: Networks) -> tuple[Few, ...]:
    """Compare groups of every level with all of its repetitions."""
    return tuple(
        found
        for ladder, rung in networks.rungs
        for quantile in QUANTILES
        for size in GROUPS
        if (found := _few(ladder, rung, size, quantile)) is not None
    )


def _few(ladder: Ladder, rung: Rung, size: int, quantile: float) -> Few | None:
    values = rung.values
    whole = quantile_interval(values, quantile)
    if len(values) < FEWEST or whole.low is None or whole.high is None:
        return None
    return Few(ladder, rung, size, quantile, whole, groups_of(values, size, quantile))


def _judge(networks: Networks) -> Finding | Message | None:
    """Say how often few repetitions would have misled; None: there are no long runs."""
    found = few(networks)
    if not found:
        return None
    return Finding(
        name=_DESCRIPTION.name,
        question=_DESCRIPTION.question,
        answer=(*_answer(found), *_made_up(found)),
        verdict="none",
        basis=str(networks.basis),
        estimates=tuple(map(_estimate, found)),
        tables=(_table(found),),
        caveats=(
            message(
                "even where repetitions are independent, few of them are often outside the "
                "interval of many. The distance says what that means"
            ),
        ),
        charts=("few_repetitions",),
    )


def _answer(found: Sequence[Few]) -> Iterator[Message]:
    """Yield, for each quantile and group size, how many groups of all levels lie outside."""
    for quantile in QUANTILES:
        for size in GROUPS:
            some = [f for f in found if (f.quantile, f.size) == (quantile, size)]
            if not some:
                continue
            worst = max(some, key=lambda f: f.furthest)
            yield message(
                "the {name} of {size} repetitions is outside the 95 % interval of all in "
                "{outside} of {groups | counted('group')}; at most {furthest} off, at {level}",
                name=NAMES[quantile],
                size=size,
                outside=sum(f.outside for f in some),
                groups=sum(f.groups for f in some),
                furthest=Amount(worst.furthest, "share"),
                level=worst.level,
            )


def _made_up(found: Sequence[Few]) -> Iterator[Message]:
    """Name the levels whose distributions come from no document and no measurement."""
    levels = dict.fromkeys(f.rung.level for f in found)
    names = [
        level.name
        for level in levels
        if isinstance(level.shaping, Distribution) and level.shaping.source == "made-up"
    ]
    if names:
        yield message(
            "{levels | listing}: a distribution that is made up, from no document or measurement",
            levels=names,
        )


def _estimate(f: Few) -> Estimate:
    name = f"share of groups of {f.size} whose {NAMES[f.quantile]} is outside that of all"
    trials = f.rung.trials["trial"]
    return share_estimate(name, f.rung.cell.levels, f.outside, f.groups, trials)


def _table(found: Sequence[Few]) -> Table:
    several = any(f.ladder.where for f in found)
    heads: list[str | Column] = [
        *([Column(key="where", title="where")] if several else []),
        Column(key="level", title="network"),
        Column(key="n", title="repetitions"),
        Column(key="quantile", title="of"),
        Column(key="size", title="group of"),
        Column(key="groups", title="groups"),
        Column(key="outside", title="outside"),
        *interval_columns("share", "share outside", "1", "share_"),
        Column(key="furthest", title="furthest", unit="share"),
    ]
    rows = (
        (*([f.ladder.where] if several else []), f.rung.level.name, f.rung.n, NAMES[f.quantile],
         f.size, f.groups, f.outside, *f.share, f.furthest)
        for f in found
    )  # fmt: skip
    note = message(
        "Groups are of consecutive repetitions, and share none. Outside: outside the 95 % "
        "interval of all (order statistics). Furthest: the largest distance from the "
        "estimate of all, relative to it"
    )
    return Table.of(message("Few repetitions against all"), heads, rows, note)


find = over_networks(_DESCRIPTION, _judge)

UNIT = FindingUnit(description=_DESCRIPTION, order=14, find=find)
