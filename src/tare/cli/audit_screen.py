"""What ``tare audit`` prints: a verdict a file, series, reasons, comparisons, what to type next."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from rich.text import Text

from tare.audit import VERDICTS, Audit, FileAudit
from tare.audit import telling as words
from tare.audit.comparison import ComparisonAudit, doubtful_told
from tare.audit.series import worst
from tare.cli import output
from tare.cli.audit_overhead import show_platforms
from tare.units import change_interval, counted, percent

#: Rows of a table, and lines of reasons, that a screen holds; the page and the JSON have all.
_MOST_ROWS = 24
_MOST_REASONS = 8
_MOST_NOTES = 4
_LEAST_NAME, _MOST_NAME = 12, 72
_STYLES = {"TRUST": "green", "DOUBT": "yellow", "REJECT": "red"}


def show(audit: Audit) -> None:
    """Print an audit for a person; bounded, however many series there are."""
    if audit.question.finding is not None:
        show_platforms(audit)
        for file in audit.files:
            _show_file(audit, file)
        return
    for file in audit.files:
        _show_file(audit, file)
    show_platforms(audit)
    _show_series(audit)
    _show_reasons(audit)
    if audit.comparisons:
        _show_comparisons(audit.comparisons, audit.question.margin)
    for v in audit.variance:
        output.out.print(f"\nVariance  {words.variance_told(v)}", soft_wrap=True)
    output.out.print()


def _show_file(audit: Audit, file: FileAudit) -> None:
    some = [s for s in audit.series if s.file == file.path]
    verdict = max((s.trust.verdict for s in some), key=VERDICTS.index)
    missed = (
        words.missed_told(some, is_required=audit.question.precision_required)
        if verdict == "TRUST"
        else None
    )
    known = f"{words.known_told(some)}; " if missed is None else ""
    if missed is None:
        output.out.print(f"{verdict:<8}", style=f"bold {_STYLES[verdict]}", end="")
    else:
        output.out.print(verdict, style=f"bold {_STYLES[verdict]}", end="")
        output.out.print(f", but {missed}.\n        ", end="", soft_wrap=True)
    output.out.print(
        f"{file.path.name} ({file.imported.format}): {words.counts_of(some)}; {known}"
        f"{words.specification_told(file)}.",
        soft_wrap=True,
    )
    for note in file.imported.notes[:3]:
        output.out.print(f"        {note}", style="dim", soft_wrap=True)


def _show_series(audit: Audit) -> None:
    shown = worst(audit.series, _MOST_ROWS)
    runs = f"runs for {words.told_precision(audit.question.precision)}"
    rows = [
        [
            s.name,
            f"{s.n:,}",
            words.told_median(s),
            "–" if s.cov is None else percent(s.cov),
            words.told_runs(s),
            s.trust.verdict,
        ]
        for s in shown
    ]
    output.out.print()
    _show_table(["series", "n", "median", "CoV", runs, "verdict"], rows, "lrrrrl")
    left = len(audit.series) - len(shown)
    if left:
        output.out.print(f"… and {left:,} more series, none worse (--json, --report)", style="dim")


def _show_table(heads: Sequence[str], rows: Sequence[Sequence[str]], align: str) -> None:
    """Print rows in columns; on a terminal that is too narrow the first column gives way."""
    widths = [max(len(row[i]) for row in [heads, *rows]) for i in range(len(heads))]
    widths[0] = min(widths[0], _MOST_NAME)
    if output.out.is_terminal:
        over = sum(widths) + 2 * (len(widths) - 1) - output.out.width
        widths[0] = max(_LEAST_NAME, widths[0] - max(0, over))
    for k, row in enumerate([heads, *rows]):
        line = Text(style="dim" if k == 0 else "")
        for i, (cell, width) in enumerate(zip(row, widths, strict=True)):
            cut = cell if len(cell) <= width else f"…{cell[len(cell) - width + 1 :]}"
            text = cut.rjust(width) if align[i] == "r" else cut.ljust(width)
            line.append(text, style=_STYLES.get(cell))
            line.append("  ")
        line.rstrip()
        output.out.print(line, soft_wrap=True)


def _show_reasons(audit: Audit) -> None:
    told = words.reasons(audit)
    if told:
        output.out.print()
    for verdict, reason in told[:_MOST_REASONS]:
        output.out.print(f"{verdict:<8}", style=_STYLES[verdict], end="")
        output.out.print(reason.told("series", len(audit.series)), soft_wrap=True)
    left = len(told) - _MOST_REASONS
    if left > 0:
        output.out.print(f"        … and {counted(left, 'further reason')}", style="dim")
    noted = words.shared(audit.series, lambda s: s.notes, lambda s: s.name)
    for note in noted[:_MOST_NOTES]:
        output.out.print(
            f"Note    {note.told('series', len(audit.series))}", style="dim", soft_wrap=True
        )
    unsettled = [s for s in audit.series if not s.repetitions.converges]
    if unsettled:
        names = unsettled[0].name if len(unsettled) == 1 else f"{len(unsettled):,} series"
        output.out.print(
            f"CONFIRM The intervals of {names} do not narrow as runs are added, so that no "
            "number of such runs makes them exact.",
            soft_wrap=True,
        )


def _show_comparisons(some: Sequence[ComparisonAudit], margin: float) -> None:
    out = output.out
    out.print()
    out.print(f"Compared  {words.comparisons_told(some)}", soft_wrap=True)
    rows = [
        [words.told_comparison(c), _ratio(c), _verdict(c), c.spread_word or "–"]
        for c in words.clearest(some, _MOST_ROWS)
    ]
    _show_table(["", "ratio", "verdict", "spread"], rows, "lrll")
    if len(some) > _MOST_ROWS:
        out.print(
            f"… and {len(some) - _MOST_ROWS:,} more, less clear (--json, --report)", style="dim"
        )
    doubtful = doubtful_told(some)
    if doubtful:
        out.print(doubtful, style="dim", soft_wrap=True)
    for reason in words.shared(some, lambda c: (c.matched.because,), words.told_comparison):
        out.print(reason.told("comparisons", len(some)), style="dim", soft_wrap=True)
    if len(some) > 1:
        out.print(
            f"One family of {len(some):,}: Holm holds the error of all ratios together, and that "
            "of all spreads.",
            style="dim",
            soft_wrap=True,
        )
    said = words.stability_told(some)
    if said:
        out.print(said, soft_wrap=True)


def _ratio(c: ComparisonAudit) -> str:
    if c.location is None:
        return "–"
    return change_interval(c.location.ratio, c.location.low, c.location.high)


def _verdict(c: ComparisonAudit) -> str:
    if c.location is None:
        return words.uncompared(c)
    if not c.location.verdict.conclusive and c.location.more_pairs:
        return f"inconclusive (about {counted(c.location.more_pairs, 'more trial')} each)"
    return c.word


def follow_up(audit: Audit, asked: Sequence[str], page: Path | None) -> str:
    """Return the next command worth typing; ``asked`` are the words of this one."""
    again = shlex.join(["tare", *asked])
    if audit.overhead is not None and audit.question.finding is None:
        return f"Next    {again} --finding overhead   (what each platform costs, size by size)"
    if page is None:
        return f"Next    {again} --report audit.html   (the same as a page, with charts)"
    keys = dict.fromkeys(k for s in audit.series for k in s.key)
    if len(audit.series) > 1 and not audit.question.columns.compare and keys:
        return f"Next    {again} --compare {shlex.quote(next(reversed(keys)))}   (what differs?)"
    return "Next    tare compare 'CMD A' 'CMD B'   (measure both, interleaved)"
