"""What stands behind the numbers of an audit: what explains them, what their files say of them."""

from __future__ import annotations

import numpy as np

from tare.audit import Audit
from tare.audit import telling as words
from tare.audit.specification import CRITERIA
from tare.audit.variance import VarianceAudit
from tare.render.words import listing
from tare.results.finding import Column, Finding, Table
from tare.statistics.factorial import Decomposition


def variance_finding(v: VarianceAudit) -> Finding:
    """Answer what explains the variance of a metric."""
    d = v.decomposition
    caveats = []
    if d.spread_ratio is not None and d.spread_ratio > 3:
        caveats.append(
            f"The SD of one cell is {d.spread_ratio:.0f} times that of another, so that the cells "
            "which spread most weigh most: read the ranks."
        )
    if d.left_out:
        caveats.append(f"Left out, as it has one level or too many: {listing(d.left_out)}.")
    return Finding(
        name=f"variance of {v.metric}",
        closed=False,
        question=f"What explains the variance of {v.metric}?",
        answer=words.variance_told(v),
        verdict="none",
        caveats=tuple(caveats),
        tables=(_shares(d),),
    )


def _shares(d: Decomposition) -> Table:
    rows = tuple(
        {
            "effect": " with ".join(e.factors),
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
        title=f"Shares of the variance, {d.n:,} trials in {d.cells:,} cells",
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
        note="Type II: each effect after all others that do not contain it. p of the ranks by "
        "permutation, which needs no normal distribution.",
    )


def specification_finding(audit: Audit) -> Finding:
    """Answer whether the files say how their numbers came about."""
    full = all(not f.score.missing for f in audit.files)
    told = [f"{f.path.name} {words.specification_told(f)}" for f in audit.files]
    return Finding(
        name="specification",
        question="Does the file say how its numbers came about?"
        if len(audit.files) == 1
        else "Do the files say how their numbers came about?",
        answer=f"{listing(told[:6])}{' and others' if len(told) > 6 else ''}.",
        verdict="yes" if full else "no",
        caveats=tuple(
            f"Without its {name}, {why}."
            for name, _, why in CRITERIA
            if any(name in f.score.missing for f in audit.files)
        ),
        tables=(
            Table(
                title="Criteria of CLOUDNET's survey, and the environment",
                columns=(
                    Column(key="file", title="file"),
                    *(Column(key=name, title=f"{name}: {what}") for name, what, _ in CRITERIA),
                    Column(key="score", title="score"),
                ),
                rows=tuple(
                    {
                        "file": f.path.name,
                        **dict(f.score.said),
                        "score": f"{f.score.points} of {f.score.of}",
                    }
                    for f in audit.files
                ),
            ),
        ),
    )
