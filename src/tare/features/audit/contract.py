"""An audit as JSON: the contract that docs/reference/audit.md documents."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tare.features.audit.audit import Audit, FileAudit
from tare.features.audit.comparison import ComparisonAudit
from tare.features.audit.overhead_contract import cold_as_json, overhead_as_json
from tare.features.audit.series import SeriesAudit
from tare.features.audit.variance import VarianceAudit
from tare.render.vocabulary import SPREADS
from tare.render.words import paragraph, sentence, sentences, text
from tare.results.message import Message
from tare.statistics.confirm import Repetitions
from tare.statistics.intervals import Interval

#: Changes when a field changes its meaning or goes.
VERSION = 1
#: Points of a convergence curve that are written; a longer one is thinned.
_MOST_POINTS = 60


def as_json(audit: Audit) -> dict[str, Any]:
    """Return an audit as what ``--json`` writes; absent values are None."""
    return {
        "version": VERSION,
        "verdict": audit.verdict,
        "exit_code": audit.exit_code,
        "precision": audit.question.precision,
        "precision_required": audit.question.precision_required,
        "confidence": audit.question.confidence,
        "margin": audit.question.margin,
        "seed": audit.question.seed,
        "files": [_file(f) for f in audit.files],
        "series": [_series(s) for s in audit.series],
        "comparisons": [_comparison(c) for c in audit.comparisons],
        "variance": [_variance(v) for v in audit.variance],
        "overhead": None if audit.overhead is None else plain(overhead_as_json(audit.overhead)),
        "cold_start": None if audit.cold is None else plain(cold_as_json(audit.cold)),
    }


def _file(file: FileAudit) -> dict[str, Any]:
    return {
        "file": str(file.path),
        "format": file.imported.format,
        "specification": {
            "score": file.score.points,
            "of": file.score.of,
            **{name: said and text(said) for name, said in file.score.said},
            "missing": list(file.score.missing),
        },
        "notes": sentences(file.imported.notes),
    }


def _series(s: SeriesAudit) -> dict[str, Any]:
    return {
        "file": str(s.file),
        "key": s.key,
        "metric": s.series.metric,
        "unit": s.series.unit,
        "n": s.n,
        "values": len(s.series.values),
        "trials_known": s.trials.known,
        "median": _number(s.median.estimate),
        "median_ci": _bounds(s.median),
        "quantiles": [{"q": q, **_interval(i)} for q, i in s.quantiles],
        "mean": _number(s.mean.estimate),
        "mean_ci": _bounds(s.mean),
        "mean_coverage": s.coverage and s.coverage[0],
        "sd": _number(s.sd.estimate) if s.n > 1 else None,
        "sd_ci": _bounds(s.sd),
        "sd_coverage": s.coverage and s.coverage[1],
        "cov": _number(s.cov),
        "cov_robust": _number(s.cov_robust),
        "dependence": _number(s.dependence),
        "reached": s.reached,
        "runs_needed": s.runs_needed,
        "tick": _number(s.median.tick),
        "repetitions": _repetitions(s.repetitions),
        "assumptions": plain(s.assumptions),
        "verdict": s.trust.verdict,
        "reasons": sentences(s.trust.reasons),
        "remarks": sentences(s.trust.remarks),
        "used": s.used,
        "reported": dict(s.series.reported),
        "notes": sentences(s.series.notes),
    }


def _repetitions(r: Repetitions) -> dict[str, Any]:
    count = len(r.curve.s)
    at = np.unique(np.geomspace(1, max(count, 1), min(count, _MOST_POINTS)).astype(int)) - 1
    curve = {
        name: [_number(v) for v in np.asarray(getattr(r.curve, name))[at]]
        for name in ("s", "low", "high", "median")
    }
    return {
        "precision": r.precision,
        "n": r.n,
        "n_assured": r.n_assured,
        "converges": r.converges,
        "curve": curve,
    }


def _comparison(c: ComparisonAudit) -> dict[str, Any]:
    found, spread = c.location, c.spread
    return {
        "key": c.key,
        "a": c.a,
        "b": c.b,
        "mean": c.mean,
        "sd": c.sd,
        "verdict": c.words.of(c.verdict),
        "within_margin": c.verdict.within_margin,
        "ratio": None if found is None else _number(found.ratio),
        "ratio_ci": None if found is None else _pair(found.low, found.high),
        "cliffs_delta": None if found is None else _number(found.cliffs_delta),
        "p_adjusted": _number(c.p_adjusted) if c.location or c.difference else None,
        "median_ratio": None if found is None else _number(found.median_ratio),
        "detectable": None if found is None else _number(found.detectable),
        "more": None if found is None else found.more_pairs,
        "n": None if found is None else found.n,
        "paired": c.matched.how,
        "because": paragraph(c.matched.because),
        "refusal": None if c.refusal is None else text(c.refusal),
        "difference": None
        if c.difference is None
        else {
            "estimate": _number(c.difference.middle),
            "ci": _pair(c.difference.low, c.difference.high),
            "p": _number(c.difference.p),
        },
        "spread": None
        if spread is None
        else {
            "verdict": SPREADS.of(spread.verdict),
            "within_margin": spread.verdict.within_margin,
            "ratio": _number(spread.ratio),
            "ratio_ci": _pair(spread.low, spread.high),
            "p_adjusted": _number(spread.p_adjusted),
        },
    }


def _variance(v: VarianceAudit) -> dict[str, Any]:
    return {"metric": v.metric, "factors": list(v.factors), **plain(v.decomposition)}


def _interval(i: Interval) -> dict[str, Any]:
    why = None if i.refusal is None else text(i.refusal)
    return {"estimate": _number(i.estimate), "ci": _bounds(i), "refusal": why}


def _bounds(i: Interval) -> list[float | None] | None:
    return _pair(i.low, i.high)


def _pair(low: float | None, high: float | None) -> list[float | None] | None:
    return None if low is None or high is None else [_number(low), _number(high)]


def _number(value: Any) -> Any:
    """Return a number as JSON can have it: neither NaN nor infinity, no numpy type."""
    if value is None:
        return None
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def plain(value: Any) -> Any:
    """Turn dataclasses, arrays, tuples and messages into what JSON has."""
    if isinstance(value, Message):
        return sentence(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [plain(v) for v in value]
    return str(value) if isinstance(value, Path) else _number(value)
