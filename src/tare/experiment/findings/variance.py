"""Which factors explain the variance of trial values? One analysis for experiments and audits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from tare.experiment.findings.cells import basis_of
from tare.experiment.findings.finding import FindingUnit
from tare.experiment.results import Results
from tare.registry import Description
from tare.render import charts
from tare.render.drawing import Chart
from tare.results.columns import Columns
from tare.results.finding import Column, Finding, Table
from tare.results.message import Amount, Message, message
from tare.statistics.factorial import Decomposition, Effect, decompose

#: Smallest share of the variance that is written as a number; effects below it are listed by name.
_LEAST_SHARE = 0.01
#: Largest ratio of the SDs of two cells for which shares of the values are reliable; above it, the
#: caveats recommend the shares of the ranks.
_MOST_SPREAD_RATIO = 3
#: Effects in one line, besides the largest.
_MOST_OTHERS = 2
WITHIN = "between trials of a cell"

_DESCRIPTION = Description(
    name="variance",
    title="Shares of the variance that factors and their interactions explain",
    question="Which factors explain the variance?",
    source="CLOUDNET, F5.3",
)


@dataclass(frozen=True)
class Explained:
    """Shares of the variance of one metric.

    Attributes
    ----------
    metric : str
    factors : tuple of str
        Those with two or more levels.
    decomposition : Decomposition
    relative : bool
        Whether each value was divided by the median of its workload.
    """

    metric: str
    factors: tuple[str, ...]
    decomposition: Decomposition
    relative: bool = False


def explain(
    rows: Columns, factors: Sequence[str], metric: str, seed: int, *, relative: bool = False
) -> Explained | None:
    """Decompose the variance of trial values over factors.

    Parameters
    ----------
    rows : Columns
        One row per trial: ``value`` and one column per factor.
    factors : sequence of str
    metric : str
        What the values are of.
    seed : int
        Of the permutations.
    relative : bool
        Whether each value was divided by the median of its workload.

    Returns
    -------
    Explained or None
        None with fewer than two factors of several levels, or without two trials in any cell:
        one factor alone is what comparisons of its levels report.
    """
    varied = tuple(f for f in factors if len(rows.distinct(f)) > 1)
    if len(varied) < 2:
        return None
    found = decompose(rows["value"], {f: rows[f].tolist() for f in varied}, seed=seed)
    if found is not None and relative:
        # The division left no difference between workloads, so that this share would mislead.
        effects = tuple(e for e in found.effects if e.factors != ("workload",))
        found = replace(found, effects=effects)
        varied = tuple(f for f in varied if f != "workload")
    return None if found is None or not found.effects else Explained(
        metric, varied, found, relative
    )  # fmt: skip


@lru_cache(maxsize=4)
def explained(results: Results) -> Explained | None:
    """Decompose the variance of an experiment's trial values; None as of :func:`explain`.

    Where there are several workloads, values are relative to the median of their workload: how
    long each takes is no question of variability, and would hide every other effect.
    """
    basis = basis_of(results)
    if isinstance(basis, Message):
        return None
    rows = results.values(basis.metric, basis.source)
    relative = len(rows.distinct("workload")) > 1 and bool(np.all(rows["value"] > 0))
    if relative:
        medians = rows.reduced("workload", "value", np.median)
        scale = np.array([medians[workload] for workload in rows["workload"].tolist()])
        rows = rows.with_columns(value=rows["value"] / scale)
    return explain(
        rows, results.factors, str(basis), results.experiment.seed, relative=relative
    )  # fmt: skip


def find(results: Results) -> Finding | None:
    """Report what explains the variance; None as of :func:`explain`."""
    found = explained(results)
    return None if found is None else finding(found)


def finding(v: Explained) -> Finding:
    """Answer what explains the variance of a metric."""
    d = v.decomposition
    caveats = []
    if d.spread_ratio is not None and d.spread_ratio > _MOST_SPREAD_RATIO:
        caveats.append(
            message(
                "the SD of one cell is {times} times that of another: read the shares of the ranks",
                times=round(d.spread_ratio),
            )
        )
    if d.left_out:
        caveats.append(
            message("left out, with one level or too many: {factors | listing}", factors=d.left_out)
        )
    if not d.crossed:
        caveats.append(
            message(
                "interactions are left out: with {n | counted('cell')} their model is too large",
                n=d.cells,
            )
        )
    if v.relative:
        caveats.append(
            message("each value is relative to the median of its workload: workload has no share")
        )
    return Finding(
        name=_DESCRIPTION.name,
        closed=False,
        question=_DESCRIPTION.question,
        answer=sentences(v),
        verdict="none",
        summary=_largest(v),
        caveats=tuple(caveats),
        tables=(_shares(v),),
        charts=(_DESCRIPTION.name,),
    )


def _largest(v: Explained) -> Message:
    """Name the largest effects in one line: of the ranks where SDs of cells differ too much."""
    d = v.decomposition
    by_rank = d.spread_ratio is not None and d.spread_ratio > _MOST_SPREAD_RATIO
    shares = [(e, e.rank_share if by_rank else e.share) for e in d.effects]
    first, *others = sorted(shares, key=lambda of: -of[1])
    if first[1] < _LEAST_SHARE:
        return sentences(v)[0]
    return message(
        "of the variance{% if by_rank %} of the ranks{% endif %}, {effect} explains {share}"
        "{% if others %}, {others | listing}{% endif %}{% if within %}; {within} is between "
        "trials of the same cell{% endif %}",
        by_rank=by_rank,
        effect=effect_name(first[0]),
        share=Amount(first[1], "share"),
        others=[_share(*of) for of in others[:_MOST_OTHERS] if of[1] >= _LEAST_SHARE],
        within=None if by_rank else Amount(d.within, "share"),
    )


def sentences(v: Explained) -> tuple[Message, ...]:
    """Say what explains the variance, largest share first, and the same of the ranks."""
    d = v.decomposition
    worth = sorted((e for e in d.effects if e.share >= _LEAST_SHARE), key=lambda e: -e.share)
    within = message("{share} is between trials of the same cell", share=Amount(d.within, "share"))
    # Interactions of fewer factors are effects with a share each; the others have one in common.
    order = 3 if d.crossed else 2
    higher = Amount(d.higher, "share") if d.higher >= _LEAST_SHARE else None
    if not worth:
        nothing = message(
            "{% if factors | length > 1 %}none of {factors | listing} explains{% else %}"
            "{factors[0]} does not explain{% endif %} 1 % of the variance of {metric}"
            "{% if relative %}, relative to the median of its workload{% endif %}"
            "{% if higher %} alone; {higher} is explained by interactions of {order} or more "
            "of them{% endif %}", factors=v.factors, metric=v.metric, higher=higher, order=order,
            relative=v.relative,
        )  # fmt: skip
        return nothing, within
    by_rank = sorted(d.effects, key=lambda e: -e.rank_share)[:3]
    small = [e for e in d.effects if e.share < _LEAST_SHARE]
    return (
        message(
            "of the variance, {effect} explains {share}{% if others %}, {others | listing}"
            "{% endif %}",
            effect=effect_name(worth[0]),
            share=Amount(worth[0].share, "share"),
            others=[_share(e, e.share) for e in worth[1:]],
        ),
        *(
            [
                message(
                    "{effects | listing}: less than 1 %{% if effects | length > 1 %} each"
                    "{% endif %}",
                    effects=[*map(effect_name, small)],
                )
            ]
            if small
            else []
        ),
        *(
            [message("interactions of {order} or more factors: {share}", share=higher, order=order)]
            if higher
            else []
        ),
        within,
        message(
            "of the ranks, in which extremes do not dominate: {effects | listing}",
            effects=[_share(e, e.rank_share) for e in by_rank],
        ),
    )


def _share(effect: Effect, share: float) -> Message:
    return message("{effect} {share}", effect=effect_name(effect), share=Amount(share, "share"))


def effect_name(effect: Effect) -> str:
    """Name an effect: "cores", or "cores × platform" of an interaction."""
    return " × ".join(effect.factors)


def _others(d: Decomposition) -> list[tuple[str, float]]:
    """Return names and shares of what belongs to no single effect: the rest of the variance."""
    higher = "interactions of 3 and more" if d.crossed else "interactions"
    return [*([(higher, d.higher)] if d.higher else []), (WITHIN, d.within)]


def _shares(v: Explained) -> Table:
    d = v.decomposition
    rows = tuple(
        {
            "effect": effect_name(e),
            "share": 100 * e.share,
            "ranks": 100 * e.rank_share,
            "degrees": e.degrees,
            "f": float(e.f) if np.isfinite(e.f) else None,
            "p": e.p,
            "p_ranks": e.rank_p,
        }
        for e in d.effects
    )
    columns = (
        Column(key="effect", title="effect"),
        Column(key="share", title="share (omega²)", unit="%"),
        Column(key="ranks", title="share of the ranks", unit="%"),
        Column(key="degrees", title="degrees of freedom"),
        Column(key="f", title="F", unit="1"),
        Column(key="p", title="p", unit="1"),
        Column(key="p_ranks", title="p of the ranks", unit="1"),
    )
    others = tuple(
        {**dict.fromkeys(c.key for c in columns), "effect": name, "share": 100 * share}
        for name, share in _others(d)
    )
    return Table(
        title=message(
            "Shares of the variance, {trials | counted('trial')} in {cells | counted('cell')}",
            trials=d.n,
            cells=d.cells,
        ),
        columns=columns,
        rows=(*rows, *others),
        note=message(
            "Type II: each effect after all others that do not contain it. p of the ranks by "
            "permutation, without a normal distribution"
        ),
    )


def drawn(v: Explained) -> Chart:
    """Draw the share of each effect as a bar, that of the ranks as a tick."""
    d = v.decomposition
    others = _others(d)
    return charts.share_bars(
        [*map(effect_name, d.effects), *(name for name, _ in others)],
        [*(e.share for e in d.effects), *(share for _, share in others)],
        [*(e.rank_share for e in d.effects), *(None for _ in others)],
    )


def described(v: Explained) -> tuple[Message, ...]:
    """Say in words what :func:`drawn` shows."""
    return (
        message("Shares of the variance (bars) and of the variance of the ranks (ticks)"),
        *sentences(v),
    )


UNIT = FindingUnit(description=_DESCRIPTION, order=85, find=find, of_rates=True)
