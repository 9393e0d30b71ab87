"""The page of measured networks: ``tare net report``, and beside every measurement."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import numpy as np

from tare.errors import StoreError
from tare.experiment.findings import time_of_day as over_hours
from tare.experiment.fingerprints.network.identified import Identification, kind_of
from tare.features.network.charts import identified, over_time, round_trips
from tare.features.network.charts.series import Group, grouped, named, series
from tare.features.network.charts.write_sizes import by_write_size
from tare.features.network.identify.identifying import identify
from tare.features.network.identify.reading import of_measured
from tare.features.network.measure import page_tables as tables
from tare.features.network.measure.caveats import advice, blamed, caveats, late, starved
from tare.features.network.measure.summary import Summary, summaries
from tare.networks.recording.folder import Measured, groups, rates, read
from tare.networks.recording.intervals import IntervalTable
from tare.networks.recording.lines import pattern
from tare.render.charts.lines import Line
from tare.results.message import Amount, Chosen, Message, Said, each, message
from tare.results.report import Entry, Figure, Origin, Report, Section
from tare.statistics.time_of_day import time_of_day
from tare.units import quantity

#: Side by side, a page holds no more.
MOST_FOLDERS = 12
#: Most limits that get a sentence each; more are summarised.
_TOLD = 3


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
            "name fewer folders",
        )
    return of([read(folder) for folder in folders], command)


def of(some: Sequence[Measured], command: str) -> Report:
    """Lay the page of some measurements out that are read already."""
    courses, groups = series(some), grouped(some)
    swept = len({one.summary.write_bytes for one in groups}) > 1
    told = groups[:_TOLD]
    if swept:
        told = sorted(groups, key=lambda one: -one.summary.bandwidth_bps["p50"])[:1]
    sections = [
        *([_by_size(groups)] if swept else []),
        Section.of("bandwidth", "How much does the network carry, and how steadily?",
                 _carried(told), [over_time.bandwidth(courses)], [tables.bandwidth(groups)]),
        *([] if swept else _shaped(some)),
        *_by_hour(some),
        Section.of("latency", "How long do round trips take, idle and under load?",
                 _late(told, groups),
                 [round_trips.figure(courses), over_time.round_trips(courses)],
                 [tables.latency(groups)]),
        Section.of("again", "How much was retransmitted?", _again(told),
                 [over_time.retransmits(courses)]),
        Section.of("total", "How much was sent in all?", over_time.totals(courses),
                 [over_time.total(courses)]),
        Section.of("limit", "What was the limit?", _limited(groups), [],
                 [tables.ends_at_work(groups)]),
    ]  # fmt: skip
    summarised = [one.summary for one in groups]
    settle = advice(summarised, max(one.asked.streams for one in some))
    return Report(
        command="net report",
        name=", ".join(one.name for one in some),
        question=sections[0].finding.question,
        answers=(
            *each(sections[0].finding.answer),
            *starved(summarised),
            *([] if settle is None else [settle]),
            *(said for s in sections[1 : 2 if groups else 1] for said in each(s.finding.answer)),
            *late(summarised),
        ),
        entries=tuple(_entries(some, sections, summarised)),
        further=(tables.bandwidth(groups), tables.latency(groups)) if groups else (),
        strip=strip(some),
        sections=tuple(sections),
        doubts=_caveats(some),
        machine=tables.facts(some),
        origin=Origin(commands=(command,), title="How to reproduce this page"),
        doubtful="Caveats",
        calm="No caveats.",
        badges=False,
        unfolded=24,
    )


def _entries(
    some: Sequence[Measured], sections: Sequence[Section], summarised: Sequence[Summary]
) -> Iterator[Entry]:
    """State the answer, what was not the network, the shape, what else weakens it, the setup."""
    yield Entry.of("Answer", each(sections[0].finding.answer)[0], "strong")
    first = blamed(summarised)
    yield from (Entry.of("Note", said, "strong") for said in first)
    for section in sections:
        if section.finding.name == "shape":
            yield from Entry.each("Shape", each(section.finding.answer))
    yield from (Entry.of("Note", said) for said in _caveats(some) if said not in first)
    setup = [f"{name} {value}" for name, value in strip(some)]
    yield Entry("Setup", message("{setup | join(' · ')}", setup=setup), "quiet")


def _caveats(some: Sequence[Measured]) -> tuple[Message, ...]:
    return tuple(
        named(one.name if len(some) > 1 else "", said)
        for one in some
        for said in caveats(one, summaries(one))
    )


def _by_size(groups: Sequence[Group]) -> Section:
    """Lay out what the size of writes does: three curves."""
    ordered = sorted((one.summary for one in groups), key=lambda one: one.bandwidth_bps["p50"])
    slowest, fastest = ordered[0], ordered[-1]
    said = message(
        "fastest with writes of {fastest}: {high}. Slowest with writes of {slowest}: {low}",
        fastest=Chosen(fastest.write_bytes, "bytes"),
        high=Amount(fastest.bandwidth_bps["p50"], "bits/s"),
        slowest=Chosen(slowest.write_bytes, "bytes"),
        low=Amount(slowest.bandwidth_bps["p50"], "bits/s"),
    )

    def curve(
        name: str, title: str, unit: str, value: Callable[[Summary], float | None]
    ) -> Figure | None:
        lines = {
            of: [
                (one.summary.write_bytes, y)
                for one in groups
                if _curve_of(one) == of and (y := value(one.summary)) is not None
            ]
            for of in dict.fromkeys(map(_curve_of, groups))
        }
        some = [
            Line(of, [x for x, _ in xy], [y for _, y in xy], [None] * len(xy), [None] * len(xy))
            for of, xy in lines.items()
        ]
        return by_write_size(name, title, unit, some)

    figures = [
        curve("write-sizes", "Median bandwidth", "bits/s", lambda s: s.bandwidth_bps["p50"]),
        curve("write-sizes-trips", "Round trip under load, p99", "ns",
              lambda s: None if s.loaded is None else s.loaded.p99_ns),
        curve("write-sizes-again", "Retransmitted share", "%",
              lambda s: None if s.retransmit_share is None else 100 * s.retransmit_share),
    ]  # fmt: skip
    return Section.of("sizes", "Does the size of writes matter?", [said], figures)


def _curve_of(one: Group) -> str:
    return " · ".join(part for part in (one.series, one.summary.pattern) if part)


def _carried(groups: Sequence[Group]) -> Sequence[Message]:
    """Return sentences with the bandwidth of each group: median, 1st and 99th percentile."""
    said = []
    for one in groups:
        s = one.summary
        median, low, high = (Amount(s.bandwidth_bps[p], "bits/s") for p in ("p50", "p1", "p99"))
        said.append(
            message(
                "{name}: median {median}, p1–p99 {low} to {high}",
                name=one.name,
                median=median,
                low=low,
                high=high,
            )
        )
        if s.coefficient_of_variation is not None:
            variation = Amount(s.coefficient_of_variation, "share")
            said.append(
                message("it varies by {variation} (coefficient of variation)", variation=variation)
            )
        if s.largest_change is not None:
            said.append(
                message(
                    "it changes by up to {change} from one interval to the next",
                    change=Amount(s.largest_change, "share"),
                )
            )
    return said or [message("nothing was measured")]


def _shaped(some: Sequence[Measured]) -> list[Section]:
    """Lay out what was found of each measurement and direction; none: nothing was carried."""
    answers: list[Said] = []
    figures: list[Figure | None] = []
    for reading, course in (
        pair
        for one in some
        if one.courses
        for pair in zip(of_measured(one), one.courses.values(), strict=True)
    ):
        found = identify(reading.trace, reading.key, reading.interface_bps)
        if not found.is_known:
            continue
        several = len(some) > 1 or "direction" in reading.key
        name = " ".join(reading.key.values()) if several else ""
        kind = kind_of(found)
        answers.append(named(name, kind))
        answers += found.reasons
        if (segments := _segments(found, course, reading.trace.wire)) is not None:
            answers.append(segments)
        # Without levels it would be the picture of the bandwidth once more.
        if found.high_gbps is not None:
            title = f"{name}: What shapes it" if name else "What shapes it"
            place = f"shape-{len(figures) + 1}"
            figures.append(identified.figure(place, title, reading.trace, found))
    return [Section.of("shape", "What shapes it?", answers, figures)] if answers else []


def _by_hour(some: Sequence[Measured]) -> list[Section]:
    """Show how bandwidth depends on the time of day and the day of the week; empty below 6 h."""
    found_of = []
    for one in some:
        for course, phases, used in rates(one):
            at_s = (one.begun_ns or 0) / 1e9 + course.start_s[used]
            found = None if one.begun_ns is None else time_of_day(at_s, course.rate_bps[used])
            parts = (
                one.name if len(some) > 1 else "",
                course.direction if len(one.courses) > 1 else "",
                pattern(phases[0].on_ns, phases[0].off_ns) if len(groups(one)) > 1 else "",
            )
            found_of.append((" · ".join(filter(None, parts)), "bits/s", found))
    timed = over_hours.together(found_of)
    return [
        Section(msgspec.structs.replace(found, charts=(), summary=None), figures)
        for found, figures in (
            (over_hours.finding(timed), over_hours.day_figures(timed)),
            (over_hours.week_finding(timed), over_hours.week_figures(timed)),
        )
        if found is not None
    ]


def _segments(found: Identification, course: IntervalTable, wire: float) -> Message | None:
    """Compare round trips of segments at the high rate with those after the fall."""
    if found.low_gbps is None or found.high_gbps is None:
        return None
    limit_bps = 1e9 * math.sqrt(found.low_gbps.value * found.high_gbps.value)
    median_ns = np.where(course.sends, course.segment_rtt_ns[:, 0], np.nan)
    fast = wire * course.rate_bps >= limit_bps
    normal, throttled = (some[np.isfinite(some)] for some in (median_ns[fast], median_ns[~fast]))
    if not len(normal) or not len(throttled):
        return None
    return message(
        "round trips of single segments: median {normal} at the high rate, {throttled} after "
        "the fall",
        normal=Amount(float(np.median(normal)), "ns"),
        throttled=Amount(float(np.median(throttled)), "ns"),
    )


def _late(told: Sequence[Group], groups: Sequence[Group]) -> Sequence[Message]:
    """Say how long round trips take."""
    said = [
        message(
            "{name}: small messages take {median} under load (median), {p99} at p99"
            "{% if idle %}; idle {idle}{% endif %}",
            name=one.name,
            median=Amount(s.loaded.p50_ns, "ns"),
            p99=Amount(s.loaded.p99_ns, "ns"),
            idle=None if s.idle is None else Amount(s.idle.p50_ns, "ns"),
        )
        for one in told
        if (s := one.summary).loaded is not None
    ]
    # Why the latency of an idle network is no single number.
    if any(one.summary.idle is not None for one in groups):
        said.append(
            message(
                "idle latency is that of paced messages, each of which wakes a sleeping CPU. The "
                "unpaced latency of tare net fingerprint and TCP's min RTT are shorter"
            )
        )
    return said or [message("no round trips were measured under load")]


def _again(groups: Sequence[Group]) -> Sequence[Message]:
    """Say how much was retransmitted."""
    return [
        message(
            "{name}: {% if n %}{n | counted('segment')}{% if share %}, {share} of all"
            "{% endif %}{% else %}none{% endif %}",
            name=one.name,
            n=one.summary.retransmits,
            share=None
            if one.summary.retransmit_share is None
            else Amount(one.summary.retransmit_share, "share"),
        )
        for one in groups
    ] or [message("nothing was sent")]


def _limited(groups: Sequence[Group]) -> Sequence[Message]:
    """Say what the limit was."""
    said = [
        named(one.name, one.summary.limit.said) for one in groups if one.summary.limit is not None
    ]
    return said[:_TOLD] or [
        message(
            "the network, or congestion control: neither end's CPU, buffer or window was the limit"
        )
    ]


def strip(some: Sequence[Measured]) -> tuple[tuple[str, str], ...]:
    """Tell size and place in a few words each."""
    first = some[0]
    told = [("measured to", ", ".join(dict.fromkeys(one.asked.host for one in some)))]
    if first.begun_ns is not None:
        try:
            moment = datetime.fromtimestamp(first.begun_ns / 1e9, UTC)
            told.append(("begun", f"{moment:%Y-%m-%d %H:%M} UTC"))
        except (OverflowError, ValueError, OSError):
            # A file from elsewhere may say any number.
            told.append(("begun", "unknown"))
    told.append(("intervals", f"{sum(len(c) for one in some for c in one.courses.values()):,}"))
    told.append(("each", quantity(float(first.asked.interval_ns), "ns")))
    told.append(("streams", f"{first.asked.streams}"))
    for name, title in (("congestion", "congestion control"), ("mtu", "MTU")):
        values = dict.fromkeys(f[name] for one in some for f in [one.facts["here"]] if name in f)
        if values:
            told.append((title, ", ".join(values)))
    return tuple(told)
