"""What platforms cost, and how series begin, as findings: answers with their tables."""

from __future__ import annotations

from typing import Any

from tare.audit import Audit
from tare.audit import overhead_telling as words
from tare.audit.cold import ColdStart
from tare.audit.cold_telling import cold_told, item_name
from tare.audit.overhead import Cost, Line, OverheadAudit
from tare.render.vocabulary import SIZES, TIMES
from tare.results.finding import Column, Finding, Table
from tare.statistics.platform_size_curves import Factor
from tare.units import chosen


def overhead_finding(audit: Audit, found: OverheadAudit) -> Finding:
    """Answer what each platform costs, size by size."""
    return Finding(
        name="overhead",
        closed=False,
        question="What does each platform cost, size by size?",
        answer=" ".join(words.sentences(found)),
        verdict="none",
        caveats=tuple(words.caveats(found)),
        tables=tuple(
            t for t in (_costs(audit, found), _models(audit, found), _effects(audit, found)) if t
        ),
    )


def cold_finding(audit: Audit, cold: ColdStart) -> Finding:
    """Answer whether the first value of a series is a cold start."""
    what = item_name(audit)
    later: tuple[str, ...] = ()
    if cold.later is None and audit.question.columns.block is not None:
        later = (
            f"The same {what} always comes first, so that it cannot be told whether it takes long "
            "or the start is cold.",
        )
    return Finding(
        name="cold-start",
        question=f"Is the first {what} of a series a cold start?",
        answer=cold_told(cold, what),
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
            Column(key="rest", title="median of the rest", unit=unit),
            Column(key="ratio", title="ratio", unit="1"),
            Column(key="later", title=f"expected of this {what}", unit=unit),
            Column(key="largest", title="the largest"),
        ),
        rows=rows,
        note=f"Expected: what the same {what} takes in series where it comes later, "
        "relative to the rest there.",
    )


def _place_columns(found: OverheadAudit) -> tuple[Column, ...]:
    d = found.design
    told = [Column(key="what", title="what")]
    if d.size is not None:
        told.append(Column(key="size", title="size"))
        if d.host_cores is not None:
            told.append(Column(key="chr", title="CHR", unit="1"))
    return (*told, Column(key="beside", title="beside"))


def _row(found: OverheadAudit, line: Line, c: Cost) -> dict[str, Any]:
    row: dict[str, Any] = {
        "what": words.line_name(line),
        "size": words.size_name(c.place) or None,
        "beside": words.line_name(c.beside),
        "mean": c.place.series.mean.estimate,
        "beside mean": c.beside.series.mean.estimate,
        "median": c.place.series.median.estimate,
        "means": c.means,
        "verdict": TIMES.of(c.verdict) if c.location else f"not compared: {c.refusal}",
    }
    if found.design.host_cores is not None and c.place.cores is not None:
        row["chr"] = c.place.cores / found.design.host_cores
    if c.location is not None:
        row |= {
            "n": c.location.n,
            "ratio": c.location.ratio,
            "ratio low": c.location.low,
            "ratio high": c.location.high,
            "p": c.location.p_adjusted if c.location.low is not None else None,
        }
    return row


_RATIO = (
    Column(key="ratio", title="ratio", unit="1"),
    Column(key="ratio low", title="from", unit="1"),
    Column(key="ratio high", title="to", unit="1"),
    Column(key="verdict", title="verdict"),
    Column(key="p", title="p after Holm", unit="1"),
    Column(key="n", title="n"),
)


def _costs(audit: Audit, found: OverheadAudit) -> Table:
    unit = found.places[0].series.series.unit or "1"
    return Table(
        title=f"Cost beside {found.design.reference} of the same size",
        columns=(
            *_place_columns(found),
            *_RATIO,
            Column(key="median", title="median", unit=unit),
            Column(key="mean", title="mean", unit=unit),
            Column(key="beside mean", title="mean of what is beside", unit=unit),
            Column(key="means", title="ratio of means, as PINNING counts", unit="1"),
        ),
        rows=tuple(_row(found, line, c) for line in found.lines for c in line.costs),
        confidence=audit.question.confidence,
        note="Ratio: Hodges–Lehmann median of the log-ratios"
        f"{', without first values' if found.cold is not None else ''}; “equivalent”: within "
        f"{chosen(audit.question.margin)}; “slower” and “faster” after Holm over this table. "
        "Median, means and their ratio are of all values.",
    )


def _effects(audit: Audit, found: OverheadAudit) -> Table | None:
    if not found.pinned:
        return None
    return Table(
        title=f"{found.design.pinned} beside {found.design.free}",
        columns=(*_place_columns(found), *_RATIO),
        rows=tuple(_row(found, line, c) for line in found.pinned for c in line.costs),
        confidence=audit.question.confidence,
        note="“slower” and “faster” after Holm over this table.",
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
    over = "CHR (assigned cores over the host's)" if found.design.host_cores else "cores"
    return Table(
        title="What is of size (PSO), and what of the platform's type (PTO)",
        columns=(
            Column(key="what", title="what"),
            Column(key="pso", title="PSO: smallest size over largest", unit="1"),
            Column(key="pso low", title="from", unit="1"),
            Column(key="pso high", title="to", unit="1"),
            Column(key="verdict", title="over sizes the cost"),
            Column(key="pto", title="PTO: cost with the whole host", unit="1"),
            Column(key="pto low", title="from", unit="1"),
            Column(key="pto high", title="to", unit="1"),
            Column(key="shape", title="shape"),
            Column(key="fits", title="fits"),
            Column(key="n", title="n"),
        ),
        rows=rows,
        confidence=audit.question.confidence,
        note=f"log ratio = PTO + PSO · h({over}), where h vanishes at the whole host"
        f"{'' if found.design.host_cores else ', for which the largest size stands'}. Where no "
        "shape fits, the intervals are widened by how far sizes are off.",
    )


def _factor(key: str, factor: Factor | None) -> dict[str, Any]:
    if factor is None:
        return {}
    return {key: factor.value, f"{key} low": factor.low, f"{key} high": factor.high}
