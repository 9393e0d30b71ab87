"""Makes the report of comparisons, of `tare compare` and of `tare run` of several commands."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import msgspec

from tare.experiment.findings import caveats, conditions, service_load, sessions, trusted
from tare.experiment.findings.cells import values_of
from tare.experiment.findings.difference import question
from tare.experiment.findings.disturbance import disturbance, switch_records
from tare.experiment.findings.disturbance import said as disturbed
from tare.experiment.findings.failures import by_level, failures
from tare.experiment.findings.judgement import (
    Difference,
    differences,
    gate_of,
    judged_before,
    lost,
)
from tare.experiment.findings.known import FEWEST_FOR_QUANTILES, figure_of
from tare.experiment.findings.overview import of_metric, overview
from tare.experiment.findings.service_cells import driven
from tare.experiment.findings.side_failures import LostCandidate, Side
from tare.experiment.results import Results
from tare.features.measure import outlived
from tare.features.measure.comparison import network_use as network
from tare.features.measure.comparison.picture import picture
from tare.render.vocabulary import SPREADS
from tare.results import phrases
from tare.results.finding import Table
from tare.results.message import Change, Chosen, Duration, Message, message, open_bounds
from tare.results.report import Compared, Entry, Gate, Lost, Median, NextStep, Origin, Report
from tare.results.verdict import GATE_CODES
from tare.statistics.intervals import Interval, extremes_interval
from tare.statistics.spread import SpreadComparison
from tare.statistics.statistic import FloatArray
from tare.workloads.specification import WorkloadSpec

#: What is known of the machine, in a word each.
_FACTS = ("cpu", "cpus", "kernel", "system")
#: Kinds of failure by which a command shows that something which it needs is missing.
_OF_ORDER = {"exit", "check", "launch"}
#: Comparisons of which each is said what would settle it.
_MOST_SETTLED = 3


def make(
    results: Results,
    found: Sequence[Difference],
    *,
    ended: str,
    gate: float | None,
    command: str = "compare",
    is_table: bool = False,
    kept: bool = False,
    next_: Sequence[NextStep] = (),
    trials: Sequence[Any] | None = None,
    without: Sequence[LostCandidate] | None = None,
) -> Report:
    """Lay out comparisons: verdict and evidence of one, a table of several.

    Parameters
    ----------
    results : Results
    found : sequence of Difference
        Empty where nothing could be compared.
    ended : str
        Why the session ended.
    gate : float or None
        Largest relative difference that passes.
    command : str
        That was typed.
    is_table : bool
        Whether one comparison is laid out as a table, too.
    kept : bool
        Whether the folder of the results stays.
    next_ : sequence of Message
        Commands to type.
    trials : sequence, optional
        The trials, for scripts.
    without : sequence of LostCandidate, optional
        Candidates whose trials all failed, for the gate; by default those of the results.
    """
    without = lost(results) if without is None else without
    answer = None if gate is None or not (found or without) else gate_of(found, without, gate)
    also = results.experiment.stopping.also
    laid = is_table or bool(also) or len(found) + len(without) > 1
    factor = results.experiment.stopping.compare or "workload"
    trust = trusted.note(results)
    weak = caveats.sentences(sessions.caveats(results), results.levels_of)
    before = judged_before(results)
    weak += [one for one in (before, *(d.written_apart for d in found)) if one]
    cells = _table(results) if laid else None
    served = driven(results) if laid else []
    entries = [
        *(_several(found, results, gate, answer) if laid else ()),
        *(_one(found[0], gate) if found and not laid else ()),
        *_session(results, found, ended, kept=kept),
        *(Entry("Note", one) for one in outlived.notes(results)),
    ]
    facts = ((name, results.fact(name)) for name in _FACTS)
    return Report(
        command=command,
        exit_code=0 if answer is None else GATE_CODES[answer.answer],
        gate=answer,
        comparisons=tuple(_compared(d, gate) for d in found),
        lost=() if gate is None else tuple(_lost(one) for one in without),
        figures=({} if trials is None else {"trials": trials})
        | _figures(results, ended)
        | {"other_metrics": _others(results) if also else []},
        name=results.experiment.name,
        question=question(
            [d.second for d in found], found[0].first, gate, found[0].words.higher, found[0].gate_on
        )
        if found
        else results.experiment.question,
        entries=tuple(entries),
        next_steps=tuple(next_),
        strip=tuple((name, str(value)) for name, value in facts if value is not None),
        sections=(),
        origin=Origin(seed=results.experiment.seed),
        caveats=tuple(weak),
        failed=tuple(by_level(results, factor=factor)),
        notes=(*([trust] if trust else []), disturbed(disturbance(results))),
        cells=cells,
        shows_cells=laid,
        further=(service_load.table(served, results),) if served else (),
    )


def _table(results: Results) -> Table | None:
    """Return the table of all commands."""
    table = None if isinstance(values_of(results), Message) else overview(results, each_n=True)
    if table is None:
        return None
    rows = [
        row | ({"platform": f"{row['platform']} (emulated)"} if is_emulated else {})
        for row in table.rows
        for is_emulated in [row.get("platform") in results.emulated]
    ]
    columns = (
        msgspec.structs.replace(one, title="command") if one.key == "workload" else one
        for one in table.columns
    )
    return msgspec.structs.replace(table, rows=tuple(rows), columns=tuple(columns))


def _one(d: Difference, gate: float | None) -> Iterator[Entry]:
    """State the verdict on one comparison with its evidence."""
    c = d.comparison
    yield Entry("Verdict", d.verdict(gate))
    rests = message(
        "{% if confidence %}{confidence} confidence{% if sequential %} over all interim "
        "analyses{% endif %}; {% endif %}{counted}",
        confidence=None if d.extremes else Chosen(c.confidence),
        sequential=bool(d.looks),
        counted=d.counted,
    )
    lines = [Entry("", rests, "quiet")]
    lines += [Entry("", one) for one in (d.each_pair, d.settle(gate)) if one is not None]
    lines[-1] = msgspec.structs.replace(lines[-1], picture=picture(d))
    yield from lines
    name = max(len(d.first), len(d.second))
    of_sides = zip((d.first, d.second), d.medians, d.level_values, strict=True)
    for label, known, values in of_sides:
        said = message("{of}  {median}", of=label.ljust(name), median=_median(d, known, values))
        yield Entry("Median", said)
    if d.of_pairs:
        yield Entry("", d.of_pairs, "quiet")
    if c.n >= FEWEST_FOR_QUANTILES:
        # Which of two killed runs would have taken longer is not known.
        if not all(c.killed):
            yield Entry("Effect", _effect(d))
        yield Entry("Spread", d.steadiness)
    exceeded = None if d.failures is None else d.failures.two_sided
    others = (("Limit", exceeded), ("Modes", d.medians_apart), ("Mean", d.means_apart))
    yield from (Entry(label, said) for label, said in others if said is not None)


def _median(d: Difference, known: Interval, values: FloatArray) -> str:
    written = figure_of(d.basis.unit, known, values)
    is_bounded = known.low is not None or extremes_interval(values) is not None
    return written if is_bounded else f"{written}  (no interval)"


def _effect(d: Difference) -> Message:
    """Return Cliff's delta, also as a chance: of two random values, which is the larger."""
    delta = d.comparison.cliffs_delta
    return message(
        "Cliff's delta {delta}: a random value of {second} is {% if time %}slower{% else %}"
        "larger{% endif %} in {chance} % of the cases",
        delta=f"{round(delta, 2) + 0.0:+.2f}".replace("-", "−"),
        second=d.second,
        time=d.basis.unit == "ns",
        chance=f"{100 * (1 + delta) / 2:.0f}",
    )


