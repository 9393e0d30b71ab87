"""Which platform to take, at which size, pinned or not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec import UNSET

from tare.experiment.findings import chr_ranges, emulated_cpu, phrases
from tare.experiment.findings.cells import Basis, Pair, cells_of
from tare.experiment.findings.chr_ranges import ChrLine
from tare.experiment.findings.comparison_summary import (
    Compared,
    corrected,
    more,
    more_trials,
    share,
)
from tare.experiment.findings.finding import FindingUnit, answered, settled, uncompared
from tare.experiment.findings.level_names import where
from tare.experiment.findings.overhead import compare_locations
from tare.experiment.findings.platform_cells import (
    FREE,
    SIZES,
    Beside,
    cost_basis,
    over_sizes,
    ratio_of,
    size_name,
)
from tare.experiment.results import Results
from tare.registry import Description
from tare.results.finding import Finding, Unsettled
from tare.results.message import Amount, Chosen, Message, Ratio, message
from tare.results.verdict import EQUIVALENT, HIGHER, INCONCLUSIVE, LOWER
from tare.statistics.comparison import Comparison
from tare.statistics.spread import SpreadComparison

_DESCRIPTION = Description(
    name="platform_advice",
    title="Platform, size and pinning to take",
    question="Which platform, at which size, pinned or not?",
    source="PINNING",
)
#: Lines of advice that are given, and names that a line has.
MOST_LINES, _NAMED = 6, 3
#: A cost below this is small: what is left of it does not decide which size to take.
SMALL = 0.1
#: A piece of advice, and whether it says that something is inconclusive.
Line = tuple[Message, bool]


def find(results: Results) -> Finding | None:
    """Advise on what was varied: platforms over sizes or pinning, or three of them and more."""
    varied = set(results.varied)
    platforms = len(results.levels("platform"))
    if platforms < 2 or not (varied & {*SIZES, "pinning"} or platforms > 2):
        return None
    if results.experiment.stopping.compare is not None:
        return None  # one comparison was asked for, and is judged by interim analyses
    basis = cost_basis(results)
    if isinstance(basis, Message):
        return uncompared(_DESCRIPTION, basis)
    compared = compare_locations(cells_of(results, basis), "platform", results.experiment.margin)
    ranges = chr_ranges.lines(results, basis) if varied & {*SIZES} else []
    lines = advise(results, basis, compared, ranges)
    apart = emulated_cpu.note(results)
    if not lines:
        return uncompared(_DESCRIPTION, apart or _why_none(compared))
    advice = tuple(said for said, _ in lines)
    waiting = [(p, c) for p, c in compared if not c.verdict.conclusive]
    inconclusive = _inconclusive(waiting, len(compared), more(waiting)) if waiting else None
    trials = more_trials(waiting)
    return answered(
        _DESCRIPTION,
        answer=(*advice, inconclusive),
        advice=advice,
        summary=inconclusive,
        unsettled=UNSET
        if inconclusive is None or trials is None
        else (
            Unsettled(
                line=0,
                brief=_inconclusive(waiting, len(compared), None),
                trials=trials,
            ),
        ),
        verdict=settled([not waiting, *(not is_open for _, is_open in lines)]),
        settle=more(waiting),
        basis=str(basis),
        tables=(chr_ranges.table(ranges, results.experiment.margin),),
        caveats=(
            apart,
            message("these results hold for this host. Compare hosts: tare fleet report DIR1 DIR2"),
            chr_ranges.caveat(ranges),
        ),
    )


def _why_none(compared: Compared) -> Message:
    """Say why there is no advice: nothing to compare, or too little of it."""
    few = corrected([c for _, c in compared])
    return few[0] if few else message(phrases.NO_COMMON_CELL)


def advise(
    results: Results, basis: Basis, compared: Compared, ranges: Sequence[ChrLine]
) -> list[Line]:
    """Return at most six pieces of advice, the most important first."""
    lines = [*_platform(compared, results)]
    if set(results.varied) & {*SIZES}:
        lines += _sizes(over_sizes(results, basis), results)
    if not basis.more_is_better:
        lines += _pinning(results, basis)
    of_chr = [(line, False) for line in chr_ranges.advise(ranges, results.experiment.margin)]
    return [*lines[: MOST_LINES - len(of_chr)], *of_chr]


def _inconclusive(waiting: Compared, total: int, more: Message | None) -> Message:
    """Say where it is open whether a cost is one at all, and what would settle that."""
    return message(
        "overhead: inconclusive in {share}, on {platforms | listing}{% if more %} ({more})"
        "{% endif %}",
        share=share(len(waiting), total),
        platforms=list(dict.fromkeys(p.level for p, _ in waiting)),
        more=more,
    )


def _platform(compared: Compared, results: Results) -> Iterator[Line]:
    """Name the platforms that surely cost little; else the one whose largest cost is least."""
    most: dict[str, float] = {}
    for pair, c in compared:
        if c.high is not None:
            most[pair.level] = max(most.get(pair.level, 0.0), c.high)
    if not most:
        return
    order = sorted(most, key=lambda name: most[name])
    limits = {
        name: message(
            "{platform} ≤ {limit}",
            platform=name,
            limit=Amount(most[name] - 1, "share"),
        )
        for name in order
    }
    cheap = [limits[name] for name in order if most[name] < 1 + SMALL]
    if not any(c.verdict.conclusive for _, c in compared):
        every = _few([*limits.values()])
        yield message("platform: inconclusive (overhead {limits})", limits=every), True
    elif cheap:
        yield message("low overhead: {limits}", limits=_few(cheap)), False
    else:
        here = [(p, c) for p, c in compared if p.level == order[0]]
        pair, c = max(here, key=lambda pc: pc[1].high or 0)
        least = message(
            "least overhead: {platform}, {ratio}{% if where %} for {where}{% endif %}, "
            "{% if above %}above{% else %}not shown to be below{% endif %} {cheap}",
            platform=pair.level,
            ratio=_ratio(c),
            where=where(pair.levels, results.varied) if len(here) > 1 else None,
            above=max(c.low or 0 for _, c in here) > 1 + SMALL,
            cheap=Chosen(SMALL),
        )
        yield least, False


def _ratio(c: Comparison | SpreadComparison) -> Ratio:
    return Ratio(c.ratio or 1, c.low, c.high)


def _few(names: list[Message]) -> Message:
    """Name the first of these, and say how many others there are."""
    return message(
        "{% if others %}{names | join(', ')} and {others} more{% else %}{names | listing}"
        "{% endif %}",
        names=names[:_NAMED],
        others=len(names[_NAMED:]),
    )


def _sizes(besides: Iterable[Beside], results: Results) -> Iterator[Line]:
    """Say from which size on a platform whose cost falls is cheap; one line for the rest."""
    found = _one_each(besides)
    falling = [one for one in found if one.found.verdict == HIGHER]
    level = [one.name for one in found if one.found.verdict == EQUIVALENT]
    unclear = [
        message("{name} {pso}", name=one.name, pso=ratio_of(one.found.pso))
        for one in found
        if one.found.refusal is None and not one.found.verdict.conclusive
    ]
    for one in falling[:2]:
        yield _from_size(one), False
    if level:
        margin = Chosen(2 * results.experiment.margin)
        yield (
            message(
                "any size will do for {names}: overhead changes by less than {margin}",
                names=_few(level),
                margin=margin,
            ),
            False,
        )
    elif unclear and not falling:
        yield (
            message("size: inconclusive (smallest vs. largest: {cases})", cases=_few(unclear)),
            True,
        )


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


def _from_size(one: Beside) -> Message:
    small, *larger = one.found.sizes
    cheap = None
    for size in reversed(larger):
        if size.ratio.high is None or size.ratio.high >= 1 + SMALL:
            break
        cheap = size
    size = cheap or larger[-1]
    return message(
        "give {name} at least {size}: overhead {ratio}, with {small} {small_ratio}"
        if cheap
        else (
            "give {name} as many cores as there are: overhead {small_ratio} with {small}, "
            "{ratio} with {size}"
        ),
        name=one.name,
        size=size_name(size.cores),
        ratio=ratio_of(size.ratio),
        small=size_name(small.cores),
        small_ratio=ratio_of(small.ratio),
    )


def _pinning(results: Results, basis: Basis) -> Iterator[Line]:
    """Say which real platforms to pin, and which not to bother with."""
    pin: list[Message] = []
    hurt: list[Message] = []
    idle: list[str] = []
    unclear: list[str] = []
    compared: dict[str, list[tuple[Pair, Comparison]]] = {}
    margin = results.experiment.margin
    for pair, c in compare_locations(cells_of(results, basis), "pinning", margin):
        platform = pair.levels["platform"]
        real = platform not in results.emulated
        if isinstance(c, Comparison) and real and pair.reference == FREE:
            compared.setdefault(platform, []).append((pair, c))
    for name, some in compared.items():
        verdicts = {c.verdict for _, c in some}
        if LOWER in verdicts:
            pin.append(_pinned(name, *min(some, key=lambda pc: pc[1].ratio), results.varied))
        elif HIGHER in verdicts:
            hurt.append(_pinned(name, *max(some, key=lambda pc: pc[1].ratio), results.varied))
        elif INCONCLUSIVE in verdicts:
            unclear.append(name)
        else:
            idle.append(name)
    if pin:
        yield message("pin {cases}", cases=_few(pin)), False
    if hurt:
        yield message("do not pin {cases}", cases=_few(hurt)), False
    if unclear:
        yield message("pinning: inconclusive for {platforms | listing}", platforms=unclear), True
    if idle:
        yield message("pinning has no effect on {platforms | listing}", platforms=idle), False


def _pinned(name: str, pair: Pair, c: Comparison, varied: Sequence[str]) -> Message:
    """Name a platform with what pinning does to it in one cell."""
    others = [factor for factor in varied if factor not in ("platform", "pinning")]
    return message(
        "{platform} ({ratio} for {where})",
        platform=name,
        ratio=_ratio(c),
        where=where(pair.levels, others),
    )


UNIT = FindingUnit(
    description=_DESCRIPTION, order=5, find=find, killed="refused", over_sessions=True
)
