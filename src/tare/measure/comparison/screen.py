"""What ``tare compare`` tells: verdicts with their evidence, a picture in text, JSON."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from tare import units
from tare.cli import console
from tare.experiment.findings import sessions, trusted
from tare.experiment.findings.disturbance import disturbance, said
from tare.experiment.findings.failures import failures
from tare.experiment.findings.judgement import Difference
from tare.experiment.findings.known import FEWEST_FOR_QUANTILES
from tare.experiment.results import Results
from tare.measure.comparison import network_use as network
from tare.render import data
from tare.render.vocabulary import SPREADS
from tare.render.words import sentence, text
from tare.results.message import Chosen, Message, message
from tare.results.verdict import GATE_CODES, worst
from tare.statistics.intervals import Interval
from tare.statistics.spread import SpreadComparison
from tare.units import chosen

#: Version of ``tare compare --json``.
VERSION = 2
#: Characters of the picture, and of what stands before every line.
_WIDTH, _INDENT = 61, 9


def show(found: Sequence[Difference], results: Results, gate: float | None = None) -> None:
    """Print every verdict with its evidence."""
    for d in found:
        c = d.comparison
        further = d.further if gate is None or d.gate(gate) == "inconclusive" else None
        # What begins with a command's name stays as the command is written.
        _say("Verdict", text(d.answer) if c.verdict.conclusive else sentence(d.answer))
        rests = message(
            "compare.rests",
            confidence=Chosen(c.confidence),
            sequential=bool(d.looks),
            counted=d.counted,
        )
        _say("", text(rests), style="dim")
        if further:
            _say("", sentence(further))
        for line in picture(d):
            console.out.print(line, no_wrap=True, crop=False)
        name = max(len(d.first), len(d.second))
        for label, known in zip((d.first, d.second), d.medians, strict=True):
            _say("Median", f"{label:<{name}}  {_interval(known, d)}")
        if d.of_pairs:
            _say("", sentence(d.of_pairs), style="dim")
        if c.n >= FEWEST_FOR_QUANTILES:
            _say("Effect", text(_effect(d)))
            _say("Spread", text(d.steadiness))
        if d.medians_apart:
            _say("Modes", text(d.medians_apart))
        if d.means_apart:
            _say("Mean", text(d.means_apart))
    for number, one in enumerate(network.of_commands(results)):
        _say("" if number else "Network", text(one))
    _say("Trust", trust(results, found))


def _say(label: str, said: str, style: str | None = None) -> None:
    console.labelled(label, said, _INDENT - 1, style)


def trust(results: Results, found: Sequence[Difference]) -> str:
    """Return what makes medians doubtful, what disturbed trials, and what protects from it."""
    return text(
        message(
            "compare.trust",
            doubt=trusted.said(results),
            disturbed=said(disturbance(results)),
            paired=all(d.paired for d in found),
        )
    )


def _interval(known: Interval, d: Difference) -> str:
    if known.low is None or known.high is None:
        return f"{units.amount(d.basis.unit, known.estimate)}  (no interval)"
    return units.interval(d.basis.unit, known.estimate, known.low, known.high)


def _effect(d: Difference) -> Message:
    """Return Cliff's delta, also as a chance: of two random values, which is the larger."""
    delta = d.comparison.cliffs_delta
    return message(
        "compare.effect",
        delta=f"{round(delta, 2) + 0.0:+.2f}".replace("-", "−"),
        second=d.second,
        time=d.basis.unit == "ns",
        chance=f"{100 * (1 + delta) / 2:.0f}",
    )


