"""What a terminal shows of an audit: the verdict, one table, reasons."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from tare.experiment.findings import time_of_day, variance
from tare.features.audit import messages as words
from tare.features.audit.answers import series_overview
from tare.features.audit.audit import Audit
from tare.features.audit.cold import begins, item_name
from tare.features.audit.comparison_answers import name, pairs_overview
from tare.features.audit.question import QUANTILES
from tare.features.audit.series import worst
from tare.readers.readings import number
from tare.render.screen import MOST_ROWS
from tare.render.words import paragraph, sentence, text
from tare.results.finding import Table
from tare.results.message import Message, Said, message
from tare.results.report import Entry
from tare.units import quantile_name

_SCREEN_TEXTS = {
    "series": "… and {n} more series, none worse ({whole})",
    "comparisons": "… and {n} more, less clear ({whole})",
}

#: Lines that a screen holds besides the table; the page and the JSON have all.
_MOST_FILES = 3
_MOST_READ = 2
_MOST_REASONS = 3
_MOST_NOTES = 2
_MOST_CAVEATS = 5


def entries(audit: Audit, whole: str) -> tuple[Entry, ...]:
    """Say what matters, however many series there are.

    ``whole``: files that have all of it.
    """
    if audit.question.finding is not None:
        return ()
    return (*_answer(audit, whole), *_evidence(audit, whole))


def overview(audit: Audit) -> Table:
    """Lay out the comparisons or the series that ask most for a look."""
    # A single comparison is a sentence, which leaves the table to the series.
    if len(audit.comparisons) > 1:
        made = pairs_overview(words.clearest(audit.comparisons, MOST_ROWS))
        return msgspec.structs.replace(made, title=words.verdicts(audit.comparisons))
    return series_overview(worst(audit.series, MOST_ROWS), _asked(audit))


def _left_out(audit: Audit, whole: str) -> Iterator[Entry]:
    """Say how many comparisons or series the table leaves out."""
    several = len(audit.comparisons) > 1
    of, some = ("comparisons", audit.comparisons) if several else ("series", audit.series)
    if (left := len(some) - MOST_ROWS) > 0:
        yield Entry("", message(_SCREEN_TEXTS[of], n=left, whole=whole), "quiet")


def _asked(audit: Audit) -> tuple[float, ...]:
    """Return the quantiles that were asked for; those that every audit computes are on the page."""
    asked = audit.question.quantiles
    return () if asked == QUANTILES else tuple(q for q in dict.fromkeys(asked) if q != 0.5)


def _answer(audit: Audit, whole: str) -> Iterator[Entry]:
    first = words.headline(audit)
    answer = f"{text(first)}." if words.continues_verdict(audit) else sentence(first)
    yield Entry(audit.verdict, paragraph((answer, *words.precision(audit))), "strong")
    if not audit.is_of_tasks:
        yield from _left_out(audit, whole)
    yield from _files(audit, whole)
    for said in () if audit.platforms is None else audit.platforms.summary:
        yield Entry("Platform", sentence(said))
    if audit.cold is not None and audit.cold.found:
        yield Entry("Cold", sentence(begins(audit.cold, item_name(audit.question))))
    if len(audit.comparisons) == 1:
        yield Entry("Compared", sentence(words.verdicts(audit.comparisons)))
    if audit.tasks is not None and audit.tasks.are_enough and not audit.is_of_tasks:
        yield Entry("Tasks", paragraph(words.best(audit.tasks)))


def _evidence(audit: Audit, whole: str) -> Iterator[Entry]:
    if audit.tasks is not None and audit.is_of_tasks:
        yield from (Entry("", sentence(one)) for one in words.task_answers(audit.tasks)[1:])
        notes = words.task_caveats(audit.tasks)[:_MOST_CAVEATS]
        yield from (Entry("Note", sentence(one), "quiet") for one in notes)
        return
    names = [quantile_name(q) for q in _asked(audit)]
    if names and len(audit.comparisons) > 1:
        yield Entry(
            "",
            sentence(
                message("{names | listing} of each series: {whole}", names=names, whole=whole)
            ),
        )
    yield from _reasons(audit, whole)
    yield from _caveats(audit)
    # Findings that experiments have as well: a line for each of the first metrics.
    for some in [*audit.timed.values()][:_MOST_NOTES]:
        yield Entry("Hours", sentence(time_of_day.sentences(some)[0]))
        if any(one.analysis.week.p is not None for one in some):
            yield Entry("Week", sentence(time_of_day.week_sentences(some)[0]))
    for v in audit.variance[:_MOST_NOTES]:
        yield Entry("Variance", sentence(variance.sentences(v)[0]))


def _files(audit: Audit, whole: str) -> Iterator[Entry]:
    """Say what files state of their numbers."""
    stated: list[Said] = [*words.specifications(audit.files)]
    shown = stated[:_MOST_FILES]
    more = sum(number(one.args["n"]) for one in stated[_MOST_FILES:] if isinstance(one, Message))
    if more > 0:
        shown.append(message("{n} more files ({whole})", n=int(more), whole=whole))
    # The table of a set counts its failed runs.
    notes = words.shared(
        audit.files,
        lambda f: f.imported.notes if audit.is_of_tasks else f.imported.said,
        lambda f: f.path.name,
    )
    shown += [note.of("files", len(audit.files)) for note in notes[:_MOST_READ]]
    yield from (Entry("", sentence(one), "quiet") for one in shown)


def _reasons(audit: Audit, whole: str) -> Iterator[Entry]:
    total, found = len(audit.series), words.reasons(audit)
    for verdict, reason in found[:_MOST_REASONS]:
        yield Entry(verdict, sentence(reason.of("series", total)))
    if len(found) > _MOST_REASONS:
        more = message(
            "{n | counted('more reason')} ({whole})", n=len(found) - _MOST_REASONS, whole=whole
        )
        yield Entry("", sentence(more), "quiet")
    for said in (said for s in audit.series[:_MOST_NOTES] for _, said in words.inside(s)):
        yield Entry("Inside", sentence(said))
    # Below comparisons only what is missing from them.
    notes = words.shared(
        audit.series, lambda s: s.losses if audit.comparisons else s.notes, lambda s: s.name
    )
    for note in notes[:_MOST_NOTES]:
        yield Entry("Note", sentence(note.of("series", total)), "quiet")
    for said in () if audit.comparisons else words.restless(audit):
        yield Entry("Precision", sentence(said))


def _caveats(audit: Audit) -> Iterator[Entry]:
    """Say what weakens comparisons."""
    some = audit.comparisons
    weak = words.shared(some, lambda c: c.matched.cautions, name)[:_MOST_NOTES]
    said: list[Said] = [*words.chance_of_family(some), *words.doubtful(some)]
    said += [one.of("comparisons", len(some)) for one in weak]
    yield from (Entry("Note", sentence(one), "quiet") for one in said)
