"""What explains the numbers of an audit, and what their files state of them."""

from __future__ import annotations

import numpy as np

from tare.features.audit import messages as words
from tare.features.audit.audit import Audit
from tare.features.audit.specification import CRITERIA
from tare.features.audit.variance import VarianceAudit
from tare.render.words import text
from tare.results.finding import Column, Finding, Table
from tare.results.message import message
from tare.statistics.factorial import Decomposition

#: Files that are named one by one.
_MOST_FILES = 6


def variance_finding(v: VarianceAudit) -> Finding:
    """Answer what explains the variance of a metric."""
    d = v.decomposition
    caveats = []
    if d.spread_ratio is not None and d.spread_ratio > 3:
        caveats.append(message("audit.variance.spread", times=round(d.spread_ratio)))
    if d.left_out:
        caveats.append(message("audit.variance.left_out", factors=d.left_out))
    return Finding(
        name=f"variance of {v.metric}",
        closed=False,
        question=message("audit.variance.question", metric=v.metric),
        answer=words.variance(v),
        summary=words.variance(v)[0],
        verdict="none",
        caveats=tuple(caveats),
        tables=(_shares(d),),
    )


def _shares(d: Decomposition) -> Table:
    rows = tuple(
        {
            "effect": words.effect_name(e),
            "share": 100 * e.share,
            "ranks": 100 * e.rank_share,
            "degrees": e.degrees,
            "f": float(e.f) if np.isfinite(e.f) else None,
            "p": e.p,
            "p_ranks": e.rank_p,
        }
        for e in d.effects
    )
    within = {"effect": "between trials of a cell", "share": 100 * d.within}
    return Table(
        title=message("audit.variance.table", trials=d.n, cells=d.cells),
        columns=(
            Column(key="effect", title="effect"),
            Column(key="share", title="share (omega²)", unit="%"),
            Column(key="ranks", title="share of the ranks", unit="%"),
            Column(key="degrees", title="degrees of freedom"),
            Column(key="f", title="F", unit="1"),
            Column(key="p", title="p", unit="1"),
            Column(key="p_ranks", title="p of the ranks", unit="1"),
        ),
        rows=(*rows, within),
        note=message("audit.variance.note"),
    )


def specification_finding(audit: Audit) -> Finding:
    """Answer whether the files state how their numbers were measured."""
    full = all(not f.score.missing for f in audit.files)
    more = len(audit.files) - _MOST_FILES
    return Finding(
        name="specification",
        question=message("audit.specification.question", files=len(audit.files)),
        answer=(
            *(words.specification(f) for f in audit.files[:_MOST_FILES]),
            *([message("audit.specification.more", n=more)] if more > 0 else []),
        ),
        verdict="yes" if full else "no",
        caveats=tuple(
            message(f"audit.specification.{name}")
            for name, _ in CRITERIA
            if any(name in f.score.missing for f in audit.files)
        ),
        tables=(
            Table(
                title="Criteria of CLOUDNET's survey, and the environment",
                columns=(
                    Column(key="file", title="file"),
                    *(Column(key=name, title=f"{name}: {what}") for name, what in CRITERIA),
                    Column(key="score", title="score"),
                ),
                rows=tuple(
                    {
                        "file": f.path.name,
                        **{name: said and text(said) for name, said in f.score.said},
                        "score": f"{f.score.points} of {f.score.of}",
                    }
                    for f in audit.files
                ),
            ),
        ),
    )
