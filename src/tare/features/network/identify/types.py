"""Summary by instance type of many series: how much instances of one type differ (CLOUDNET)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from tare.experiment.fingerprints.network.identified import Identification, Quartiles, TypeSummary
from tare.features.network import phrases
from tare.render.charts.intervals import interval_rows
from tare.render.words import sentence
from tare.results.finding import Table
from tare.results.message import Amount, Message, message
from tare.results.report import Figure, Section
from tare.units import scale_for

#: Quantities of a type: field, title, and a unit that is 10⁻⁹ of the field's own.
_QUANTITIES = (
    ("high_gbps", "high", "bits/s"),
    ("low_gbps", "low", "bits/s"),
    ("budget_gbit", "budget", "bits"),
    ("refill_gbps", "refill", "bits/s"),
    ("time_to_empty_s", "time to empty", "ns"),
)
_GIGA = 1e9
#: Charts: their quantities, which share a unit.
_CHARTS = (("high_gbps", "low_gbps"), ("budget_gbit",), ("refill_gbps",), ("time_to_empty_s",))
#: Ratio of a type's largest to its smallest value from which its instances differ.
_DIFFERENT = 1.1


def summarize(some: Sequence[Identification], columns: Sequence[str]) -> tuple[TypeSummary, ...]:
    """Summarize series by the levels of some columns of their keys.

    Parameters
    ----------
    some : sequence of Identification
    columns : sequence of str
        Columns that make a type; empty: nothing is summarized.

    Returns
    -------
    tuple of TypeSummary
        In the order of first appearance; empty where no type has two series.
    """
    groups: dict[tuple[str, ...], list[Identification]] = {}
    for one in some:
        groups.setdefault(tuple(one.key.get(c, "") for c in columns), []).append(one)
    if not columns or max(map(len, groups.values()), default=0) < 2:
        return ()
    return tuple(
        TypeSummary(
            key=dict(zip(columns, levels, strict=True)),
            series=len(members),
            kinds=dict(Counter(one.kind for one in members)),
            **{field: _quartiles(members, field) for field, *_ in _QUANTITIES},
        )
        for levels, members in groups.items()
    )


def _quartiles(some: Sequence[Identification], field: str) -> Quartiles | None:
    values = [known.value for one in some if (known := getattr(one, field)) is not None]
    if not values:
        return None
    low, p25, median, p75, high = np.quantile(values, (0, 0.25, 0.5, 0.75, 1)).tolist()
    return Quartiles(n=len(values), median=median, p25=p25, p75=p75, min=low, max=high)


def section(types: Sequence[TypeSummary]) -> Section:
    """Lay the summary out: the answer, the table, the box plots."""
    question = sentence(message("Do instances of one type have the same network?"))
    figures = (_figure(types, fields) for fields in _CHARTS)
    return Section.of("types", question, answers(types), figures, [table(types)])


def answers(types: Sequence[TypeSummary]) -> tuple[Message, ...]:
    """Name the types whose instances differ, in kind or in a quantity: the largest difference."""
    several = [t for t in types if t.series > 1]
    known = [t for t in several if any(quartiles.n > 1 for _, quartiles in _known(t))]
    rest = [_name(t.key) for t in several if t not in known]
    differences = {_name(t.key): [*_mixed(t), *_differs(t)] for t in several}
    alike = sum(not differences[_name(t.key)] for t in known)
    said = [one for some in differences.values() for one in some]
    if known:
        said.append(
            message(
                "in {n} of {of | counted('type')}, instances are of one kind and every "
                "identified quantity is alike (within 10 %)",
                n=alike,
                of=len(known),
            )
        )
    if rest:
        said.append(
            message(
                "not identified in two instances of the same type: {types | listing}", types=rest
            )
        )
    return tuple(said)


def _mixed(one: TypeSummary) -> Iterator[Message]:
    """Yield the kinds of a type whose instances are not all of one kind."""
    if len(one.kinds) > 1:
        kinds = [f"{n} {kind}" for kind, n in one.kinds.items()]
        yield message(
            "{type}: instances are of different kinds: {kinds | listing}",
            type=_name(one.key),
            kinds=kinds,
        )


def _differs(one: TypeSummary) -> Iterator[Message]:
    """Yield the quantity that differs most, where one differs."""
    some = [known for known in _known(one) if known[1].n > 1 and known[1].min > 0]
    (_, title, unit), quartiles = max(
        some, key=lambda known: known[1].max / known[1].min, default=(("", "", ""), None)
    )
    if quartiles is None or quartiles.max / quartiles.min <= _DIFFERENT:
        return
    yield message(
        "{type}: {what} is {low} to {high} in {n} instances of this type",
        type=_name(one.key),
        n=quartiles.n,
        what=title,
        low=Amount(_GIGA * quartiles.min, unit),
        high=Amount(_GIGA * quartiles.max, unit),
    )


def _known(one: TypeSummary) -> list[tuple[tuple[str, str, str], Quartiles]]:
    pairs = ((quantity, getattr(one, quantity[0])) for quantity in _QUANTITIES)
    return [(quantity, quartiles) for quantity, quartiles in pairs if quartiles is not None]


def table(types: Sequence[TypeSummary]) -> Table:
    """Return a row per type and quantity, empty where no series shows it."""
    statistics = ("median", "p25", "p75", "min", "max")
    rows = []
    for one in types:
        for field, title, unit in _QUANTITIES:
            known = getattr(one, field)
            values = (known and Amount(_GIGA * getattr(known, s), unit) for s in statistics)
            n = 0 if known is None else known.n
            rows.append((_name(one.key), title, f"{n} of {one.series}", *values))
    heads = ["type", "quantity", "n of series", *statistics]
    return Table.of(
        message("By instance type"),
        heads,
        rows,
        message("p25 and p75 are quartiles over the series in which a quantity is identifiable"),
    )


def _figure(types: Sequence[TypeSummary], fields: Sequence[str]) -> Figure | None:
    chosen = [q for q in _QUANTITIES if q[0] in fields]
    rows = [(t, q, b) for q in chosen for t in types for known, b in _known(t) if known == q]
    if not rows:
        return None
    (_, title, unit), several = rows[0][1], len(fields) > 1
    size, shown = scale_for([_GIGA * b.max for _, _, b in rows], unit)
    name = " and ".join(q[1] for q in chosen)
    drawn = {
        at: [_GIGA * getattr(b, at) / size for _, _, b in rows]
        for at in ("median", "p25", "p75", "min", "max")
    }
    chart = interval_rows(
        [f"{_name(t.key)} · {q[1]}" if several else _name(t.key) for t, q, _ in rows],
        drawn["median"],
        drawn["p25"],
        drawn["p75"],
        list(zip(drawn["min"], drawn["max"], strict=True)),
        unit=f"{name} [{shown}]",
        logarithmic=min(drawn["min"]) > 0,
    )
    parts = [
        message(
            "{type}, {what}: median {median}, {low} to {high} (n = {n})",
            type=_name(t.key),
            what=what,
            n=b.n,
            median=Amount(_GIGA * b.median, u),
            low=Amount(_GIGA * b.min, u),
            high=Amount(_GIGA * b.max, u),
        )
        for t, (_, what, u), b in rows
    ]
    said = sentence(message(phrases.CHART_PARTS, parts=parts))
    return Figure(f"types-{fields[0]}", f"{title.capitalize() if not several else 'Rates'} by type",
                  chart, said)  # fmt: skip


def _name(key: Mapping[str, str]) -> str:
    return " ".join(key.values())
