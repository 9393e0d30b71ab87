"""What of a platform's cost is its type's (PTO), and what its size's (PSO)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tare.findings import emulation
from tare.findings.cells import Basis
from tare.findings.finding import FindingUnit, settled, uncompared
from tare.findings.phrasing import at_levels
from tare.findings.platform_cells import (
    FREE,
    SIZES,
    Beside,
    cost_basis,
    host_cpus,
    over_sizes,
    size_name,
    unpinned,
)
from tare.findings.platform_size_tables import METHOD, WORDS, divided_table, ratio_table
from tare.frames import Results
from tare.registry import Description
from tare.render.vocabulary import metric_name
from tare.render.words import listing
from tare.results.finding import Estimate, Finding
from tare.results.message import Message
from tare.results.verdict import EQUIVALENT, HIGHER
from tare.statistics.platform_size_curves import Factor
from tare.units import change_interval, chosen

_DESCRIPTION = Description(
    name="platform_size",
    title="Overhead over sizes, divided into the platform's type (PTO) and its size (PSO)",
    question="What of a platform's cost is its type's, and what its size's?",
    source="PINNING",
)


def find(results: Results) -> Finding | None:
    """Divide the cost of every platform that has several sizes."""
    if not set(SIZES) & set(results.varied):
        return None
    if results.trial_table["platform"].nunique() < 2 and "pinning" not in results.varied:
        return None
    basis = cost_basis(results)
    if isinstance(basis, Message):
        return uncompared(_DESCRIPTION, basis)
    some = over_sizes(results, basis)
    apart = emulation.note(results)
    if not some:
        return uncompared(_DESCRIPTION, f"Nothing is compared: {apart or _nothing(results)}")
    told = [one for one in some if one.found.refusal is None]
    return Finding(
        name=_DESCRIPTION.name,
        closed=False,
        question=_DESCRIPTION.question,
        answer=" ".join([*_answer(some, told, basis, results), *filter(None, [apart])]),
        verdict=settled(one.found.refusal is None and one.found.verdict.conclusive for one in some),
        summary=_summary(told, results),
        basis=str(basis),
        estimates=tuple(e for one in some for e in _estimates(one)),
        tables=(*filter(None, [divided_table(told, results)]), ratio_table(some, results, basis)),
        caveats=_caveats(some, results),
        charts=("platform_values", "platform_chr"),
    )


def _nothing(results: Results) -> str:
    if host_cpus(results) is None:
        return "no fact says how many CPUs the host has."
    return "no platform has a size that the reference has too."


def where(one: Beside, results: Results) -> str:
    """Name what is judged, with the levels of other factors that vary."""
    varied = [f for f in results.varied if f in one.levels]
    at = at_levels(one.levels, varied) if varied else ""
    return f"{one.name} ({at})" if at else one.name


def refusal_words(one: Beside, results: Results) -> str:
    """Say why PTO and PSO are not identifiable, and whether the budget ended before they were."""
    refusal = one.found.refusal or ""
    missing = one.planned is not None and len(one.found.sizes) < one.planned
    ended = missing and results.ended == "budget"
    return f"{refusal} before the budget ended" if ended else refusal


def factor_words(factor: Factor | None) -> str:
    """Write a factor of cost as a change, with its interval."""
    if factor is None:
        return "not identifiable"
    return change_interval(factor.value, factor.low, factor.high)


def _answer(
    some: Sequence[Beside], told: Sequence[Beside], basis: Basis, results: Results
) -> list[str]:
    words = [_sentence(one, results) for one in told]
    refused = [one for one in some if one.found.refusal is not None]
    by_reason: dict[str, list[Beside]] = {}
    for one in refused:
        by_reason.setdefault(refusal_words(one, results), []).append(one)
    for why, same in by_reason.items():
        names = listing(f"{where(one, results)} beside {one.beside}" for one in same)
        words.append(f"Not identifiable for {names}: {why}.")
    pinned = _pinning(told, basis, results)
    return [f"By {metric_name(basis.metric)}.", *words, *pinned]


def _sentence(one: Beside, results: Results) -> str:
    found = one.found
    first, last = one.cells[0][0], one.cells[-1][0]
    text = (
        f"{where(one, results)}, beside {one.beside}: PTO {factor_words(found.pto)}; the cost "
        f"{WORDS[found.verdict]} (PSO: at {size_name(first)} {factor_words(found.pso)} beside that "
        f"at {size_name(last)})."
    )
    if not found.verdict.conclusive:
        text = text.replace("the cost inconclusive", "inconclusive", 1)
    return text


def _pinning(told: Sequence[Beside], basis: Basis, results: Results) -> Iterator[str]:
    """Tell what pinning does to the PSO of each platform that has it both ways."""
    host = host_cpus(results)
    for free in told:
        for held in told:
            same = (free.platform, free.levels) == (held.platform, held.levels)
            if host is None or not same or free.pinning != FREE or held.pinning == FREE:
                continue
            if free.reference_pinning != free.pinning:
                continue
            found = unpinned(free, held, basis, host)
            if found is None or found.pso is None:
                continue
            more = "is inconclusive"
            if found.verdict.direction == "higher":
                more = "is removed, or part of it"
            elif found.verdict.conclusive:
                more = "is not removed"
            yield (
                f"By pinning, the PSO of {where(free, results)} {more}: beside {held.name}, it is "
                f"{factor_words(found.pso)}."
            )


def _summary(told: Sequence[Beside], results: Results) -> str | None:
    """Tell the largest PSO that is certain, or that there is none."""
    falling = [one for one in told if one.found.verdict == HIGHER and one.found.pso is not None]
    if falling:
        one = max(falling, key=lambda x: x.found.pso.value if x.found.pso else 0)
        return (
            f"The cost of {where(one, results)} falls with size (PSO): at "
            f"{size_name(one.cells[0][0])} {factor_words(one.found.pso)} beside that at "
            f"{size_name(one.cells[-1][0])}."
        )
    if told and all(one.found.verdict == EQUIVALENT for one in told):
        most = chosen(2 * results.experiment.margin)
        return f"No platform's cost changes with its size by more than {most} (no PSO)."
    return None


def _estimates(one: Beside) -> list[Estimate]:
    levels = {**one.levels, "platform": one.platform, "pinning": one.pinning}
    trials = tuple(t for _, a, b in one.cells for t in (*a.trials, *b.trials))
    made = []
    for name, factor in (("PTO", one.found.pto), ("PSO", one.found.pso)):
        if factor is not None:
            made.append(_estimate(name, factor, levels, one.found.n, trials))
    for size, (cores, a, b) in zip(one.found.sizes, one.cells, strict=True):
        at = {**levels, "cores": f"{cores:g}"}
        made.append(_estimate("overhead ratio", size.ratio, at, size.n, (*a.trials, *b.trials)))
    return made


def _estimate(
    name: str, factor: Factor, levels: dict[str, str], n: int, trials: tuple[int, ...]
) -> Estimate:
    return Estimate(
        name=name,
        levels=levels,
        value=factor.value,
        unit="1",
        low=factor.low,
        high=factor.high,
        confidence=0.95,
        method=METHOD,
        n=n,
        trials=trials,
    )


def _caveats(some: Sequence[Beside], results: Results) -> tuple[str, ...]:
    told = []
    for one in some:
        for words in (one.found.misfit, one.found.extrapolated):
            if words is not None:
                told.append(f"{where(one, results)}, beside {one.beside}: {words}.")
    if len({one.reference_pinning for one in some if one.pinning != "none"}) > 1:
        told.append("Not every pinned platform has a pinned reference at the same size.")
    return tuple(dict.fromkeys(told))


UNIT = FindingUnit(description=_DESCRIPTION, order=31, find=find, of_rates=True, over_sessions=True)
