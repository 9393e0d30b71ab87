"""What ``tare audit`` prints: the verdict, one table, reasons."""

from __future__ import annotations

from collections.abc import Sequence

from tare.cli import console
from tare.experiment.findings import time_of_day, variance
from tare.experiment.task_sets import answers as task_sets
from tare.features.audit import messages as words
from tare.features.audit.audit import Audit
from tare.features.audit.cold import begins, item_name
from tare.features.audit.comparison import ComparisonAudit
from tare.features.audit.comparison_answers import name
from tare.features.audit.page import make
from tare.features.audit.question import QUANTILES
from tare.features.audit.series import SeriesAudit, worst
from tare.features.audit.task_sets import TaskSets
from tare.readers.readings import number
from tare.render.screen import lines, table
from tare.render.terminal import Row, aligned
from tare.render.words import paragraph, sentence, shown, text
from tare.results.message import Chosen, each, message
from tare.units import percent, quantile_name

#: Rows of the table, and lines besides, that a screen holds; the page and the JSON have all.
_MOST_ROWS = 12
_MOST_FILES = 3
_MOST_READ = 2
_MOST_REASONS = 3
_MOST_NOTES = 2
_MOST_CAVEATS = 5
_LEAST_NAME = 12
#: Columns that the word takes which heads a line.
_HEAD = 9
_STYLES = {"TRUST": "green", "DOUBT": "yellow", "REJECT": "red"}


def show(audit: Audit, files: Sequence[str] = ()) -> None:
    """Print an audit for a person; bounded, however many series there are.

    ``files``: those that have the whole of it.
    """
    whole = ", ".join(files) or "--json, --report"
    if audit.question.finding is not None:
        for line in lines(make(audit, charts=False), console.out.width):
            console.out.print(line, soft_wrap=True)
        console.out.print()
        return
    first = words.headline(audit)
    answer = f"{text(first)}." if words.continues_verdict(audit) else sentence(first)
    _line(audit.verdict, paragraph((answer, *words.precision(audit))))
    _show_files(audit, whole)
    _show_platforms(audit)
    console.out.print()
    if audit.comparisons:
        _line("Compared", sentence(words.verdicts(audit.comparisons)))
    if audit.tasks is not None and audit.is_of_tasks:
        _show_tasks(audit.tasks)
        return
    if audit.tasks is not None and audit.tasks.are_enough:
        _line("Tasks", paragraph(words.best(audit.tasks)))
    # A single comparison is a sentence, which leaves the table to the series.
    if len(audit.comparisons) > 1:
        _show_comparisons(audit.comparisons, whole)
    else:
        _show_series(audit, whole)
    _show_where_quantiles_are(audit, whole)
    console.out.print()
    _show_reasons(audit, whole)
    if audit.comparisons:
        _show_caveats(audit.comparisons)
    _show_shared_findings(audit)


def _show_shared_findings(audit: Audit) -> None:
    """Print the findings that experiments have as well: a line for each of the first metrics."""
    for some in [*audit.timed.values()][:_MOST_NOTES]:
        _line("Hours", sentence(time_of_day.sentences(some)[0]))
        if any(one.analysis.week.p is not None for one in some):
            _line("Week", sentence(time_of_day.week_sentences(some)[0]))
    for v in audit.variance[:_MOST_NOTES]:
        _line("Variance", sentence(variance.sentences(v)[0]))


def _line(head: str, said: str, style: str = "") -> None:
    """Print a line with the word that heads it."""
    console.out.print(
        f"{head:<{_HEAD}}", style=f"bold {_STYLES.get(head, '')}" if head else style, end=""
    )
    console.out.print(said, style=style, soft_wrap=True)


def _show_files(audit: Audit, whole: str) -> None:
    """Print what files state of their numbers."""
    stated = words.specifications(audit.files)
    for one in stated[:_MOST_FILES]:
        _line("", sentence(one), "dim")
    more = sum(number(one.args["n"]) for one in stated[_MOST_FILES:])
    if more > 0:
        _line("", sentence(message("audit.screen.files", n=int(more), whole=whole)), "dim")
    # The table of a set counts its failed runs.
    notes = words.shared(
        audit.files,
        lambda f: f.imported.notes if audit.is_of_tasks else f.imported.said,
        lambda f: f.path.name,
    )
    for note in notes[:_MOST_READ]:
        _line("", sentence(note.of("files", len(audit.files))), "dim")


def _show_series(audit: Audit, whole: str) -> None:
    series = worst(audit.series, _MOST_ROWS)
    target = shown(Chosen(audit.question.precision))
    asked = _quantiles(audit)
    rows = [
        [
            s.name,
            f"{s.n:,}",
            text(words.median(s)),
            *(_quantile(s, q) for q in asked),
            "–" if s.cov is None else percent(s.cov),
            text(words.runs(s)),
            s.trust.verdict,
        ]
        for s in series
    ]
    heads = [
        "series",
        "n",
        "median",
        *map(quantile_name, asked),
        "CoV",
        f"runs for ± {target}",
        "verdict",
    ]
    console.table(_named([heads, *rows]), styles=_STYLES)
    left = len(audit.series) - len(series)
    if left:
        console.out.print(text(message("audit.screen.series", n=left, whole=whole)), style="dim")


