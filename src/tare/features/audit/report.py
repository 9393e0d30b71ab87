"""The report of an audit: the same as an experiment's, of what others measured."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from tare.experiment.task_sets.answers import configurations
from tare.experiment.task_sets.charts import quantiles
from tare.experiment.task_sets.every_task import RUNS, every_task
from tare.features.audit import messages as words
from tare.features.audit import phrases as audit_phrases
from tare.features.audit.answers import findings
from tare.features.audit.audit import Audit
from tare.features.audit.entries import entries, overview
from tare.features.audit.figures import figures
from tare.features.audit.messages import task_caveats
from tare.features.audit.next_steps import follow_up
from tare.features.audit.page_figures import drawings
from tare.features.audit.task_sets import TaskSets
from tare.render.large_table import LargeTable
from tare.render.words import listing
from tare.results import phrases as results_phrases
from tare.results.finding import Finding
from tare.results.message import Message, Said, each, message
from tare.results.report import Entry, NextStep, Origin, Report, Section
from tare.units import chosen, counted, percent

#: Files larger than this are not read again for a digest.
_MOST_DIGESTED = 1 << 30


#: Findings whose tables lay out numbers that :mod:`.figures` has.
_NUMBERS_ELSEWHERE = {"trust", "repetitions", "assumptions", "difference", "specification"}


def make(
    audit: Audit,
    command: str = "",
    files: Sequence[str] = (),
    *,
    page: bool = True,
    whole: bool = True,
) -> Report:
    """Lay the report of an audit out.

    Parameters
    ----------
    audit : Audit
    command : str
        As typed.
    files : sequence of str
        Those that have the whole report.
    page : bool
        Whether it has charts, and the tables of the numbers that are figures.
    whole : bool
        Whether it has more than a terminal shows, which is much to compute of many series.
    """
    whole = whole or audit.question.finding is not None
    drawn, told = drawings(audit) if page else {}, findings(audit) if whole else []
    sections = [
        Section(
            msgspec.structs.replace(
                f,
                tables=tuple(
                    t for t in f.tables if t.rows and (page or f.name not in _NUMBERS_ELSEWHERE)
                ),
            ),
            drawn.get(f.name, ()),
        )
        for f in told
    ]
    if page and audit.tasks is not None and audit.is_of_tasks:
        question = message(results_phrases.TASKS_QUESTION_RUNS)
        sections.append(
            Section(Finding(name=RUNS, question=question, answer=(), closed=False, verdict="none"))
        )
    names = [f.path.name for f in audit.files]
    where = ", ".join(files) or "--json, --report"
    step = follow_up(audit, has_page=page)
    return Report(
        command="audit",
        exit_code=audit.exit_code,
        figures=figures(audit) if whole else {},
        name=f"audit of {listing(names[:4])}{' and others' if len(names) > 4 else ''}",
        question=sections[0].finding.question if sections else "Can these numbers be trusted?",
        lead=sections[0].finding.name if sections else None,
        answers=tuple(said for f in told for said in each(f.summary)),
        entries=(
            *entries(audit, where),
            *([Entry.of("Advice", step)] if isinstance(step, Message) else []),
        ),
        next_steps=(step,) if isinstance(step, NextStep) else (),
        strip=_strip(audit),
        sections=tuple(sections),
        doubts=_noted(audit) if whole else (),
        origin=_origin(audit, command if page else None),
        doubtful="Noted while reading",
        calm="Nothing was left out while reading.",
        rest=f"{command} --json -" if page else "",
        **(
            _of_tasks(audit.tasks)
            if audit.tasks is not None and audit.is_of_tasks
            else {"further": () if audit.question.finding else (overview(audit),)}
        ),
    )


def every_row(audit: Audit) -> dict[str, LargeTable]:
    """Return the table of all tasks of a set by the name of its finding; empty without a set."""
    tasks = audit.tasks
    if tasks is None or not audit.is_of_tasks:
        return {}
    note = message(
        "Of so many configurations it has the result and the {time} alone",
        time=tasks.sets[0].time.title,
    )
    return {RUNS: every_task(tasks.sets, tasks.names, tasks.compared, note)}


def _of_tasks(tasks: TaskSets) -> dict[str, Any]:
    """Return what the page of a set of tasks has besides: its picture, its table, its caveats."""
    drawn = quantiles(tasks.sets, tasks.compared)
    return {
        "overview": () if drawn is None else (drawn,),
        "cells": configurations(tasks.in_order),
        "notes": tuple(task_caveats(tasks)),
    }


def _strip(audit: Audit) -> tuple[tuple[str, str], ...]:
    counts = [s.n for s in audit.series]
    span = f"{min(counts):,}" if min(counts) == max(counts) else (
        f"{min(counts):,} to {max(counts):,}"
    )  # fmt: skip
    formats = dict.fromkeys(f.imported.format for f in audit.files)
    if audit.tasks is not None and audit.is_of_tasks:
        runs = sum(one.runs for one in audit.tasks.sets)
        return (
            ("tasks", f"{len(audit.tasks.names):,}"),
            ("configurations", f"{len(audit.tasks.sets)}"),
            ("runs", f"{runs:,}"),
            ("format", ", ".join(formats)),
        )
    known = all(s.trials_known for s in audit.series)
    strip = [
        ("series", f"{len(audit.series):,}"),
        ("trials of each" if known else "values of each", span),
        ("format", ", ".join(formats)),
        ("target", f"± {chosen(audit.question.precision)} of the median"),
        ("intervals", percent(audit.question.confidence)),
    ]
    if audit.comparisons:
        strip.append(("compared", f"{counted(len(audit.comparisons), 'pair')}, one family"))
    return tuple(strip)


def _noted(audit: Audit) -> tuple[Said, ...]:
    said: list[Said] = [
        message(audit_phrases.TRUST_FILE, file=f.path.name, said=note)
        for f in audit.files
        for note in f.imported.said
    ]
    noted = words.shared(audit.series, lambda s: s.notes, lambda s: s.name)
    said += [n.of("series", len(audit.series)) for n in noted]
    thin = [s for s in audit.series if s.used < s.n]
    if thin:
        said.append(
            message(
                "{% if name %}{name}{% else %}{series} series{% endif %}: CONFIRM and the "
                "intervals of mean and SD use {used} evenly spaced values. Quantiles, mean "
                "and SD use all",
                name=thin[0].name if len(thin) == 1 else None,
                series=len(thin),
                used=thin[0].used,
            )
        )
    return tuple(said[:40])


def _origin(audit: Audit, command: str | None) -> Origin:
    files = () if command is None else audit.files[:40]
    return Origin(
        commands=() if command is None else (command,),
        digests=tuple((f.path.name, _digest(f.path)) for f in files if f.path.is_file()),
        seed=audit.question.seed,
        title="How to audit the same again",
    )


def _digest(path: Path) -> str:
    try:
        if path.stat().st_size > _MOST_DIGESTED:
            return "not computed, for its size"
        with path.open("rb") as source:
            return hashlib.file_digest(source, "sha256").hexdigest()
    except OSError:
        return "not readable any more"
