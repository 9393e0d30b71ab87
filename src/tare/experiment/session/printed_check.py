"""Whether what an application printed makes a valid trial, and what its check says of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from tare.agent import record
from tare.applications.refusal import Refusal
from tare.experiment.session.aside import aside
from tare.experiment.session.failing import Why
from tare.experiment.session.printed import Printed
from tare.experiment.session.resident import Resident
from tare.experiment.specification import Cell
from tare.results.message import message
from tare.workloads import placeholders


def judged(
    printed: Printed,
    job: record.Trial,
    cell: Cell,
    levels: Mapping[str, str],
    data: Path | None,
    residents: Sequence[Resident],
    keep: Callable[[Iterable[record.Record]], object],
) -> Why | None:
    """Keep what an application printed of its metrics; return why the trial is not valid, or None.

    Parameters
    ----------
    printed : Printed
        By all executions of the trial.
    job : Trial
    cell : Cell
        Whose workload is the application.
    levels : mapping
        What placeholders stand for.
    data : Path or None
        What the application prepared.
    residents : sequence of Resident
        Where the trial took place.
    keep : callable
        Takes records of the trial.
    """
    application = cell.workload.application
    assert application is not None
    wrong = printed.judged(application, lambda part: placeholders.fill(part, levels), data)
    if wrong is not None:
        return Why.of(wrong)
    keep(printed.samples(application, job.trial))
    command = application.check.command
    if command is None:
        return None
    filled = tuple(placeholders.fill(word, levels) for word in command)
    found = (_failed(filled, job, resident) for resident in residents)
    return next((why for why in found if why is not None), None)


def _failed(argv: tuple[str, ...], job: record.Trial, resident: Resident) -> Why | None:
    """Run an application's check where a trial took place; return how it failed, or None."""
    for got in aside(argv, job, resident):
        if isinstance(got, record.Fault) and got.kind != "warning":
            last = (got.evidence or "").strip().splitlines()[-1:]
            why = "; ".join([got.message, *last])
            return Why.of(
                Refusal(
                    "application.check.command",
                    message(
                        "the check {command} failed{% if why %}: {why}{% endif %}",
                        command=" ".join(argv),
                        why=why,
                    ),
                )
            )
    return None
