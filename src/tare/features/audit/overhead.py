"""What each platform costs relative to bare, size by size, and what pinning does to it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tare.features.audit.cold import ColdStart
from tare.features.audit.comparison import locate
from tare.features.audit.design import Design, cores_of
from tare.features.audit.naming import named, varied
from tare.features.audit.pairing import Matched, match
from tare.features.audit.question import Question
from tare.features.audit.series import SeriesAudit, Trials
from tare.results.message import Message
from tare.results.verdict import INCONCLUSIVE, Verdict
from tare.statistics.comparison import Comparison, adjust
from tare.statistics.holm import holm
from tare.statistics.platform_size import PlatformSize, platform_size


@dataclass(frozen=True, eq=False)
class Place:
    """Where a series stands in a study of platforms.

    Attributes
    ----------
    series : SeriesAudit
    platform : str
    pinning, size : str or None
        Levels; None where there is no such column.
    cores : float or None
        What the size is worth.
    rest : dict of str to str
        All other levels.
    """

    series: SeriesAudit
    platform: str
    pinning: str | None
    size: str | None
    cores: float | None
    rest: dict[str, str]


@dataclass(frozen=True, eq=False)
class Cost:
    """One platform at one size vs. the reference, or pinned vs. not pinned.

    Attributes
    ----------
    place, beside : Place
    location : Comparison or None
        Of what remains without cold starts; None where there is no ratio.
    refusal : Message or None
        Why there is none.
    means : float
        Ratio of the means of all values, cold starts included, as PINNING counts.
    matched : Matched
        The values that the ratio rests on.
    """

    place: Place
    beside: Place
    location: Comparison | None
    refusal: Message | None
    means: float
    matched: Matched

    @property
    def verdict(self) -> Verdict:
        """Of the ratio; inconclusive where there is none."""
        return INCONCLUSIVE if self.location is None else self.location.verdict


@dataclass(frozen=True, eq=False)
class Line:
    """One platform, pinned or not, over its sizes.

    Attributes
    ----------
    platform : str
    pinning : str or None
    where : str
        Levels of other columns in words; empty where there are none.
    costs : tuple of Cost
        By rising size.
    model : PlatformSize or None
        PTO and PSO; None where there are no sizes.
    """

    platform: str
    pinning: str | None
    where: str
    costs: tuple[Cost, ...]
    model: PlatformSize | None = None


@dataclass(frozen=True, eq=False)
class OverheadAudit:
    """What platforms cost.

    Attributes
    ----------
    design : Design
    lines : tuple of Line
        Beside the reference, in the order of the file.
    pinned : tuple of Line
        Pinned beside not pinned, on each platform.
    places : tuple of Place
        Every series of the study, the reference's included.
    borrowed : tuple of Place
        Places whose reference is one that was free to move, for want of one that was pinned.
    alone : tuple of Place
        Places that have no reference.
    cold : ColdStart or None
        Where first values were left out of the ratios.
    """

    design: Design
    lines: tuple[Line, ...]
    pinned: tuple[Line, ...]
    places: tuple[Place, ...]
    borrowed: tuple[Place, ...]
    alone: tuple[Place, ...]
    cold: ColdStart | None

    @property
    def whole(self) -> float | None:
        """Cores that are taken for the host's: those named, otherwise those of the largest size."""
        known = [p.cores for p in self.places if p.cores is not None]
        return self.design.host_cores or max(known, default=None)


def overhead(
    series: Sequence[SeriesAudit], design: Design, cold: ColdStart | None, question: Question
) -> OverheadAudit:
    """Compare every series with the reference of its size.

    Where nobody measured the reference pinned, the one that was free to move stands in for it:
    bare metal has no layer that pinning could relieve. Holm holds the error of all ratios to the
    reference together, and that of all effects of pinning.

    Parameters
    ----------
    series : sequence of SeriesAudit
    design : Design
    cold : ColdStart or None
        Where found, the first value of every series is left out of the ratios.
    question : Question
    """
    left_out = cold if cold is not None and cold.found else None
    places = sorted(_places(series, design), key=lambda p: _turn(p.pinning, design))
    at = {_key(p, p.platform, p.pinning): p for p in places}
    pairs, borrowed, alone = [], [], []
    for place in places:
        if place.platform == design.reference:
            continue
        own = at.get(_key(place, design.reference, place.pinning))
        free = at.get(_key(place, design.reference, design.free))
        beside = own or (free if place.pinning == design.pinned else None)
        if beside is None:
            alone.append(place)
            continue
        pairs.append((place, beside))
        if own is None:
            borrowed.append(place)
    helped = [
        (place, free)
        for place in places
        if place.pinning is not None and place.pinning == design.pinned
        and (free := at.get(_key(place, place.platform, design.free))) is not None
    ]  # fmt: skip
    found = OverheadAudit(
        design=design,
        lines=_lines(_costs(pairs, question, cold=left_out is not None), places),
        pinned=_lines(_costs(helped, question, cold=left_out is not None), places),
        places=tuple(places),
        borrowed=tuple(borrowed),
        alone=tuple(alone),
        cold=left_out,
    )
    lines = sorted(found.lines, key=lambda line: _turn(line.pinning, design))
    return replace(found, lines=tuple(_modelled(n, found.whole, question) for n in lines))


