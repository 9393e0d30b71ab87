"""Numbers of an audit for scripts, which docs/reference/audit.md documents."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from tare.features.audit.audit import CRITERIA, Audit, FileAudit
from tare.features.audit.comparison import ComparisonAudit
from tare.features.audit.messages import inside
from tare.features.audit.series import SeriesAudit
from tare.render.vocabulary import SPREADS
from tare.render.words import paragraph, sentence, sentences, text
from tare.results.message import Message, open_bounds
from tare.statistics.comparison import Comparison
from tare.statistics.confirm import Repetitions
from tare.statistics.intervals import Interval

#: Points of a convergence curve that are written; a longer one is thinned.
_MOST_POINTS = 60


def figures(audit: Audit) -> dict[str, Any]:
    """Return the numbers of an audit as its report has them; absent values are None."""
    found = {
        "verdict": audit.verdict,
        **_fields(audit.trust, "extent", "sessions"),
        **_fields(audit.question, "precision", "confidence", "margin", "seed"),
        "files": [_file(f) for f in audit.files],
        "series": [_series(s) for s in audit.series],
        "pairs": [_comparison(c) for c in audit.comparisons],
    }
    return {name: plain(value) for name, value in found.items()}


def _file(file: FileAudit) -> dict[str, Any]:
    return {
        "file": file.path,
        "format": file.imported.format,
        "specification": {
            "score": file.points,
            "of": len(CRITERIA),
            **{name: said and text(said) for name, said in file.specification.items()},
            "missing": file.missing,
        },
        "notes": sentences(file.imported.said),
    }


def _series(s: SeriesAudit) -> dict[str, Any]:
    return {
        "file": s.files[0],
        "files": s.files,
        "key": s.key,
        "metric": s.series.metric,
        "unit": s.series.unit,
        "n": s.n,
        "values": len(s.series.values),
        "trials_known": s.trials_known,
        "median": s.median.estimate,
        "median_ci": _bounds(s.median),
        "median_above": _above(s.median),
        "killed": s.trials.killed,
        "quantiles": [
            {
                "q": q,
                "estimate": i.estimate,
                "ci": _bounds(i),
                "above": _above(i),
                "refusal": i.refusal and text(i.refusal),
            }
            for q, i in s.quantiles
        ],
        "mean": s.mean.estimate,
        "mean_ci": _bounds(s.mean),
        "mean_coverage": s.coverage and s.coverage[0],
        "sd": s.sd.estimate if s.n > 1 else None,
        "sd_ci": _bounds(s.sd),
        "sd_coverage": s.coverage and s.coverage[1],
        **_fields(s, "cov", "cov_robust", "dependence", "reached", "runs_needed"),
        "tick": s.median.tick,
        "repetitions": _repetitions(s.repetitions),
        "assumptions": s.assumptions,
        **_fields(s.trust, "verdict", "extent", "sessions"),
        "reasons": sentences(s.trust.reasons),
        "remarks": sentences(s.trust.remarks),
        "used": s.used,
        "reported": s.series.reported,
        "notes": sentences((*s.series.losses, *s.series.notes)),
        "inside": s.timeline
        and _fields(s.timeline, "kind", "size", "shift", "steady_from", "period"),
        "steady_from": s.counted.begin,
        "timelines": [
            {"metric": t.metric, "unit": t.unit, "values": t.values, "sentence": sentence(said)}
            for t, said in inside(s)
        ],
    }


def _repetitions(r: Repetitions) -> dict[str, Any]:
    count = len(r.curve.s)
    at = np.unique(np.geomspace(1, max(count, 1), min(count, _MOST_POINTS)).astype(int)) - 1
    curve = _fields(r.curve, "s", "low", "high", "median")
    curve = {name: np.asarray(values)[at] for name, values in curve.items()}
    return {**_fields(r, "precision", "n", "n_assured", "converges"), "curve": curve}


def _comparison(c: ComparisonAudit) -> dict[str, Any]:
    found, difference, spread = c.location, c.difference, c.spread
    return {
        **_fields(c, "key", "metric", "a", "b", "mean", "sd"),
        "verdict": c.words.of(c.verdict),
        "within_margin": c.verdict.within_margin,
        **_fields(found, "ratio", "ratio_ci", "cliffs_delta"),
        "p_adjusted": c.p_adjusted if found or difference else None,
        **_fields(found, "median_ratio", "detectable"),
        "ratio_open": found and open_bounds(found.low, found.high),
        "killed": found and found.killed,
        "more": found and found.more_pairs,
        **_fields(found, "n"),
        "paired": c.matched.how,
        "because": paragraph(c.matched.because),
        "refusal": c.refusal and text(c.refusal),
        "difference": difference
        and {"estimate": difference.middle, "ci": _bounds(difference), "p": difference.p},
        "spread": spread
        and {
            "verdict": SPREADS.of(spread.verdict),
            "within_margin": spread.verdict.within_margin,
            **_fields(spread, "ratio", "ratio_ci", "p_adjusted"),
        },
    }


def _above(i: Interval) -> float | None:
    """Return the limit that an estimate or its upper bound exceeds; None: both are known."""
    is_open = math.isinf(i.estimate) or (i.high is not None and math.isinf(i.high))
    return i.above if is_open else None


def _fields(of: object, *names: str) -> dict[str, Any]:
    """Return attributes by name, and as ``…_ci`` the bounds; None of what is absent."""
    return {
        name: _bounds(of) if name.endswith("_ci") else of and getattr(of, name) for name in names
    }


def _bounds(of: Any) -> list[float | None] | None:
    """Return the bounds of what has an interval; None where it has none, and of an open one."""
    if of is None or of.low is None or of.high is None:
        return None
    # No ratio is 0.
    is_open = isinstance(of, Comparison) and of.low == 0
    return [None if is_open else of.low, of.high]


def plain(value: Any) -> Any:
    """Turn dataclasses, arrays, paths and messages into what JSON has: no NaN, no infinity."""
    if isinstance(value, Message):
        return sentence(value)
    if isinstance(value, msgspec.Struct):
        value = msgspec.structs.asdict(value)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [plain(v) for v in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return str(value) if isinstance(value, Path) else value