def _several(
    found: Sequence[Difference], results: Results, gate: float | None, answer: Gate | None
) -> Iterator[Entry]:
    """State what the table of several commands leaves out."""
    if unlike := next(filter(None, (d.of_pairs for d in found)), None):
        yield Entry("", unlike, "quiet")
    for one in conditions.sentences(conditions.rows(results)):
        yield Entry("With", one)
    # Where one candidate fails, nothing is left to settle.
    waiting = found if answer is None or answer.answer == "inconclusive" else ()
    open_ones = [(d, settle) for d in waiting if (settle := d.settle(gate))]
    if len(open_ones) <= _MOST_SETTLED:
        for d, settle in open_ones:
            yield Entry("Note", message("{second}: {further}", second=d.second, further=settle))
        return
    lacking = [pairs for d, _ in open_ones if (pairs := d.pairs_for_interval)]
    more = sorted((d.more_pairs(gate) or 0, d.second) for d, _ in open_ones)
    estimated = [one for one in more if one[0] and not lacking] or [(0, "")]
    (least, first), (most, _) = estimated[0], estimated[-1]
    block_s = found[0].block_seconds
    several = message(
        "{open} of {comparisons} comparisons are inconclusive{% if lacking %}: an interval needs "
        "{lacking | counted('more pair')} ({lacks}){% elif most %}: about "
        "{least | counted('more pair')} would settle {first} ({soon}){% if most > least %}, and "
        "{most} all of them ({late}){% endif %}{% endif %}",
        open=len(open_ones),
        comparisons=len(found),
        lacking=max(lacking, default=0),
        lacks=Duration(max(lacking, default=0) * block_s),
        least=least,
        first=first,
        soon=Duration(least * block_s),
        most=most,
        late=Duration(most * block_s),
    )
    yield Entry("Note", several)