def _turn(pinning: str | None, design: Design) -> int:
    """Put what is free to move first, then what is pinned, then what is neither."""
    order = (design.free, design.pinned)
    return order.index(pinning) if pinning in order else len(order)


def _modelled(line: Line, whole: float | None, question: Question) -> Line:
    """Divide the costs of a line into PTO and PSO.

    Without blocks the k-th value of both is put together: of independent values any pairs will do.
    """
    known = [
        (c.place.cores, c.matched)
        for c in line.costs
        if c.location is not None and c.place.cores is not None
    ]
    if whole is None or not known:
        return line
    least = [min(len(m.first), len(m.second)) for _, m in known]
    model = platform_size(
        cores=np.repeat([cores for cores, _ in known], least),
        platform=np.concatenate([m.second[:n] for (_, m), n in zip(known, least, strict=True)]),
        bare=np.concatenate([m.first[:n] for (_, m), n in zip(known, least, strict=True)]),
        blocks=np.concatenate(
            [
                np.arange(n) if m.blocks is None else m.blocks
                for (_, m), n in zip(known, least, strict=True)
            ]
        ),
        host_cores=max(whole, *(cores for cores, _ in known)),
        margin=question.margin,
        confidence=question.confidence,
    )
    return replace(line, model=model)


def _places(series: Sequence[SeriesAudit], design: Design) -> list[Place]:
    columns = (design.platform, design.size, design.pinning)
    return [
        Place(
            series=s,
            platform=s.key[design.platform],
            pinning=s.key.get(design.pinning or ""),
            size=s.key.get(design.size or ""),
            cores=cores_of(s.key.get(design.size or "", "")),
            rest={k: v for k, v in s.key.items() if k not in columns},
        )
        for s in series
        if design.platform in s.key and s.n
    ]


def _key(place: Place, platform: str, pinning: str | None) -> tuple[object, ...]:
    s = place.series.series
    rest = tuple(sorted(place.rest.items()))
    return platform, pinning, place.size, rest, s.metric, s.unit


def _costs(pairs: Sequence[tuple[Place, Place]], question: Question, *, cold: bool) -> list[Cost]:
    found = [_cost(place, beside, question, cold=cold) for place, beside in pairs]
    p = iter(holm([c.location.p for c in found if c.location is not None]))
    return [
        c
        if c.location is None
        else replace(c, location=adjust(c.location, next(p), question.margin))
        for c in found
    ]


def _cost(place: Place, beside: Place, question: Question, *, cold: bool) -> Cost:
    a, b = beside.series, place.series
    if b.series.lower_is_better is False:  # of a rate the cost is how much less there is of it
        a, b = b, a
    matched = match(_warm(a.trials, cold=cold), _warm(b.trials, cold=cold))
    location, refusal = locate(a, b, matched, question)
    means = b.mean.estimate / a.mean.estimate if a.mean.estimate else math.nan
    return Cost(place, beside, location, refusal, means, matched)


def _warm(trials: Trials, *, cold: bool) -> Trials:
    """Leave the first value out where series begin cold."""
    if not cold:
        return trials
    return replace(
        trials,
        values=trials.values[1:],
        block=None if trials.block is None else trials.block[1:],
        position=None if trials.position is None else trials.position[1:],
        above=None if trials.above is None else trials.above[1:],
    )


def _lines(costs: Sequence[Cost], places: Sequence[Place]) -> tuple[Line, ...]:
    apart = varied([p.rest for p in places])
    found: dict[tuple[str, str | None, str], list[Cost]] = {}
    for c in costs:
        where = named(c.place.rest, apart)
        found.setdefault((c.place.platform, c.place.pinning, where), []).append(c)
    return tuple(
        Line(*key, tuple(sorted(some, key=lambda c: c.place.cores or 0.0)))
        for key, some in found.items()
    )