def picture(d: Difference, width: int = _WIDTH) -> list[str]:
    """Draw the interval beside no change and the margin; empty where there is none.

    Returns
    -------
    list of str
        Labels, the axis with the margin, the interval.
    """
    c = d.comparison
    if c.low is None or c.high is None:
        return []
    edge = math.log1p(d.margin)
    reach = 1.15 * max(abs(math.log(c.low)), abs(math.log(c.high)), 1.5 * edge)

    def at(log: float) -> int:
        return round((width - 1) * (log + reach) / (2 * reach))

    left, none, right = at(-edge), at(0), at(edge)
    axis = ["┈"] * width
    axis[left : right + 1] = ["─"] * (right + 1 - left)
    for place, mark in ((left, "├"), (right, "┤"), (none, "┼")):
        axis[place] = mark
    labels = [" "] * (width + 8)
    x = chosen(d.margin)
    texts = [(none, "0")]
    if right - none > len(x) + 2:
        texts += [(left, f"−{x}"), (right, f"+{x}")]
    for place, label in texts:
        begin = max(0, place - len(label) // 2)
        labels[begin : begin + len(label)] = label
    bar = [" "] * width
    low, mark_at, high = at(math.log(c.low)), at(math.log(c.ratio)), at(math.log(c.high))
    bar[low : high + 1] = ["━"] * (high + 1 - low)
    bar[low], bar[high], bar[mark_at] = "┣", "┫", "●"
    return [" " * _INDENT + "".join(row).rstrip() for row in (labels, axis, bar)]


def gate_line(found: Sequence[Difference], gate: float) -> Message:
    """Answer the gate: for the worst comparison."""
    answers = [d.gate(gate) for d in found]
    answer = worst(answers)
    d = found[answers.index(answer)]
    return message(
        "compare.gate",
        margin=Chosen(gate),
        word=message(f"compare.gate_word.{answer}"),
        answer=d.gate_answer(gate),
        of=len(found),
    )


def as_json(
    found: Sequence[Difference], results: Results, ended: str, gate: float | None
) -> dict[str, Any]:
    """Return what ``--json`` writes."""
    disturbed = disturbance(results)
    trials = results.trial_table
    answers = [d.gate(gate) for d in found] if gate is not None else []
    return {
        "version": VERSION,
        "comparisons": [_comparison_json(d, gate) for d in found],
        "gate": {"margin": gate, "answer": worst(answers), "exit": GATE_CODES[worst(answers)]}
        if gate is not None
        else None,
        "ended": ended,
        "seed": results.experiment.seed,
        "caveats": sessions.caveats(results),
        "levels_of": results.levels_of,
        "disturbance": None if disturbed is None else data.builtins(disturbed),
        "network": network.as_json(results),
        "failed": int((trials["status"] == "failed").sum()),
        "failures": [asdict(one) for one in failures(results)],
        "facts": {
            str(row["name"]): row["value"]
            for row in results.facts.to_dict("records")
            if not isinstance(row["platform"], str)
        },
    }


def _comparison_json(d: Difference, gate: float | None) -> dict[str, Any]:
    c, (first, second) = d.comparison, d.medians
    return {
        "a": d.first,
        "b": d.second,
        "verdict": d.words.of(c.verdict),
        "within_margin": c.verdict.within_margin,
        "answer": data.builtins(d.answer),
        "gate": None if gate is None else d.gate(gate),
        "gate_on": d.gate_on,
        "gate_ratio_ci": list(d.gated_bounds),
        "metric": d.basis.metric,
        "source": d.basis.source,
        "unit": d.basis.unit,
        "ratio": c.ratio,
        "ratio_ci": [c.low, c.high],
        "confidence": c.confidence,
        "method": d.method,
        "margin": d.margin,
        "n": c.n,
        "more_pairs": c.more_pairs,
        "more_s": None if c.more_pairs is None else c.more_pairs * d.seconds,
        "cliffs_delta": c.cliffs_delta,
        "median_ratio": c.median_ratio,
        "medians": [
            {"name": n, "median": m.estimate, "median_ci": [m.low, m.high], "n": m.n}
            for n, m in ((d.first, first), (d.second, second))
        ],
        "spread": None if d.spread is None else _spread_json(d.spread),
        "looks": [asdict(look) for look in d.looks],
        "values": [d.first_values.tolist(), d.second_values.tolist()],
    }


def _spread_json(found: SpreadComparison) -> dict[str, Any]:
    said = {"verdict": SPREADS.of(found.verdict), "within_margin": found.verdict.within_margin}
    return {**asdict(found), **said}
