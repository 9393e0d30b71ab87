"""What platforms cost, and how series begin, as JSON: documented in docs/reference/audit.md."""

from __future__ import annotations

from typing import Any

from tare.features.audit.cold import ColdStart
from tare.features.audit.overhead import Cost, Line, OverheadAudit
from tare.features.audit.overhead_messages import brief, caveats
from tare.render.vocabulary import SIZES, TIMES
from tare.render.words import sentences, text
from tare.statistics.platform_size import Factor


def overhead_as_json(found: OverheadAudit) -> dict[str, Any]:
    """Return what platforms cost; absent values are None."""
    d = found.design
    return {
        "platform": d.platform,
        "reference": d.reference,
        "size": d.size,
        "pinning": d.pinning,
        "free": d.free,
        "pinned": d.pinned,
        "host_cores": d.host_cores,
        "sentences": sentences(said for _, said in brief(found)),
        "caveats": sentences(caveats(found)),
        "costs": [_cost(line, c) for line in found.lines for c in line.costs],
        "sizes": [_model(line) for line in found.lines if line.model is not None],
        "pinning_effects": [_cost(line, c) for line in found.pinned for c in line.costs],
        "first_left_out": found.cold is not None,
    }


def cold_as_json(cold: ColdStart) -> dict[str, Any]:
    """Return how series begin."""
    return {
        "found": cold.found,
        "series": len(cold.firsts),
        "largest": cold.largest,
        "p": cold.p,
        "ratio": cold.ratio,
        "later": cold.later,
        "firsts": [
            {
                "key": f.series.key,
                "value": f.value,
                "rest": f.rest,
                "ratio": f.ratio,
                "expected": f.expected,
                "largest": f.largest,
            }
            for f in cold.firsts
        ],
    }


def _cost(line: Line, c: Cost) -> dict[str, Any]:
    found = c.location
    return {
        "key": c.place.series.key,
        "beside": c.beside.series.key,
        "platform": line.platform,
        "pinning": line.pinning,
        "cores": c.place.cores,
        "ratio": None if found is None else found.ratio,
        "ratio_ci": None if found is None or found.low is None else [found.low, found.high],
        "verdict": TIMES.of(c.verdict),
        "within_margin": c.verdict.within_margin,
        "p_adjusted": None if found is None else found.p_adjusted,
        "n": None if found is None else found.n,
        "ratio_of_means": c.means if c.means == c.means else None,
        "refusal": None if c.refusal is None else text(c.refusal),
    }


def _model(line: Line) -> dict[str, Any]:
    m = line.model
    assert m is not None
    return {
        "platform": line.platform,
        "pinning": line.pinning,
        "where": line.where,
        "pso": _factor(m.pso),
        "pto": _factor(m.pto),
        "verdict": SIZES.of(m.verdict),
        "within_margin": m.verdict.within_margin,
        "shape": None if m.curve is None else m.curve.shape,
        "misfit": m.misfit and text(m.misfit),
        "refusal": m.refusal and text(m.refusal),
        "extrapolated": m.extrapolated and text(m.extrapolated),
        "n": m.n,
    }


def _factor(factor: Factor | None) -> dict[str, Any] | None:
    if factor is None:
        return None
    known = factor.low is not None
    return {"value": factor.value, "ci": [factor.low, factor.high] if known else None}