def _quantiles(audit: Audit) -> tuple[float, ...]:
    """Return the quantiles that were asked for; those that every audit computes are on the page."""
    asked = audit.question.quantiles
    return () if asked == QUANTILES else tuple(q for q in dict.fromkeys(asked) if q != 0.5)


def _show_where_quantiles_are(audit: Audit, whole: str) -> None:
    """Name the files that have the quantiles that were asked for, where no table here does."""
    names = [quantile_name(q) for q in _quantiles(audit)]
    if names and len(audit.comparisons) > 1:
        console.out.print(text(message("audit.screen.quantiles", names=names, whole=whole)))


def _quantile(s: SeriesAudit, q: float) -> str:
    return text(words.estimate(dict(s.quantiles)[q], s.series.unit or "1")) if s.n else "–"


def _show_tasks(tasks: TaskSets) -> None:
    """Print a row for each configuration of a set, what differs between them, and caveats."""
    overview = task_sets.configurations(tasks.in_order)
    for line in table(overview, console.out.width, of="configuration")[1:]:
        console.out.print(line, soft_wrap=True)
    console.out.print()
    for one in words.task_answers(tasks)[1:]:
        _line("", sentence(one))
    for one in words.task_caveats(tasks)[:_MOST_CAVEATS]:
        _line("Note", sentence(one), "dim")


def _show_reasons(audit: Audit, whole: str) -> None:
    total, found = len(audit.series), words.reasons(audit)
    for verdict, reason in found[:_MOST_REASONS]:
        _line(verdict, sentence(reason.of("series", total)))
    if len(found) > _MOST_REASONS:
        more = message("audit.screen.reasons", n=len(found) - _MOST_REASONS, whole=whole)
        _line("", sentence(more), "dim")
    for said in (said for s in audit.series[:_MOST_NOTES] for _, said in words.inside(s)):
        _line("Inside", sentence(said))
    # Below comparisons only what is missing from them.
    notes = words.shared(
        audit.series,
        lambda s: s.losses if audit.comparisons else s.notes,
        lambda s: s.name,
    )
    for note in notes[:_MOST_NOTES]:
        _line("Note", sentence(note.of("series", total)), "dim")
    if not audit.comparisons:
        for said in words.restless(audit):
            _line("CONFIRM", sentence(said))


def _show_comparisons(some: Sequence[ComparisonAudit], whole: str) -> None:
    # Levels that all comparisons have in common stand in the head alone.
    levels = {(c.a, c.b) for c in some}
    head = words.pair(some[0]) if len(levels) == 1 and all(c.where for c in some) else ""
    rows = [
        [
            c.where if head else name(c),
            shown(words.ratio(c) or "–"),
            _verdict(c),
            c.spread_word or "–",
        ]
        for c in words.clearest(some, _MOST_ROWS)
    ]
    metrics = {c.metric for c in some}
    metric = metrics.pop() if len(metrics) == 1 else "verdict"
    console.table(_named([[text(head) if head else "", "change", metric, "spread"], *rows]))
    if len(some) > _MOST_ROWS:
        more = message("audit.screen.comparisons", n=len(some) - _MOST_ROWS, whole=whole)
        console.out.print(text(more), style="dim")


def _named(rows: Sequence[Row]) -> list[Row]:
    """Cut names at their beginning where a terminal is too narrow; a file has them as they are."""
    if not console.out.is_terminal:
        return [*rows]
    others = max(map(len, aligned([row[1:] for row in rows], 0)))
    room = max(_LEAST_NAME, console.out.width - others - 2)
    return [
        (name if len(name) <= room else f"…{name[len(name) - room + 1 :]}", *cells)
        for name, *cells in rows
    ]


def _verdict(c: ComparisonAudit) -> str:
    if c.location is None:
        return text(words.uncompared(c))
    if not c.location.verdict.conclusive and c.location.more_pairs:
        more = message(
            "audit.comparison.more",
            word=c.word,
            trials=c.location.more_pairs,
        )
        return text(more)
    return c.word


def _show_caveats(some: Sequence[ComparisonAudit]) -> None:
    """Print what weakens comparisons."""
    weak = words.shared(some, lambda c: c.matched.cautions, name)[:_MOST_NOTES]
    family = words.chance_of_family(some)
    for said in (
        *family,
        *words.doubtful(some),
        *(one.of("comparisons", len(some)) for one in weak),
    ):
        _line("Note", sentence(said), "dim")


def _show_platforms(audit: Audit) -> None:
    """Print what platforms cost and how series begin."""
    for one in () if audit.platforms is None else audit.platforms.findings:
        if said := each(one.summary):
            _line("Platform", sentence(said[0]))
    if audit.cold is not None and audit.cold.found:
        _line("Cold", sentence(begins(audit.cold, item_name(audit.question))))
