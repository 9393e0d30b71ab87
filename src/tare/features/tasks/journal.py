"""The journal of a task set: that of an experiment's sessions, with a line a run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import msgspec

from tare.decoding import Decoder
from tare.experiment import journal
from tare.experiment.task_sets.outcomes import Result

#: Bounded integer: a file from elsewhere may hold any number.
Whole = Annotated[int, msgspec.Meta(ge=0, le=(1 << 63) - 1)]


class Run(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="run"):
    """A run that is over, whatever became of it."""

    #: Number over all sessions, from 1.
    run: Whole
    #: Places in the plan.
    cell: Whole
    task: Whole
    #: Number of the task's run in the cell, from 1.
    trial: Whole
    #: Number of the lane, of those that run concurrently.
    lane: Whole
    #: CLOCK_MONOTONIC of tare itself: from asking for it until it was judged.
    began_ns: Whole
    ended_ns: Whole
    result: Result
    #: Reason for a failure of the program, its platform, or its checker; None: no failure.
    why: str | None = None
    #: Values of the run, by metric, then by source.
    values: dict[str, dict[str, float]] = {}


Line = (
    journal.Session
    | journal.MachineFact
    | journal.InstanceStart
    | journal.InstanceEnd
    | journal.ClockCheck
    | journal.Note
    | journal.SessionEnd
    | Run
)
_decoder = Decoder[Line](Line)


def read(folder: Path) -> Iterator[Line]:
    """Read the lines of every session, in order.

    Raises
    ------
    StoreError
        If one cannot be read, or holds what is no line of a journal.
    """
    for path in journal.files(folder):
        yield from journal.lines(path, _decoder)
