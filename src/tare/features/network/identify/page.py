"""The page of identified networks: types, then the series."""

from __future__ import annotations

from collections.abc import Sequence

import tare
from tare.experiment.fingerprints.network.identified import Identification, TypeSummary, kind_of
from tare.features.network import phrases
from tare.features.network.charts import identified
from tare.features.network.identify.reading import Reading
from tare.features.network.identify.types import section
from tare.render.words import sentence, sentences
from tare.results.finding import Column, Finding, Table
from tare.results.message import Amount, each, message
from tare.results.report import Origin, Report, Section

#: Series that are drawn, each in a chart of its own.
_MOST_DRAWN = 12


def make(
    found: Sequence[tuple[Reading, Identification]], types: Sequence[TypeSummary], command: str
) -> Report:
    """Lay the page out; ``command`` makes it again."""
    sections = ([section(types)] if types else []) + [_series(found)]
    first = sections[0].finding
    notes = dict.fromkeys(note for reading, _ in found for note in sentences(reading.notes))
    return Report(
        name="net identify",
        question=first.question,
        answers=each(first.answer),
        strip=((str(len(found)), "series"), (str(len(types)), "types")),
        sections=tuple(sections),
        doubts=tuple(notes),
        origin=Origin(
            commands=(command,), versions=(tare.__version__,), title="How to reproduce this page"
        ),
        doubtful="Notes",
        calm="No notes.",
        badges=False,
        unfolded=24,
    )


def _series(found: Sequence[tuple[Reading, Identification]]) -> Section:
    figures = [
        identified.figure(f"series-{i}", _name(one) or "Bandwidth over time", reading.trace, one)
        for i, (reading, one) in enumerate(found[:_MOST_DRAWN])
    ]
    kinds = [message(phrases.NAMED, name=_name(one), said=kind_of(one)) for _, one in found]
    return Section(
        Finding(
            name="series",
            question=sentence(message("What shapes each network?")),
            answer=tuple(kinds[:3]),
            verdict="none",
            tables=(_table([one for _, one in found]),),
        ),
        tuple(figure for figure in figures if figure is not None),
    )


def _table(some: Sequence[Identification]) -> Table:
    heads: list[str | Column] = [
        "series", "kind", "high", "low", "budget", "refill", "time to empty", "outages",
    ]  # fmt: skip
    rows = []
    for one in some:
        estimates = (
            (one.high_gbps, "bits/s"), (one.low_gbps, "bits/s"), (one.budget_gbit, "bits"),
            (one.refill_gbps, "bits/s"), (one.time_to_empty_s, "ns"),
        )  # fmt: skip
        cells = (
            None if e is None else Amount(1e9 * e.value, unit, 1e9 * e.ci[0], 1e9 * e.ci[1])
            for e, unit in estimates
        )
        rows.append((_name(one), one.kind, *cells, one.outages))
    return Table.of("Series", heads, rows)


def _name(one: Identification) -> str:
    return " ".join(one.key.values())
