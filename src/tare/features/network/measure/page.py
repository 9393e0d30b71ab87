"""The page of measured networks: ``tare net report``, and beside every measurement."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import tare
from tare.errors import StoreError
from tare.features.network.charts import (
    bandwidth,
    boxes,
    latency_over_time,
    retransmits,
    round_trips,
    total,
    write_sizes,
)
from tare.features.network.charts.series import Group, Series, grouped, series
from tare.features.network.measure import page_identified
from tare.features.network.measure import page_tables as tables
from tare.features.network.measure.caveats import advice, caveats, late, starved
from tare.features.network.measure.summary import summaries
from tare.networks.recording.folder import Measured, read
from tare.render.words import paragraph
from tare.results.finding import Finding, Table
from tare.results.message import Message, Said, each, message
from tare.results.report import Figure, Origin, Report, Section

#: Side by side, a page holds no more.
MOST_FOLDERS = 12


def make(folders: Sequence[Path], command: str) -> Report:
    """Lay the page of some measurements out.

    Parameters
    ----------
    folders : sequence of Path
        As ``tare net measure --out`` made them; they may still be measured.
    command : str
        That makes the page again.

    Raises
    ------
    StoreError
        If a folder holds no measurement, or they are too many.
    """
    if len(folders) > MOST_FOLDERS:
        raise StoreError(
            f"{len(folders)} measurements are more than a page holds: {MOST_FOLDERS}",
            "tare net report DIR DIR --report network.html",
        )
    return of([read(folder) for folder in folders], command)


def of(some: Sequence[Measured], command: str) -> Report:
    """Lay the page of some measurements out that are read already."""
    courses, groups = series(some), grouped(some)
    sections = [
        _section("sizes", "Does the size of writes matter?", tables.by_size(groups), courses, [],
                 groups, [write_sizes], []) if len(write_sizes.sizes(groups)) > 1 else None,
        _section("bandwidth", "How much does the network carry, and how steadily?",
                 tables.carried(groups), courses, [bandwidth], groups, [boxes],
                 [tables.bandwidth(groups)]),
        page_identified.section(some) if len(write_sizes.sizes(groups)) <= 1 else None,
        _section("latency", "How long do round trips take, idle and under load?",
                 tables.late(groups), courses, [round_trips, latency_over_time], groups, [],
                 [tables.latency(groups)]),
        _section("again", "How much was retransmitted?", tables.again(groups), courses,
                 [retransmits], groups, [], []),
        _section("total", "How much was sent in all?", total.caption(courses), courses, [total],
                 groups, [], []),
        _section("limit", "What was the limit?", tables.limited(groups), courses, [], groups, [],
                 [tables.ends_at_work(groups)]),
    ]  # fmt: skip
    kept = tuple(section for section in sections if section is not None)
    summarised = [one.summary for one in groups]
    settle = advice(summarised, max(one.asked.streams for one in some))
    return Report(
        name=", ".join(one.name for one in some),
        question=kept[0].finding.question,
        answers=(
            *each(kept[0].finding.answer),
            *starved(summarised),
            *([] if settle is None else [settle]),
            *(said for s in kept[1 : 2 if groups else 1] for said in each(s.finding.answer)),
            *late(summarised),
        ),
        strip=tables.strip(some),
        sections=kept,
        doubts=_doubts(some),
        machine=tables.facts(some),
        origin=Origin(
            commands=(command,), versions=(tare.__version__,), title="How to reproduce this page"
        ),
        doubtful="Caveats",
        calm="No caveats.",
        badges=False,
        unfolded=24,
    )  # fmt: skip


def _doubts(some: Sequence[Measured]) -> tuple[Message, ...]:
    return tuple(
        message("net.named", name=one.name, said=said) if len(some) > 1 else said
        for one in some
        for said in caveats(one, summaries(one))
    )


def _section(
    anchor: str,
    question: str,
    answer: Said | tuple[Said, ...],
    courses: Sequence[Series],
    of_courses: Sequence[ModuleType],
    groups: Sequence[Group],
    of_groups: Sequence[ModuleType],
    some: Sequence[Table],
) -> Section:
    figures = [
        *(_figure(chart, courses) for chart in of_courses),
        *(_figure(chart, groups) for chart in of_groups),
    ]
    return Section(
        Finding(name=anchor, question=question, answer=answer, verdict="none", tables=tuple(some)),
        tuple(figure for figure in figures if figure is not None),
    )


def _figure(chart: ModuleType, of: Sequence[Any]) -> Figure | None:
    drawn = chart.draw(of)
    if drawn is None:
        return None
    spec = drawn if isinstance(drawn, dict) else drawn.to_dict()
    name = chart.__name__.rpartition(".")[2].replace("_", "-")
    return Figure(name, chart.TITLE, spec, paragraph(chart.caption(of)))
