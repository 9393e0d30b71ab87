"""Makes the report of ``tare net identify``: kinds, estimates, reasons, what to type next."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path

from tare.experiment.fingerprints.network.identified import (
    Identification,
    TypeSummary,
    kind_of,
)
from tare.features.network import phrases
from tare.features.network.charts import identified
from tare.features.network.identify.picture import drawn
from tare.features.network.identify.reading import Reading
from tare.features.network.identify.types import answers, section, table
from tare.networks.recording.starved import no_cpu
from tare.render.words import sentence, text
from tare.results import phrases as results_phrases
from tare.results.finding import Column, Table
from tare.results.message import Message, Said, each, message
from tare.results.report import Entry, NextStep, Origin, Report, Section

#: Maximum number of series with a chart.
_MOST_DRAWN = 12
#: Series whose reasons are all printed, and which are the columns of the table.
_FEW = 3
#: Notes on the reading that a terminal prints.
_MOST_NOTES = 5
#: Estimates: title, field, unit as stored.
_ESTIMATES = (
    ("high", "high_gbps", "bits/s"),
    ("low", "low_gbps", "bits/s"),
    ("depleted after", "time_to_empty_s", "ns"),
    ("budget", "budget_gbit", "bits"),
    ("refill", "refill_gbps", "bits/s"),
    ("left at the end", "left_gbit", "bits"),
    ("idle until full", "full_after_s", "ns"),
)
#: Those that a drop, or a bucket, has, or that are not identifiable.
_OF_BUCKETS = ("low", "depleted after", "budget", "refill")

Found = Sequence[tuple[Reading, Identification]]


def make(
    found: Found, types: Sequence[TypeSummary], command: str, source: Path | None, *, charts: bool
) -> Report:
    """Make the report of identified series.

    Parameters
    ----------
    found : sequence of (Reading, Identification)
    types : sequence of TypeSummary
    command : str
        As typed.
    source : Path or None
        File that can be replayed as it is.
    charts : bool
        Whether to draw the charts of a page.
    """
    some = [one for _, one in found]
    sections = (section(types),) if types and charts else ()
    if charts:
        sections = (*sections, _series(found))
    question = message("What shapes each network?")
    notes = tuple({text(note): note for reading, _ in found for note in reading.notes}.values())
    return Report(
        command="net identify",
        figures={
            "series": [one.stored() for one in some],
            "lacks": [reading.lacks for reading, _ in found],
            "types": types,
        },
        name="net identify",
        question=sections[0].finding.question if sections else question,
        answers=each(sections[0].finding.answer) if sections else (),
        entries=(
            *_entries(found, types),
            *(Entry.of("Note", note) for note in (*_identified_live(some), *notes[:_MOST_NOTES])),
        ),
        next_steps=() if (step := _next(some, source)) is None else (step,),
        strip=(("series", str(len(found))), ("types", str(len(types)))),
        notes=tuple(reason for _, one in _explained(found) for reason in _reasons(one, found)),
        further=(*_tables(some), *([table(types)] if types else [])),
        sections=sections,
        doubts=notes,
        origin=Origin(commands=(command,), title="How to reproduce this page"),
        doubtful="Notes",
        calm="No notes.",
        badges=False,
        unfolded=24,
    )


def _explained(found: Found) -> Found:
    """Return the series whose reasons are given: all of few, of many the first of each kind."""
    if len(found) <= _FEW:
        return found
    first: dict[str, tuple[Reading, Identification]] = {}
    for reading, one in found:
        first.setdefault(one.kind, (reading, one))
    return [*first.values()]


def _reasons(one: Identification, found: Found) -> tuple[Said, ...]:
    """Give the reasons of one series, the first with its name where there are several series."""
    named = [_of(one, reason) for reason in one.reasons[: len(found) > 1]]
    return (*named, *one.reasons[len(named) :])


def _entries(found: Found, types: Sequence[TypeSummary]) -> Iterator[Entry]:
    """State the kinds, then the reasons: of many series, those of the first of each kind."""
    few = len(found) <= _FEW
    kinds = list(dict.fromkeys(one.kind for _, one in found))
    if few:
        answer = [_of(one, kind_of(one)) for _, one in found]
    else:
        answer = [
            message(
                "{n} × {kind}",
                n=sum(one.kind == kind for _, one in found),
                kind=message(results_phrases.NET_KIND_TEXTS[kind]),
            )
            for kind in kinds
        ]
    yield from Entry.each("Answer", (*answer, *answers(types)), "strong")
    for reading, one in _explained(found):
        yield from Entry.each("Reason", _reasons(one, found))
        if few and (lines := drawn(reading.trace, one)):
            said = message("bandwidth over time{% if name %} of {name}{% endif %}", name=_name(one))
            yield Entry("Trace", said, picture=tuple(lines))
        if few:
            yield from (Entry.of("Note", _of(one, no_cpu(lack))) for lack in reading.lacks)


def _of(one: Identification, said: Said) -> Said:
    return message(phrases.NAMED, name=_name(one), said=said) if one.key else said


def _series(found: Found) -> Section:
    figures = [
        identified.figure(f"series-{i}", _name(one) or "Bandwidth over time", reading.trace, one)
        for i, (reading, one) in enumerate(found[:_MOST_DRAWN])
    ]
    kinds = [message(phrases.NAMED, name=_name(one), said=kind_of(one)) for _, one in found]
    question = sentence(message("What shapes each network?"))
    return Section.of("series", question, kinds[:3], figures)


def _tables(some: Sequence[Identification]) -> Iterator[Table]:
    """Lay out the estimates: a column for each of few series, a row for each of many."""
    fields = [(field, unit) for _, field, unit in _ESTIMATES]
    values = [
        [known and known.amount(unit) for field, unit in fields for known in (getattr(one, field),)]
        for one in some
    ]
    note = message("–: not identifiable, for the reason given")
    if len(some) > _FEW:
        heads = ["series", "kind", *(title for title, *_ in _ESTIMATES), "outages"]
        rows = [
            (_name(one), one.kind, *cells, one.outages)
            for one, cells in zip(some, values, strict=True)
        ]
        yield Table.of(message("Estimates of each series"), heads, rows, note)
        return
    shaped = any(one.kind in ("drop", "bucket") for one in some)
    rows = [
        (title, *cells)
        for (title, *_), cells in zip(_ESTIMATES, zip_longest(*values), strict=True)
        if any(cells) or (shaped and title in _OF_BUCKETS)
    ]
    if any(any(cells) for _, *cells in rows):
        columns = [Column(key=f"series_{i}", title=_name(one) or "value")
                   for i, one in enumerate(some)]  # fmt: skip
        yield Table.of(message("Estimates with 95 % intervals"), ["estimate", *columns], rows, note)


def _name(one: Identification) -> str:
    return " ".join(one.key.values())


def _next(some: Sequence[Identification], source: Path | None) -> NextStep | None:
    """Return the next command worth typing; ``source``: what can be replayed."""
    bucket = next((one for one in some if one.kind == "bucket" and one.budget_gbit), None)
    if bucket is not None and bucket.low_gbps and bucket.high_gbps and bucket.budget_gbit:
        refill = bucket.refill_gbps or bucket.low_gbps
        spec = (
            f"bucket high={bucket.high_gbps.value:.4g}Gbit low={bucket.low_gbps.value:.4g}Gbit "
            f"budget={bucket.budget_gbit.value:.4g}Gbit refill={refill.value:.4g}Gbit"
        )
        return _shell_in(spec, message("a shell in this network"))
    silent = all(one.high_gbps is None and one.kind in ("interrupted", "noisy") for one in some)
    if source is not None and not silent:
        return _shell_in(f"replay:{source}", message("a shell in a network that replays it"))
    rate = next((one.high_gbps.value for one in some if one.high_gbps is not None), 0.0)
    if rate > 0:
        return _shell_in(f"rate {rate:.4g}Gbit", message("a shell in a network of the same rate"))
    return None


def _shell_in(specification: str, brings: Message) -> NextStep:
    return NextStep(shlex.join(["tare", "net", "emulate", specification, "--", "sh"]), brings)


def _identified_live(some: Sequence[Identification]) -> Iterator[Message]:
    """Yield how to measure where idle periods would show what a trace does not."""
    if any(one.next_rest_s is not None or one.kind == "drop" for one in some):
        yield message(
            "between two machines, tare net measure --identify alternates sending and idle "
            "periods, which show a refill"
        )