def _session(
    results: Results, found: Sequence[Difference], ended: str, *, kept: bool
) -> Iterator[Entry]:
    """State what holds for all comparisons: the network, trust, how the session ended."""
    for number, said in enumerate(network.of_commands(results)):
        yield Entry("" if number else "Network", said)
    whole = trusted.whole(results)
    trust = message(
        "{% if claim %}medians {claim}; {% elif doubt %}{doubt}; {% endif %}{disturbed}"
        "{% if paired %}; the order in each pair was random{% elif paired is not none %}; "
        "the baseline was measured at other times{% endif %}",
        claim=whole.claim if whole is not None and whole.verdict == "TRUST" else None,
        doubt=trusted.doubt(results),
        disturbed=disturbed(disturbance(results)),
        paired=all(d.paired for d in found) if found else None,
    )
    yield Entry("Trust" if whole is None else whole.verdict, trust)
    by_hand = stopped_by_hand(results, kept=kept) if ended == "interrupted" else None
    recording = switch_records(results)
    changed = caveats.notes(sessions.caveats(results))
    notes = (results.steady, recording, by_hand, _random_order(results), *changed)
    yield from (Entry("Note", said) for said in notes if said is not None)


def _random_order(results: Results) -> Message | None:
    """Say in which order commands run, where one may fail for what another program did before it.

    Failures by signals, and those of one program in several versions, have other causes.
    """
    programs = {_program(one) for one in results.experiment.workloads}
    if results.experiment.stopping.compare != "workload" or len(programs) < 2:
        return None
    groups = results.trial_table.groups("workload")
    sometimes = [of for _, of in groups if {"ok", "failed"} <= {*of["status"]}]
    if not any(one.kind in _OF_ORDER for of in sometimes for one in failures(results, of)):
        return None
    return message(
        "the commands run in random order: put what one needs of another into its --prepare"
    )


def _program(workload: WorkloadSpec) -> str:
    """Return the name of the program that a command starts; of a line of a shell, the first."""
    words = workload.command or (workload.kernel or workload.name,)
    is_line = len(words) > 2 and words[-2] == "-c" and Path(words[0]).name.endswith("sh")
    line = words[-1].split() if is_line else words[:1]
    return Path(line[0]).name if line else ""


def stopped_by_hand(results: Results, *, kept: bool) -> Message:
    """Say after how many trials it was stopped by hand."""
    ended = int((results.trial_table["status"] != "unfinished").sum())
    return message(phrases.RUN_BY_HAND, asked=None, n=ended, kept=kept)


def _figures(results: Results, ended: str) -> dict[str, Any]:
    """Return what scripts read besides the comparisons."""
    trials = results.trial_table
    return {
        "ended": ended,
        "seed": results.experiment.seed,
        "session_changes": sessions.caveats(results),
        "judged_before": judged_before(results),
        "levels_of": results.levels_of,
        "disturbance": disturbance(results),
        "network": network.as_json(results),
        "conditions": conditions.rows(results),
        "failed_trials": int((trials["status"] == "failed").sum()),
        "failures": failures(results),
        "facts": {
            row["name"]: row["value"] for row in results.facts.where(platform=None).records()
        },
    }


