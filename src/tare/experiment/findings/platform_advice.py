"""Which platform to take, at which size, pinned or not: advice with its evidence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tare.experiment.findings import emulated_cpu
from tare.experiment.findings.cells import Basis, Pair, cells_of
from tare.experiment.findings.comparison_summary import Compared, more, share
from tare.experiment.findings.finding import FindingUnit, settled, uncompared
from tare.experiment.findings.level_names import where
from tare.experiment.findings.overhead import compare_locations
from tare.experiment.findings.platform_cells import (
    SIZES,
    Beside,
    cost_basis,
    ratio_of,
    reference_of,
    size_name,
)
from tare.experiment.findings.platform_factor import compared_changes
from tare.experiment.findings.platform_practices import (
    SMALL,
    Evidence,
    evidence,
    practice_table,
    practices,
)
from tare.experiment.findings.platform_size import refusal
from tare.experiment.findings.platform_why import extra_time, extras
from tare.experiment.metrics import RATES
from tare.experiment.results import Results
from tare.registry import Description
from tare.render.words import sentence, text
from tare.results.finding import Column, Finding, Table
from tare.results.message import Amount, Chosen, Levels, Message, Ratio, message
from tare.results.verdict import EQUIVALENT, HIGHER, INCONCLUSIVE, LOWER
from tare.statistics.comparison import Comparison, compare_family
from tare.statistics.platform_size import FEWEST_SIZES
from tare.statistics.spread import SpreadComparison

_DESCRIPTION = Description(
    name="platform_advice",
    title="Platform, size and pinning to take, and whether PINNING's best practices hold here",
    question="Which platform, at which size, pinned or not?",
    source="PINNING",
)
#: Lines of advice that are given.
MOST_LINES = 6
#: Names that a line has.
_NAMED = 3


@dataclass(frozen=True)
class Line:
    """One piece of advice.

    Attributes
    ----------
    about : str
        What it is about.
    advice : Message
        What to do, or what is known, in one line.
    evidence : Message or None
        What else it rests on; None: the line has all.
    open : bool
        Whether it says that something is inconclusive.
    """

    about: str
    advice: Message
    evidence: Message | None = None
    open: bool = False


def find(results: Results) -> Finding | None:
    """Advise on what was varied: platforms over sizes or pinning, or three of them and more."""
    varied = set(results.varied)
    platforms = results.trial_table["platform"].nunique()
    if platforms < 2 or not (varied & {*SIZES, "pinning"} or platforms > 2):
        return None
    if results.experiment.stopping.compare is not None:
        return None  # one comparison was asked for, and is judged by interim analyses
    basis = cost_basis(results)
    if isinstance(basis, Message):
        return uncompared(_DESCRIPTION, basis)
    known = evidence(results, basis)
    lines = advise(results, basis, known)
    apart = emulated_cpu.note(results)
    if not lines:
        return uncompared(_DESCRIPTION, apart or message("platform.no_common_cell"))
    advice = tuple(line.advice for line in lines)
    return Finding(
        name=_DESCRIPTION.name,
        closed=False,
        question=_DESCRIPTION.question,
        answer=advice,
        advice=advice,
        verdict=settled(not line.open for line in lines),
        settle=_settle(results, basis),
        basis=str(basis),
        tables=(_table(lines, basis), practice_table(known, practices(known))),
        caveats=tuple(filter(None, [apart, message("platform_advice.one_host")])),
    )


def advise(results: Results, basis: Basis, known: Evidence) -> list[Line]:
    """Return at most six pieces of advice, the most important first."""
    compared = compare_locations(cells_of(results, basis), "platform", results.experiment.margin)
    lines = [
        *_platform(compared, results),
        *(_sizes(known) if set(results.varied) & {*SIZES} else ()),
        *_pinning(known),
        *_factors(results, basis),
        *_why(results),
        *_open(compared, results.experiment.margin),
    ]
    return lines[:MOST_LINES]


def _platform(compared: Compared, results: Results) -> Iterable[Line]:
    """Name the platform whose largest possible cost is least."""
    most: dict[str, float] = {}
    for pair, c in compared:
        if c.high is not None:
            most[pair.level] = max(most.get(pair.level, 0.0), c.high)
    if not most:
        return
    best = min(most, key=lambda name: most[name])
    if not any(c.verdict.conclusive for _, c in compared):
        limits = [_limit(name, most[name]) for name in sorted(most, key=lambda name: most[name])]
        advice = message("platform_advice.platform.inconclusive", limits=_few(limits))
        yield Line("platform", advice, _all(limits), open=True)
        return
    equal = _no_worse(best, results)
    if most[best] < 1 + SMALL:
        # That it is shown nowhere to cost more does not make another one cheap.
        equal = [name for name in equal if most[name] < 1 + SMALL]
    here = [(p, c) for p, c in compared if p.level == best]
    pair, c = max(here, key=lambda pc: pc[1].high or 0)
    worst = where(pair.levels, results.varied) if len(here) > 1 else None
    others = [_limit(name, x) for name, x in most.items() if name != best and name not in equal]
    yield Line(
        "platform",
        _recommended([best, *equal], most, here, worst, among=bool(others or equal)),
        message(
            "platform_advice.platform.evidence",
            reference=pair.reference,
            platform=best,
            ratio=_ratio(c),
            where=worst,
            others=others,
            equal=equal,
        ),
    )


def _limit(platform: str, ratio: float) -> Message:
    """Name a platform with the upper limit of its cost."""
    return message(
        "platform_advice.platform.limit", platform=platform, limit=Amount(ratio - 1, "share")
    )


def _ratio(c: Comparison | SpreadComparison) -> Ratio:
    return Ratio(c.ratio or 1, c.low, c.high)


def _few(names: list[Message]) -> Message:
    """Name the first of these, and say how many others there are."""
    return message("platform_advice.few", names=names[:_NAMED], others=len(names[_NAMED:]))


def _all(names: list[Message]) -> Message | None:
    """Name all of these; None where a line has room for them."""
    return message("platform_advice.all", names=names) if names[_NAMED:] else None


def _recommended(
    names: list[str],
    most: dict[str, float],
    here: Compared,
    worst: Levels | None,
    *,
    among: bool,
) -> Message:
    """Recommend what is surely cheap; of what is not, say no more than which costs least."""
    c = max((c for _, c in here), key=lambda c: c.high or 0)
    if (c.high or 0) < 1 + SMALL:
        return message(
            "platform_advice.platform.take" if among else "platform_advice.platform.cheap",
            platforms=names,
            limit=Amount(max(most[name] for name in names) - 1, "share"),
        )
    return message(
        "platform_advice.platform.least" if among else "platform_advice.platform.dear",
        platforms=names,
        ratio=_ratio(c),
        where=worst,
        above=max(c.low or 0 for _, c in here) > 1 + SMALL,
        cheap=Chosen(SMALL),
    )


def _no_worse(best: str, results: Results) -> list[str]:
    """Name platforms that are nowhere shown to be slower than the best one."""
    basis = cost_basis(results)
    if isinstance(basis, Message):
        return []
    pairs = cells_of(results, basis).ratios("platform", best)
    pairs = [p for p in pairs if p.reference == best and p.level != reference_of(results)]
    found = compare_family(
        [p.trial_values for p in pairs], results.experiment.margin, tick=basis.tick
    )
    worse = "lower" if basis.metric in RATES else "higher"
    shown = {p.level for p, c in zip(pairs, found, strict=True) if c.verdict.direction == worse}
    return [name for name in dict.fromkeys(p.level for p in pairs) if name not in shown]


def _sizes(known: Evidence) -> Iterable[Line]:
    """Say from which size on a platform whose cost falls is cheap; one line for the rest."""
    falling, level, apart, unclear = [], [], [], []
    for one in _one_each(known.besides):
        if one.found.verdict == HIGHER:
            falling.append(_from_size(one))
        elif one.found.verdict == EQUIVALENT:
            level.append(one.name)
        elif one.found.refusal is not None:
            apart.append(one)
        elif not one.found.verdict.conclusive:
            pso = ratio_of(one.found.pso)
            unclear.append(message("platform_advice.size.pso", name=one.name, pso=pso))
    yield from falling[:2]
    if level:
        margin = Chosen(2 * known.results.experiment.margin)
        advice = message("platform_advice.size.any", names=_few(level), margin=margin)
        yield Line("size", advice, _all(level))
    elif unclear and not falling:
        advice = message("platform_advice.size.unclear", cases=_few(unclear))
        yield Line("size", advice, _all(unclear), open=True)
    elif apart and not falling and set(known.results.varied) & set(SIZES) and _could(apart[0]):
        why = refusal(apart[0], known.results)
        yield Line("size", message("platform_advice.size.refused", why=why), open=True)


def _could(one: Beside) -> bool:
    """Whether so many sizes were asked for that a cost can be divided; else nobody asked it."""
    asked = len(one.found.sizes) if one.planned is None else one.planned
    return asked >= FEWEST_SIZES


def _one_each(besides: Iterable[Beside]) -> list[Beside]:
    """Keep one of each platform: vs. the reference under the same limits where that is known."""
    best: dict[object, Beside] = {}
    for one in besides:
        if one.platform == one.reference:
            continue
        key = one.platform, one.pinning, tuple(one.levels.items())
        known = best.get(key)
        if known is None or (known.found.refusal is not None and one.found.refusal is None):
            best[key] = one
    return list(best.values())


def _from_size(one: Beside) -> Line:
    sizes = one.found.sizes
    cheap = None
    for size in reversed(sizes):
        if size.ratio.high is None or size.ratio.high >= 1 + SMALL:
            break
        cheap = size
    small = sizes[0]
    enough = cheap is not None and cheap is not small
    size = cheap if cheap is not None and cheap is not small else sizes[-1]
    return Line(
        "size",
        message(
            "platform_advice.size.least" if enough else "platform_advice.size.most",
            name=one.name,
            size=size_name(size.cores),
            ratio=ratio_of(size.ratio),
            small=size_name(small.cores),
            small_ratio=ratio_of(small.ratio),
        ),
        message("platform_advice.size.evidence", chr=size.chr, small_chr=small.chr),
    )


def _pinning(known: Evidence) -> Iterable[Line]:
    """Say which platforms to pin, and which not to bother with."""
    pin: list[Message] = []
    hurt: list[Message] = []
    idle: list[str] = []
    unclear: list[str] = []
    varied = known.results.varied
    for name in dict.fromkeys(p.levels["platform"] for p, _ in known.pinned):
        some = [(p, c) for p, c in known.pinned if p.levels["platform"] == name]
        verdicts = {c.verdict for _, c in some}
        if LOWER in verdicts:
            pin.append(_pinned(name, *min(some, key=lambda pc: pc[1].ratio), varied))
        elif HIGHER in verdicts:
            hurt.append(_pinned(name, *max(some, key=lambda pc: pc[1].ratio), varied))
        elif INCONCLUSIVE in verdicts:
            unclear.append(name)
        else:
            idle.append(name)
    effects = [
        *([message("platform_advice.pinning.faster", cases=pin)] if pin else []),
        *([message("platform_advice.pinning.worse", cases=hurt)] if hurt else []),
        *([message("platform_advice.pinning.idle", platforms=idle)] if idle else []),
        *([message("platform_advice.pinning.unclear", platforms=unclear)] if unclear else []),
    ]
    if pin:
        advice = message("platform_advice.pinning.pin", cases=_few(pin))
    elif unclear:
        advice = message("platform_advice.pinning.inconclusive", platforms=unclear)
    elif hurt:
        advice = message("platform_advice.pinning.slower", cases=_few(hurt))
    elif idle:
        advice = message("platform_advice.pinning.no_effect", platforms=idle)
    else:
        return
    several = len(effects) > 1 or len(pin) > _NAMED or len(hurt) > _NAMED
    others = message("platform_advice.pinning.evidence", effects=effects)
    yield Line("pinning", advice, others if several else None, open=bool(unclear))


def _pinned(name: str, pair: Pair, c: Comparison, varied: Sequence[str]) -> Message:
    """Name a platform with what pinning does to it in one cell."""
    others = [factor for factor in varied if factor not in ("platform", "pinning")]
    return message(
        "platform_advice.pinning.case",
        platform=name,
        ratio=_ratio(c),
        where=where(pair.levels, others),
    )


def _factors(results: Results, basis: Basis) -> Iterable[Line]:
    """Warn of the factor that a cost surely depends on, sizes and pinning apart."""
    shown = [
        (change, c)
        for change, c in compared_changes(results, basis)
        if change.factor not in ("pinning", *SIZES) and c.verdict in (HIGHER, LOWER)
    ]
    if shown:
        change, c = max(shown, key=lambda x: abs(x[1].ratio - 1))
        yield Line(
            change.factor,
            message(
                "platform_advice.factor",
                platform=change.platform,
                factor=change.factor,
                level=change.level,
                reference=change.reference,
                ratio=_ratio(c),
            ),
            message(
                "platform_advice.factor_evidence",
                where=where(change.levels, results.varied),
                n=c.n,
            ),
        )


def _why(results: Results) -> Iterable[Line]:
    """Say what accounts for the largest extra time."""
    some = [one for one in extras(results) if one.time.sure and one.named]
    if some:
        one = max(some, key=lambda x: x.time.value / float(x.pair.first.mean()))
        yield Line("why", extra_time(one, results))


def _open(compared: Compared, margin: float) -> Iterable[Line]:
    """Say where it is open whether a cost is one at all, and what would settle that."""
    waiting = [(p, c) for p, c in compared if not c.verdict.conclusive]
    if waiting:
        advice = message(
            "platform_advice.inconclusive",
            share=share(len(waiting), len(compared)),
            platforms=list(dict.fromkeys(p.level for p, _ in waiting)),
            more=more(waiting),
        )
        why = message("platform_advice.inconclusive_evidence", margin=Chosen(margin))
        yield Line("open", advice, why, open=True)


def _settle(results: Results, basis: Basis) -> Message | None:
    """Say what would settle whether there is an overhead at all."""
    compared = compare_locations(cells_of(results, basis), "platform", results.experiment.margin)
    return more([(p, c) for p, c in compared if not c.verdict.conclusive])


def _table(lines: list[Line], basis: Basis) -> Table:
    return Table(
        title=message("platform_advice.table.title", metric=basis.metric),
        columns=(
            Column(key="about", title="about"),
            Column(key="advice", title="advice"),
            Column(key="evidence", title="evidence"),
        ),
        rows=tuple(
            {
                "about": line.about,
                "advice": sentence(line.advice),
                "evidence": None if line.evidence is None else text(line.evidence),
            }
            for line in lines
        ),
        note=message("platform_advice.table.note", limit=Chosen(SMALL)),
    )


UNIT = FindingUnit(description=_DESCRIPTION, order=5, find=find, over_sessions=True)
