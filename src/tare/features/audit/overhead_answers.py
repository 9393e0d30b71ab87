"""What platforms cost, and how series begin, as findings: answers with their tables."""

from __future__ import annotations

from typing import Any

from tare.features.audit import overhead_messages as words
from tare.features.audit.audit import Audit
from tare.features.audit.cold import ColdStart, begins, item_name
from tare.features.audit.comparison_answers import ratio_cells, ratio_columns
from tare.features.audit.overhead import Cost, Line, OverheadAudit
from tare.render.vocabulary import SIZES, TIMES
from tare.render.words import text
from tare.results.finding import Column, Finding, Table, interval_columns
from tare.results.message import Chosen, Message, message
from tare.statistics.platform_size import Factor


def overhead_finding(audit: Audit, found: OverheadAudit) -> Finding:
    """Answer what each platform costs, size by size."""
    return Finding(
        name="overhead",
        closed=False,
        question="What does each platform cost, size by size?",
        answer=words.messages(found),
        summary=tuple(said for _, said in words.brief(found)),
        verdict="none",
        caveats=tuple(words.caveats(found)),
        tables=tuple(
            t for t in (_costs(audit, found), _models(audit, found), _effects(audit, found)) if t
        ),
    )


def cold_finding(audit: Audit, cold: ColdStart) -> Finding:
    """Answer whether the first value of a series is a cold start."""
    what = item_name(audit.question)
    later: tuple[Message, ...] = ()
    if cold.later is None and audit.question.columns.block is not None:
        later = (message("audit.cold.same", what=what),)
    return Finding(
        name="cold-start",
        question=message("audit.cold.question", what=what),
        answer=begins(cold, what),
        summary=begins(cold, what),
        verdict="yes",
        caveats=later,
        tables=(_firsts(cold, what),),
    )


def _firsts(cold: ColdStart, what: str) -> Table:
    unit = cold.firsts[0].series.series.unit or "1"
    if len({f.series.series.unit for f in cold.firsts}) > 1:
        unit = "1"
    rows = tuple(
        {
            "series": f.series.name,
            "first": f.value,
            "rest": f.rest,
            "ratio": f.ratio,
            "later": f.expected,
            "largest": f.largest,
        }
        for f in cold.firsts
    )
    return Table(
        title="First values",
        columns=(
            Column(key="series", title="series"),
            Column(key="first", title="first", unit=unit),
            Column(key="rest", title="median of the others", unit=unit),
            Column(key="ratio", title="ratio", unit="1"),
            Column(key="later", title=f"expected of this {what}", unit=unit),
            Column(key="largest", title="the largest"),
        ),
        rows=rows,
        note=message("audit.cold.note", what=what),
    )


def _place_columns(found: OverheadAudit) -> tuple[Column, ...]:
    d = found.design
    columns = [Column(key="what", title="what")]
    if d.size is not None:
        columns.append(Column(key="size", title="size"))
        if d.host_cores is not None:
            columns.append(Column(key="chr", title="CHR", unit="1"))
    return (*columns, Column(key="beside", title="vs."))


def _row(found: OverheadAudit, line: Line, c: Cost) -> dict[str, Any]:
    row: dict[str, Any] = {
        "what": words.line_name(line),
        "size": words.size_name(c.place) or None,
        "beside": words.line_name(c.beside),
        "mean": c.place.series.mean.estimate,
        "beside mean": c.beside.series.mean.estimate,
        "median": c.place.series.median.estimate,
        "means": c.means,
        "verdict": TIMES.of(c.verdict) if c.location else text(words.uncompared(c)),
    }
    if found.design.host_cores is not None and c.place.cores is not None:
        row["chr"] = c.place.cores / found.design.host_cores
    if c.location is not None:
        row |= {"n": c.location.n, **ratio_cells(c.location)}
    return row


_RATIO = (*ratio_columns("ratio"), Column(key="n", title="n"))


def _costs(audit: Audit, found: OverheadAudit) -> Table:
    unit = found.places[0].series.series.unit or "1"
    return Table(
        title=message("audit.overhead.table", reference=found.design.reference),
        columns=(
            *_place_columns(found),
            *_RATIO,
            Column(key="median", title="median", unit=unit),
            Column(key="mean", title="mean", unit=unit),
            Column(key="beside mean", title="mean of the reference", unit=unit),
            Column(key="means", title="ratio of means, as PINNING counts", unit="1"),
        ),
        rows=tuple(_row(found, line, c) for line in found.lines for c in line.costs),
        confidence=audit.question.confidence,
        note=message(
            "audit.overhead.note",
            without_first=found.cold is not None,
            margin=Chosen(audit.question.margin),
        ),
    )


def _effects(audit: Audit, found: OverheadAudit) -> Table | None:
    if not found.pinned:
        return None
    return Table(
        title=message(
            "audit.overhead.pinned_table", pinned=found.design.pinned, free=found.design.free
        ),
        columns=(*_place_columns(found), *_RATIO),
        rows=tuple(_row(found, line, c) for line in found.pinned for c in line.costs),
        confidence=audit.question.confidence,
        note=message("audit.overhead.pinned_note"),
    )


def _models(audit: Audit, found: OverheadAudit) -> Table | None:
    known = [(x, x.model) for x in found.lines if x.model is not None and x.model.pso is not None]
    if not known:
        return None
    rows = tuple(
        {
            "what": words.line_name(line),
            **_factor("pso", m.pso),
            **_factor("pto", m.pto),
            "verdict": SIZES.of(m.verdict),
            "shape": m.curve.shape if m.curve else None,
            "fits": m.misfit is None,
            "n": m.n,
        }
        for line, m in known
    )
    return Table(
        title="Overhead of the size (PSO) and of the platform type (PTO)",
        columns=(
            Column(key="what", title="what"),
            *interval_columns("pso", "PSO: smallest size over largest", "1", "pso "),
            Column(key="verdict", title="over sizes the overhead"),
            *interval_columns("pto", "PTO: cost with the whole host", "1", "pto "),
            Column(key="shape", title="shape"),
            Column(key="fits", title="fits"),
            Column(key="n", title="n"),
        ),
        rows=rows,
        confidence=audit.question.confidence,
        note=message("audit.overhead.model_note", host=bool(found.design.host_cores)),
    )


def _factor(key: str, factor: Factor | None) -> dict[str, Any]:
    if factor is None:
        return {}
    return {key: factor.value, f"{key} low": factor.low, f"{key} high": factor.high}