def _others(results: Results) -> list[Compared]:
    """Compare by the metrics besides the first, by which nothing is judged."""
    found = (differences(of_metric(results, one)) for one in results.experiment.stopping.also)
    return [_compared(d, None) for some in found if not isinstance(some, Message) for d in some]


def _compared(d: Difference, gate: float | None) -> Compared:
    c = d.comparison
    more = d.more_pairs(gate)
    low, high = d.gated_bounds
    first, second = (
        Median(
            name=name, median=_finite(m.estimate), median_ci=(m.low, _finite(m.high)), n=m.n,
            above=m.above,
        )
        for name, m in zip((d.first, d.second), d.medians, strict=True)
    )  # fmt: skip
    return Compared(
        a=d.first,
        b=d.second,
        metric=d.basis.metric,
        source=d.basis.source,
        unit=d.basis.unit,
        verdict=d.words.of(c.verdict),
        within_margin=c.verdict.within_margin,
        ratio=_finite(c.ratio),
        ratio_ci=(c.low or None, _finite(c.high)),
        ratio_open=open_bounds(c.low, c.high),
        confidence=c.confidence,
        margin=d.margin,
        method=d.method,
        gate=None if gate is None else d.gate(gate),
        gate_on=d.gate_on,
        gate_ratio=_finite(d.gated_estimate),
        gate_ratio_ci=(low or None, _finite(high)),
        gate_ratio_open=open_bounds(low, high),
        n=c.n,
        paired=d.paired,
        counted=d.counted,
        more_pairs=more,
        more_s=None if more is None else more * d.block_seconds,
        settle=d.settle(gate),
        cliffs_delta=c.cliffs_delta,
        median_ratio=_finite(c.median_ratio),
        medians=(first, second),
        seconds=d.seconds * c.n,
        failing="failed" if d.fails_by_trials else d.words.higher,
        answer=d.verdict(gate),
        gate_reason=None if gate is None else d.gate_answer(gate),
        evidence=(
            *([d.each_pair] if d.each_pair else []),
            message(
                "Cliff's delta {'%+.2f' % delta if delta >= 0 else '−%.2f' % -delta}"
                "{% if medians %}; ratio of medians {medians}{% endif %}",
                delta=round(c.cliffs_delta, 2) + 0.0,
                medians=Change(c.median_ratio) if 0 < c.median_ratio < math.inf else None,
            ),
            d.steadiness,
            *([both] if d.failures and (both := d.failures.two_sided) else []),
        ),
        extremes=None if d.extremes is None else _extremes(d.extremes),
        spread=None if d.spread is None else _spread(d.spread),
        trials=None
        if d.failures is None
        else (_side(d.failures.reference), _side(d.failures.candidate)),
        written_bytes=d.written_bytes,
        looks=tuple(
            asdict(look) | {"low": look.low or None, "open": open_bounds(look.low, look.high)}
            for look in d.looks
        ),
        values=(_finite_values(d.first_values), _finite_values(d.second_values)),
    )


def _extremes(found: Interval) -> dict[str, Any]:
    return {"ratio_ci": [found.low, _finite(found.high)], "confidence": found.confidence}


def _spread(found: SpreadComparison) -> dict[str, Any]:
    said = {"verdict": SPREADS.of(found.verdict), "within_margin": found.verdict.within_margin}
    return {**asdict(found), **said}


def _side(of: Side) -> dict[str, Any]:
    return {
        "name": of.name, "trials": of.trials, "failed": of.crashed,
        "killed": of.exceeded + of.killed,
        "above_s": None if of.above_ns is None else of.above_ns / 1e9,
    }  # fmt: skip


def _lost(of: LostCandidate) -> Lost:
    figures = _side(of.failures.candidate)
    return Lost(
        a=of.failures.reference.name, b=figures.pop("name"), gate=of.gate, gate_reason=of.answer,
        **figures,
    )  # fmt: skip


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _finite_values(values: FloatArray) -> tuple[float | None, ...]:
    return tuple(map(_finite, values.tolist()))
