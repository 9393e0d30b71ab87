"""What of a platform's cost is its type's (PTO), and what its size's (PSO)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tare.experiment.findings import emulated_cpu
from tare.experiment.findings.cells import Basis
from tare.experiment.findings.evidence import level_columns, verdict_cells
from tare.experiment.findings.finding import FindingUnit, answered, settled, uncompared
from tare.experiment.findings.platform_cells import (
    FREE,
    SIZES,
    Beside,
    cost_basis,
    host_cpus,
    over_sizes,
    ratio_of,
    size_name,
    unpinned,
)
from tare.experiment.results import Results
from tare.registry import Description
from tare.render import vocabulary
from tare.render.words import listing, text
from tare.results import phrases
from tare.results.finding import Column, Estimate, Finding, Table, columns_of, interval_columns
from tare.results.message import Chosen, Message, message
from tare.results.verdict import EQUIVALENT, HIGHER
from tare.statistics.platform_size import FEWEST_BLOCKS, FEWEST_SIZES, Factor
from tare.units import chosen

_PINNING_TEXTS = {
    "reduces": "pinning reduces the PSO of {name}: {pso} vs. {pinned}",
    "keeps": "pinning does not reduce the PSO of {name}: {pso} vs. {pinned}",
    "inconclusive": "effect of pinning on the PSO of {name}: inconclusive, {pso} vs. {pinned}",
}

_DESCRIPTION = Description(
    name="platform_size",
    title="Overhead over sizes, divided into the platform's type (PTO) and its size (PSO)",
    question="What of a platform's cost is its type's, and what its size's?",
    source="PINNING",
)

#: Platforms that the answer names one by one.
_MOST_NAMED = 3

#: How PTO and PSO came about.
METHOD = (
    "log ratio = PTO + PSO · h(CHR), fitted in every block; Hodges–Lehmann medians over blocks, "
    "signed-rank intervals over all shapes of h that the data do not exclude"
)


def find(results: Results) -> Finding | None:
    """Divide the cost of every platform that has several sizes."""
    if not set(SIZES) & set(results.varied):
        return None
    if len(results.levels("platform")) < 2 and "pinning" not in results.varied:
        return None
    basis = cost_basis(results)
    if isinstance(basis, Message):
        return uncompared(_DESCRIPTION, basis)
    some = over_sizes(results, basis)
    apart = emulated_cpu.note(results)
    if not some:
        return uncompared(
            _DESCRIPTION, message("nothing is compared: {why}", why=apart or _nothing(results))
        )
    divided = [one for one in some if one.found.refusal is None]
    return answered(
        _DESCRIPTION,
        answer=(*_answer(some, divided, basis, results), apart),
        # Too few sizes are a matter of the design, which no number of trials changes.
        verdict=settled(
            one.found.refusal is None and one.found.verdict.conclusive
            for one in ([x for x in some if not _by_design(x)] or some)
        ),
        settle=_settle(some),
        summary=_summary(divided, results),
        basis=str(basis),
        estimates=tuple(e for one in some for e in _estimates(one)),
        tables=(
            _divided_table(divided, results),
            # The overhead of imported values has them with what their order shows.
            *([] if results.imported else [_ratio_table(some, results, basis)]),
        ),
        caveats=_caveats(some),
        charts=("platform_values", "platform_chr"),
    )


def _by_design(one: Beside) -> bool:
    """Whether too few sizes were planned to tell PTO from PSO."""
    return one.planned is not None and one.planned < FEWEST_SIZES


def _settle(some: Sequence[Beside]) -> Message | None:
    """Say what would settle the sizes; None: nothing is inconclusive."""
    refused = [one.found.refusal for one in some if one.found.refusal is not None]
    if any(one.found.refusal is None and not one.found.verdict.conclusive for one in some):
        return message(phrases.SETTLE_MORE)
    if any(one.found.lacks == "blocks" for one in some):
        return message("at least {needs} blocks", needs=FEWEST_BLOCKS)
    if len(refused) == len(some):
        return message(
            "at least {needs} sizes, quotas below one core included; no number of trials "
            "settles it",
            needs=FEWEST_SIZES,
        )
    return None


def _nothing(results: Results) -> Message:
    if host_cpus(results) is None:
        return message("the number of the host's CPUs was not recorded")
    return message("no platform has a size that the reference has too")


def _answer(
    some: Sequence[Beside], divided: Sequence[Beside], basis: Basis, results: Results
) -> Iterator[Message]:
    for one in divided:
        yield _divided(one, results)
    refused = [(one, one.found.refusal) for one in some if one.found.refusal is not None]
    for at, (_, why) in enumerate(refused):
        if all(why != earlier for _, earlier in refused[:at]):
            those = [one for one, same in refused if same == why]
            cases = [*_together(those, some)]
            yield message("{cases | listing}: {refusal}", cases=cases, refusal=why)
    yield from _pinning(divided, basis, results)


def _together(those: Sequence[Beside], some: Sequence[Beside]) -> Iterator[Message]:
    """Name platforms, those of a level that has no others by it: "wordpress", "pinned"."""

    def levels(one: Beside) -> dict[str, str]:
        pinned = {one.pinning, one.reference_pinning} - {FREE}
        return {**one.levels, "pinning": next(iter(pinned), FREE)}

    left = list(those)
    for factor in levels(some[0]):
        all_levels = dict.fromkeys(levels(one)[factor] for one in some)
        for level in all_levels:
            alike = [one for one in some if levels(one)[factor] == level]
            is_named = 1 < len(alike) < len(some) and all(one in those for one in alike)
            if is_named and any(one in left for one in alike):
                yield message(
                    "{% if factor == 'pinning' and level == 'none' %}unpinned"
                    "{% elif factor in ('workload', 'pinning') %}{level}{% else %}{factor} "
                    "{level}{% endif %}",
                    factor=factor,
                    level=level,
                )
                left = [one for one in left if one not in alike]
    yield from (one.versus for one in left[:_MOST_NAMED])
    if left[_MOST_NAMED:]:
        yield message("{n | counted('other')}", n=len(left[_MOST_NAMED:]))


def _divided(one: Beside, results: Results) -> Message:
    """Give the verdict on the sizes, PSO and PTO."""
    return message(
        "{case}, {small} to {large}: overhead {verdict}, platform-size overhead (PSO) {pso}, "
        "platform-type overhead (PTO) {% if pto %}{pto}{% else %}not identifiable{% endif %}",
        case=one.versus,
        small=size_name(one.cells[0][0]),
        large=size_name(one.cells[-1][0]),
        verdict=vocabulary.SIZES.of(one.found.verdict, chosen(2 * results.experiment.margin)),
        pto=ratio_of(one.found.pto),
        pso=ratio_of(one.found.pso),
    )


def _pinning(divided: Sequence[Beside], basis: Basis, results: Results) -> Iterator[Message]:
    """Say what pinning does to the PSO of each platform that has it both ways."""
    host = host_cpus(results)
    for free in divided:
        for held in divided:
            same = (free.platform, free.levels) == (held.platform, held.levels)
            if host is None or not same or free.pinning != FREE or held.pinning == FREE:
                continue
            if free.reference_pinning != free.pinning:
                continue
            found = unpinned(free, held, basis, host, results.experiment.margin)
            if found is None or found.pso is None:
                continue
            state = "inconclusive"
            if found.verdict.conclusive:
                state = "reduces" if found.verdict.direction == "higher" else "keeps"
            yield message(
                _PINNING_TEXTS[state],
                name=free.name,
                pinned=held.name,
                pso=ratio_of(found.pso),
            )


def _summary(divided: Sequence[Beside], results: Results) -> Message | None:
    """Give the largest PSO that is certain, or say that there is none."""
    falling = [one for one in divided if one.found.verdict == HIGHER and one.found.pso is not None]
    if falling:
        one = max(falling, key=lambda x: x.found.pso.value if x.found.pso else 0)
        return message(
            "overhead of {name} falls with size: platform-size overhead (PSO) {pso}, {small} "
            "vs. {large}",
            name=one.name,
            small=size_name(one.cells[0][0]),
            large=size_name(one.cells[-1][0]),
            pso=ratio_of(one.found.pso),
        )
    if divided and all(one.found.verdict == EQUIVALENT for one in divided):
        return message(
            "no platform's overhead changes by more than {margin} with size (no "
            "platform-size overhead, PSO)",
            margin=Chosen(2 * results.experiment.margin),
        )
    return None


def _estimates(one: Beside) -> list[Estimate]:
    levels = {**one.levels, "platform": one.platform, "pinning": one.pinning}
    trials = tuple(t for _, a, b in one.cells for t in (*a.trials, *b.trials))
    made = []
    for name, factor in (("PTO", one.found.pto), ("PSO", one.found.pso)):
        if factor is not None:
            ends = factor.value, factor.low, factor.high
            made.append(Estimate.of(name, levels, ends, METHOD, one.found.n, trials=trials))
    for size, (cores, a, b) in zip(one.found.sizes, one.cells, strict=True):
        at = {**levels, "cores": f"{cores:g}"}
        ends = size.ratio.value, size.ratio.low, size.ratio.high
        both = (*a.trials, *b.trials)
        made.append(Estimate.of("overhead ratio", at, ends, METHOD, size.n, trials=both))
    return made


def _caveats(some: Sequence[Beside]) -> tuple[Message, ...]:
    found = [
        message("{case}: {why}", case=one.versus, why=why)
        for one in some
        for why in (one.found.misfit, one.found.extrapolated)
        if why is not None
    ]
    if len({one.reference_pinning for one in some if one.pinning != FREE}) > 1:
        found.append(message("not every pinned platform has a pinned reference at the same size"))
    return tuple(found)


def _columns(results: Results) -> tuple[Column, ...]:
    others = [f for f in results.varied if f not in ("platform", "pinning", *SIZES)]
    return (
        *level_columns(["platform", "pinning", *others]),
        Column(key="beside", title="vs."),
    )


def _levels(one: Beside) -> dict[str, Any]:
    return {
        **one.levels,
        "platform": one.platform,
        "pinning": one.pinning,
        "beside": text(one.beside),
    }


def _divided_table(divided: Sequence[Beside], results: Results) -> Table | None:
    """Lay out PTO and PSO of every platform that has them; None where none has."""
    if not divided:
        return None
    margin = chosen(2 * results.experiment.margin)
    rows = []
    for one in divided:
        found = one.found
        rows.append(
            {
                **_levels(one),
                "sizes": len(found.sizes),
                "n": found.n,
                **_factor("pto", found.pto),
                **_factor("pso", found.pso),
                **verdict_cells(found.verdict, vocabulary.SIZES, margin),
                "shape": listing(curve.shape for curve in found.kept),
            }
        )
    return Table(
        title=message("PTO and PSO"),
        columns=(
            *_columns(results),
            *columns_of(sizes="sizes", n="blocks"),
            *interval_columns("pto", "PTO", "1", "pto_"),
            *interval_columns("pso", "PSO", "1", "pso_"),
            *columns_of(verdict="overhead with size", shape="shapes that fit"),
        ),
        rows=tuple(rows),
        note=message(
            "Ratios; 1 is no overhead. PTO: overhead where the platform has the whole host "
            "(CHR = 1). PSO: overhead at the smallest size over that at the largest. Method: "
            "{method}. Every size may be off by half the margin",
            method=METHOD,
        ),
    )


def _ratio_table(some: Sequence[Beside], results: Results, basis: Basis) -> Table:
    """Lay out the overhead ratio of every platform at every size."""
    rows = [
        {
            **_levels(one),
            "cores": size.cores,
            "chr": size.chr,
            "n": size.n,
            **_factor("ratio", size.ratio),
        }
        for one in some
        for size in one.found.sizes
    ]
    return Table(
        title=message("Overhead ratio at every size, {basis}", basis=str(basis)),
        columns=(
            *_columns(results),
            *columns_of("1", cores="cores", chr="CHR"),
            Column(key="n", title="common blocks"),
            *interval_columns("ratio", "ratio", "1", "ratio_"),
        ),
        rows=tuple(rows),
        note=message(
            "CHR: assigned cores over the host's. Unpinned: under a quota, compared with "
            "bare under the same quota. Where measured, also with bare on as many CPUs of "
            "its own, which is PINNING's bare metal"
        ),
    )


def _factor(key: str, factor: Factor | None) -> dict[str, Any]:
    return {
        key: factor and factor.value,
        f"{key}_low": factor and factor.low,
        f"{key}_high": factor and factor.high,
    }


UNIT = FindingUnit(description=_DESCRIPTION, order=31, find=find, of_rates=True, over_sessions=True)
