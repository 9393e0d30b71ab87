"""What ``tare compare`` and ``tare run`` of several commands write with ``--json``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from tare.experiment.findings import conditions, sessions
from tare.experiment.findings.disturbance import disturbance
from tare.experiment.findings.failures import failures
from tare.experiment.findings.judgement import Difference, gate_answer, judged_before, lost
from tare.experiment.findings.side_failures import Side, SideFailures
from tare.experiment.results import Results
from tare.measure.comparison import network_use as network
from tare.render import data
from tare.render.vocabulary import SPREADS
from tare.results.message import open_bounds
from tare.results.verdict import GATE_CODES
from tare.statistics.spread import SpreadComparison

#: Version of ``tare compare --json``.
VERSION = 2


def as_json(
    found: Sequence[Difference], results: Results, ended: str, gate: float | None
) -> dict[str, Any]:
    """Return what ``--json`` writes."""
    disturbed = disturbance(results)
    trials = results.trial_table
    return {
        "version": VERSION,
        "comparisons": [_comparison_json(d, gate) for d in found],
        "lost": [{**_side_json(one.failures.candidate), "gate": one.gate} for one in lost(results)],
        "gate": None if gate is None else _gate_json(found, results, gate),
        "ended": ended,
        "seed": results.experiment.seed,
        "caveats": sessions.caveats(results),
        "judged_before": data.builtins(judged_before(results)),
        "levels_of": results.levels_of,
        "disturbance": None if disturbed is None else data.builtins(disturbed),
        "network": network.as_json(results),
        "conditions": [data.builtins(one) for one in conditions.rows(results)],
        "failed": int((trials["status"] == "failed").sum()),
        "failures": [asdict(one) for one in failures(results)],
        "facts": {
            row["name"]: row["value"] for row in results.facts.where(platform=None).records()
        },
    }


def _gate_json(found: Sequence[Difference], results: Results, gate: float) -> dict[str, Any]:
    answer, reason = gate_answer(found, lost(results), gate)
    return {
        "margin": gate,
        "answer": answer,
        "exit": GATE_CODES[answer],
        "reason": data.builtins(reason),
    }


def _comparison_json(d: Difference, gate: float | None) -> dict[str, Any]:
    c, (first, second) = d.comparison, d.medians
    more = d.more_pairs(gate)
    low, high = d.gated_bounds
    return {
        "a": d.first,
        "b": d.second,
        "verdict": d.words.of(c.verdict),
        "within_margin": c.verdict.within_margin,
        "answer": data.builtins(d.answer),
        "gate": None if gate is None else d.gate(gate),
        "gate_on": d.gate_on,
        "gate_ratio_ci": [low or None, high],
        "gate_ratio_open": open_bounds(low, high),
        "metric": d.basis.metric,
        "source": d.basis.source,
        "unit": d.basis.unit,
        "ratio": c.ratio,
        "ratio_ci": [c.low or None, c.high],
        "ratio_open": open_bounds(c.low, c.high),
        "confidence": c.confidence,
        "extremes": _extremes_json(d),
        "method": d.method,
        "margin": d.margin,
        "n": c.n,
        "more_pairs": more,
        "more_s": None if more is None else more * d.seconds,
        "cliffs_delta": c.cliffs_delta,
        "median_ratio": c.median_ratio,
        "medians": [
            {
                "name": n,
                "median": m.estimate,
                "median_ci": [m.low, m.high],
                "n": m.n,
                "above": m.above,
            }
            for n, m in ((d.first, first), (d.second, second))
        ],
        "spread": None if d.spread is None else _spread_json(d.spread),
        "trials": None if d.failures is None else _trials_json(d.failures),
        "written_bytes": list(d.written_bytes),
        "looks": [
            asdict(look) | {"low": look.low or None, "open": open_bounds(look.low, look.high)}
            for look in d.looks
        ],
        "values": [d.first_values.tolist(), d.second_values.tolist()],
    }


def _extremes_json(d: Difference) -> dict[str, Any] | None:
    found = d.extremes
    if found is None:
        return None
    return {"ratio_ci": [found.low, found.high], "confidence": found.confidence}


def _trials_json(of: SideFailures) -> list[dict[str, Any]]:
    return [_side_json(of.reference), _side_json(of.candidate)]


def _side_json(side: Side) -> dict[str, Any]:
    return {
        "name": side.name, "trials": side.trials, "failed": side.crashed,
        "killed": side.exceeded + side.killed,
        "above_s": None if side.above_ns is None else side.above_ns / 1e9,
    }  # fmt: skip


def _spread_json(found: SpreadComparison) -> dict[str, Any]:
    said = {"verdict": SPREADS.of(found.verdict), "within_margin": found.verdict.within_margin}
    return {**asdict(found), **said}
