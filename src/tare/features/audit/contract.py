"""An audit as JSON: the contract that docs/reference/audit.md documents."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tare.experiment.findings.variance import Explained
from tare.experiment.task_sets.answers import PENALTY
from tare.experiment.task_sets.outcomes import RESULTS, Pair
from tare.experiment.task_sets.ranking import MeasureRatio, Versus
from tare.features.audit.audit import CRITERIA, Audit, FileAudit
from tare.features.audit.cold import ColdStart
from tare.features.audit.comparison import ComparisonAudit
from tare.features.audit.messages import best, inside, task_caveats
from tare.features.audit.platforms import Study
from tare.features.audit.question import Question
from tare.features.audit.series import SeriesAudit
from tare.features.audit.task_sets import TaskSet, TaskSets
from tare.render.vocabulary import SPREADS, TIMES, VALUES
from tare.render.words import paragraph, sentence, sentences, text
from tare.results.message import Message, message, open_bounds
from tare.statistics.comparison import Comparison
from tare.statistics.confirm import Repetitions
from tare.statistics.intervals import Interval
from tare.statistics.scores import penalised_mean, share_solved
from tare.statistics.time_of_day import CycleTest, Level, TimeOfDay

#: Changes when a field changes its meaning or goes.
VERSION = 2
#: Units of time whose medians are written: of hours, more than a year.
_MOST_UNITS = 10_000
#: Points of a convergence curve that are written; a longer one is thinned.
_MOST_POINTS = 60


def as_json(audit: Audit) -> dict[str, Any]:
    """Return an audit as what ``--json`` writes; absent values are None."""
    ranking = audit.tasks.ranking if audit.tasks and audit.tasks.are_enough else None
    versus = ranking.versus if ranking else ()
    found = {
        "version": VERSION,
        "verdict": audit.verdict,
        "exit_code": audit.exit_code,
        **_fields(audit.trust, "extent", "sessions"),
        "precision": audit.question.precision,
        "confidence": audit.question.confidence,
        "margin": audit.question.margin,
        "seed": audit.question.seed,
        "files": [_file(f) for f in audit.files],
        "series": [_series(s) for s in audit.series],
        "comparisons": [
            *(_comparison(c) for c in audit.comparisons),
            *(_of_tasks(v, r, audit.question) for v in versus for r in v.ratios),
        ],
        "task_sets": [_task_set(t) for t in (audit.tasks.sets if audit.tasks else ())],
        "solved": [_solved(v, audit.question) for v in versus],
        "best": audit.tasks and _best(audit.tasks),
        "variance": [_variance(v) for v in audit.variance],
        "overhead": audit.platforms and _platforms(audit.platforms),
        "cold_start": audit.cold and _cold(audit.cold),
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
        "trials_known": s.trials.known,
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
        "time_of_day": s.over_time and _over_time(s.over_time),
        "assumptions": s.assumptions,
        **_fields(s.trust, "verdict", "extent", "sessions"),
        "reasons": sentences(s.trust.reasons),
        "remarks": sentences(s.trust.remarks),
        "used": s.used,
        "reported": s.series.reported,
        "notes": sentences((*s.series.losses, *s.series.notes)),
        "inside": s.timeline
        and _fields(s.timeline, "kind", "size", "shift", "steady_from", "period"),
        "steady_from": s.steady and s.steady.begin,
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


def _of_tasks(one: Versus, of: MeasureRatio, question: Question) -> dict[str, Any]:
    """Return a ratio over tasks with the fields of any comparison."""
    found = of.found.ratio.like_these
    verdict = of.verdict(question.margin)
    return {
        "key": _common(one.pair),
        "metric": of.measure.key,
        **_levels(one.pair, question),
        "mean": None,
        "sd": None,
        "verdict": (TIMES if of.measure.is_time else VALUES).of(verdict),
        "within_margin": verdict.within_margin,
        "ratio": found.estimate,
        "ratio_ci": _bounds(found),
        "cliffs_delta": None,
        "p_adjusted": of.p if of.found.p is not None else None,
        "median_ratio": None,
        "detectable": None,
        "ratio_open": None,
        "killed": None,
        "more": None,
        "n": found.n,
        "paired": "by task",
        "because": sentence(message("tasks.note.ratios")),
        "refusal": found.refusal and text(found.refusal),
        "difference": None,
        "spread": None,
        "with_killed": of.with_killed
        and {
            **_fields(of.with_killed, "ratio", "ratio_ci", "n", "killed"),
            "ratio_open": open_bounds(of.with_killed.low, of.with_killed.high),
        },
    }


def _common(pair: Pair) -> dict[str, str | None]:
    first, second = pair.first.levels, pair.second.levels
    return {k: v for k, v in first.items() if second.get(k) == v}


def _levels(pair: Pair, question: Question) -> dict[str, str]:
    columns = question.columns.compare
    names = [
        ", ".join(one.levels.get(c) or "" for c in columns) if columns else one.label
        for one in (pair.first, pair.second)
    ]
    return dict(zip("ab", names, strict=True))


def _task_set(one: TaskSet) -> dict[str, Any]:
    scored = one.scored
    share = share_solved(scored.outcomes).like_these
    par2 = {
        m.key: penalised_mean(scored.outcomes_by(m), m.limit, PENALTY).like_these
        for m in scored.measures
        if m.limit is not None and m.is_time
    }
    return {
        "tasks": len(one.tasks),
        **_fields(one, "key", "name", "runs", "solved"),
        "solved_share_ci": _bounds(share),
        "results": {name: n for name, n in zip(RESULTS, scored.counts, strict=True) if n},
        "answers": scored.kinds,
        "score": scored.score,
        "limits": {m.key: m.limit for m in scored.measures},
        "par2": {key: {"estimate": i.estimate, "ci": _bounds(i)} for key, i in par2.items()},
        "broken": scored.broken,
    }


def _solved(one: Versus, question: Question) -> dict[str, Any]:
    return {
        "key": _common(one.pair),
        **_levels(one.pair, question),
        "tasks": one.tasks,
        "only_a": one.solved.only_first,
        "only_b": one.solved.only_second,
        "p": one.solved.like_these.p,
        "p_adjusted": one.p_solved,
        "better": one.better and one.better.label,
    }


def _best(tasks: TaskSets) -> dict[str, Any]:
    """Return the answer of a set: its sentences, and its configurations, the best first."""
    tiers = tasks.ranking.tiers if tasks.ranking else ()
    return {
        "sentences": sentences(best(tasks)),
        "order": [[one.label for one in tier] for tier in tiers],
        "notes": sentences(task_caveats(tasks)),
    }


def _over_time(found: TimeOfDay) -> dict[str, Any]:
    units = found.units
    return {
        "unit_s": units.unit_s,
        "days": units.days,
        "units": len(units),
        "start_s": units.start_s[:_MOST_UNITS],
        "medians": units.values[:_MOST_UNITS],
        "left_out": units.left_out,
        "daily": found.day.is_shown,
        **_cycle(found.day),
        "weekly": {"shown": found.week.is_shown, **_cycle(found.week)},
        "samples": _level(found.samples),
        "of_medians": _level(found.medians),
        "shifts": found.changes.points,
        "stretch": found.stretch,
        "of_stretch": found.stable and _level(found.stable),
    }


def _cycle(test: CycleTest) -> dict[str, Any]:
    cycle = test.cycle
    untested = isinstance(cycle, str)
    return {
        "untested": cycle if untested else None,
        "tested": test.tested,
        "cycle": None
        if untested
        else {
            **_fields(test, "p", "detectable"),
            **_fields(cycle, "amplitude", "lowest", "highest"),
        },
    }


def _level(level: Level) -> dict[str, Any]:
    return {
        "n": len(level.values),
        "median": level.median.estimate,
        "median_ci": _bounds(level.median),
        **_fields(level, "dependence", "needed"),
        "normal": level.normality.ok,
        "stationary": level.stationarity.verdict,
    }


def _variance(v: Explained) -> dict[str, Any]:
    return {"metric": v.metric, "factors": v.factors, **plain(v.decomposition)}


def _platforms(found: Study) -> dict[str, Any]:
    names = ("platform", "reference", "size", "pinning", "free", "pinned", "host_cores")
    return {
        **_fields(found.design, *names),
        "first_left_out": found.cold,
        "findings": [
            {
                "name": one.name,
                "verdict": one.shown,
                "sentences": sentences(one.answer),
                "caveats": sentences(one.caveats),
                "tables": [{"title": text(t.title), "rows": t.rows} for t in one.tables],
            }
            for one in found.findings
        ],
    }


def _cold(cold: ColdStart) -> dict[str, Any]:
    return {
        "found": cold.found,
        "series": len(cold.firsts),
        **_fields(cold, "largest", "p", "ratio", "later"),
        "firsts": [
            {"key": f.series.key, **_fields(f, "value", "rest", "ratio", "expected", "largest")}
            for f in cold.firsts
        ],
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
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [plain(v) for v in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return str(value) if isinstance(value, Path) else value
