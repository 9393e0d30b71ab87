"""A report in a terminal: one table, at most fifteen lines besides."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from tare.render.tables import groups, lay
from tare.render.terminal import aligned, fitted
from tare.render.words import sentence, sentences, text
from tare.results.finding import Table
from tare.results.message import each, message
from tare.results.report import Emphasis, Entry, Report
from tare.units import counted

_TABLE_LEGEND_TEXTS = {
    "service_load": (
        "of a trial's requests, N % took no longer than pN{% if 'p99' not in columns %} (p95 "
        "needs 200 requests, p99 1,000){% endif %}; medians of trials"
        "{% if 'longest' in columns %}, longest of all trials{% endif %}. driver: CPUs that "
        "the load generator used{% if gone %}. No room for {gone | listing}: see the report, "
        "or a wider terminal{% endif %}"
    ),
}

#: Rows of the table: with more cells, those that differ most and least from the reference.
MOST_ROWS = 12
#: Of them, how many are those that differ least.
_LEAST = 3
#: Answers besides the first.
MOST_ANSWERS = 7
#: Characters of the labels of entries, at least.
_LABELS = 7
#: Columns that only the page has.
_PAGE_ONLY = {"median_low", "median_high", "response_mean_ns", "littles_law_ns"}
#: Questions that a trustworthy result answers with yes, where nothing else says so.
_CHECKS = {"parallelism_check"}
#: What is left out where a terminal has no room for it, in this order.
_DISPENSABLE = (
    {"n"}, {"error"}, {"crowded_low", "crowded_high"}, {"crowded"}, {"spread"},
    {"par2_low", "par2_high"},
    {"solved_low", "solved_high"}, {"median_2"}, {"median_1"}, {"solved"},
    {"median_0"}, {"par2"},
)  # fmt: skip
#: Tables of words that a terminal shows with all rows: each may be the one that is sought.
_LISTS = {"units"}
#: Columns of other tables than that of all cells that are never left out.
_KEPT = {"change", "ratio", "verdict"}
#: The same of tables that stand below the one of all cells.
_BELOW = {
    "service_load": ({"response_p95_ns"}, {"response_max_ns"}, {"response_p50_ns"}),
    "network_bandwidth": (
        {"change"}, {"share"}, {"retransmits"}, {"p25"}, {"p75"}, {"n"}, {"sent"},
    ),
    "network_latency": (
        {"segments"}, {"n"}, {"segment_p90"}, {"segment_p99"}, {"segment_p50"}, {"smoothed"},
        {"p90"}, {"max"},
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Line:
    """One line of the terminal, and how it is emphasised."""

    text: str
    emphasis: Emphasis | None = None


def lines(report: Report, width: int) -> list[Line]:
    """Return what a terminal shows: the answer, a table of all cells, what else matters.

    Parameters
    ----------
    report : Report
    width : int
        Of the terminal, in characters.
    """
    if report.is_labelled:
        return [*_labelled(report, width)]
    answers = [*([] if report.gate is None else [f"Gate {text(report.gate.said)}"])]
    answers += sentences((*report.missing, *report.leading))
    question = text(report.question)
    first = Line(answers[0] if answers else question, "strong")
    asked = [Line(f"Question: {question}", "quiet")] if answers else []
    following = [Line(f"Next: {text(step.said)}", "quiet") for step in report.next_steps]
    return [first, *asked, *map(Line, _answered(report, answers[1:], width)), *following]


def _labelled(report: Report, width: int) -> Iterator[Line]:
    """Lay out entries behind their labels, below the table where there is one."""
    entries, cells = list(report.entries), report.table if report.shows_cells else None
    failed = [Entry("Failed", said) for said in report.failed]
    # The answer stands first, with the entries that continue it; of several commands the table
    # has it.
    first = 1 if cells is None else 0
    labelled = (i for i, one in enumerate(entries) if i >= first and one.label)
    at = next(labelled, len(entries))
    entries[at:at] = failed
    steps = [step.said for step in report.next_steps]
    entries += [Entry("" if i else "Next", said, "quiet") for i, said in enumerate(steps)]
    head = [] if report.gate is None else [Entry("Gate", report.gate.said, "strong")]
    head += [Entry("Caveat", said) for said in report.caveats]
    while entries and entries[0].emphasis == "strong" and report.below:
        head.append(entries.pop(0))
    indent = max([_LABELS, *(len(one.label) + 1 for one in [*head, *entries])])
    yield from _entries(head, indent)
    for of in (cells, *report.below):
        yield from map(Line, [] if of is None else table(of, width, intervals=True))
    yield from _entries(entries, indent)


def _entries(entries: Iterable[Entry], indent: int) -> Iterator[Line]:
    for one in entries:
        yield Line(f"{one.label:<{indent}} {text(one.said)}", one.emphasis)
        for drawn in one.picture:
            yield Line(f"{'':<{indent}} {drawn}".rstrip())


def _answered(report: Report, further: Sequence[str], width: int) -> list[str]:
    """Lay out what stands below the first answer."""
    shown = [f"Caveat: {caveat}" for caveat in sentences(report.caveats)] + [*further]
    others = sentences((*report.others, *report.failed, *report.notes))
    if report.table is not None:
        of = "host" if report.table.id == "hosts" else "cell"
        shown += ["", *table(report.table, width, of=of), ""]
    elif (leading := _leading(report)) is not None:
        shown += ["", *table(leading, width, of="row"), ""]
    for one in report.below:
        shown += [*table(one, width), ""]
    shown += others[:MOST_ANSWERS]
    if others[MOST_ANSWERS:]:
        shown.append(f"… and {counted(len(others[MOST_ANSWERS:]), 'more sentence')} on the page")
    findings = [section.finding for section in report.sections]
    for finding in findings:
        if finding.shown == "no" and finding.name in _CHECKS:
            why = sentence(each(finding.answer)[0])
            shown.append(f"Check failed: {text(finding.question)} {why}")
    if report.inconclusive:
        n, of = len(report.inconclusive), counted(len(findings), "question")
        shown.append(f"Inconclusive: {n} of {of}; the page has each.")
    return shown


def _leading(report: Report) -> Table | None:
    """Return the first table of the answer, where no table has all cells; a row is said."""
    led = report.led or next(iter(report.sections), None)
    return next((one for one in led.finding.tables if len(one.rows) > 1), None) if led else None


def table(overview: Table, width: int, of: str = "cell", *, intervals: bool = False) -> list[str]:
    """Return the lines of a table, of cells or other rows, no wider than a terminal.

    ``intervals``: the medians have theirs, where there is room for them.
    """
    is_list = overview.id in _LISTS
    rows, rule = (overview.rows, None) if is_list else most_telling(overview.rows)
    gone: set[str] = set() if intervals else set(_PAGE_ONLY)
    laid, left = _laid(overview, rows, gone)
    # What matters least stands last, next to what always stays.
    columns = [{c.key for c in some} for some in groups(overview.columns)[left:]]
    kept = [keys for keys in columns if keys & _KEPT] or [*columns[:1], *columns[-1:]]
    details = [keys for keys in reversed(columns) if keys not in kept]
    usual = _BELOW.get(overview.id or "", _DISPENSABLE)
    if intervals:
        medians = (c.key for c in overview.columns if c.key.startswith("median_"))
        ends = {key for key in medians if key.endswith(("_low", "_high"))}
        usual = ({"n"}, {"spread"}, ends, *usual)
    for keys in details if of == "row" else usual:
        if max(map(len, aligned(laid, left))) <= width:
            break
        gone |= keys
        laid, left = _laid(overview, rows, gone)
    lines = fitted(laid, width, len(laid[0]) if is_list else left)
    if overview.id in _TABLE_LEGEND_TEXTS:
        lines += _legend(overview, laid[0], gone - _PAGE_ONLY, width)
    if rule is not None:
        more = counted(len(overview.rows) - len(rows), f"more {of}")
        lines += textwrap.wrap(f"… and {more} on the page. Shown: {rule}", width)
    return [text(overview.title), *lines]


def _legend(overview: Table, heads: Sequence[str], gone: set[str], width: int) -> list[str]:
    """Say what the columns mean, and which ones a terminal has no room for."""
    said = message(
        _TABLE_LEGEND_TEXTS[str(overview.id)],
        columns=[*heads],
        gone=[
            column.title
            for column in overview.columns
            if column.key in gone and any(row.get(column.key) is not None for row in overview.rows)
        ],
    )
    return textwrap.wrap(sentence(said), width, break_on_hyphens=False)


Rows = tuple[dict[str, Any], ...]


def _laid(overview: Table, rows: Rows, gone: set[str]) -> tuple[list[tuple[str, ...]], int]:
    """Return the heads and the rows of a table, and how many columns stand to the left."""
    columns = tuple(c for c in overview.columns if c.key not in gone)
    laid = lay(msgspec.structs.replace(overview, columns=columns, rows=rows), each_unit=True)
    left = next((i for i, head in enumerate(laid.heads) if head.numeric), 1)
    heads = (f"{head.title}, {head.unit}" if head.unit else head.title for head in laid.heads)
    return [tuple(heads), *laid.rows], left


def most_telling(rows: Sequence[dict[str, Any]]) -> tuple[tuple[dict[str, Any], ...], str | None]:
    """Keep the rows that differ most and least from the reference, in their order.

    Returns
    -------
    rows : tuple of dict
    rule : str or None
        Which these are; None: all.
    """
    if len(rows) <= MOST_ROWS:
        return tuple(rows), None

    def size(i: int) -> float:
        ratio = rows[i].get("ratio")
        # What failed altogether says most.
        return math.inf if rows[i].get("n") == 0 else abs(math.log(ratio)) if ratio else -1.0

    order = sorted(range(len(rows)), key=size, reverse=True)
    compared = [i for i in order if size(i) >= 0]
    kept = {*compared[: MOST_ROWS - _LEAST], *compared[-_LEAST:]}
    others = [i for i in range(len(rows)) if i not in kept]
    first = {*others[: MOST_ROWS - len(kept)]}
    if len(first) == MOST_ROWS:
        rule = f"the first {MOST_ROWS}"
    elif first:
        rule = f"the {len(kept)} that are compared, and the first {len(first)} others"
    else:
        rule = f"the {MOST_ROWS - _LEAST} that differ most, and the {_LEAST} that differ least"
    return tuple(row for i, row in enumerate(rows) if i in kept | first), rule
