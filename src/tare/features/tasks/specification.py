"""A task set as data: workloads and platforms of an experiment, and the tasks for them."""

from __future__ import annotations

from typing import Literal

import msgspec

from tare.experiment.specification import Cell, Experiment
from tare.units.bounded import Count, Positive

#: Version of the layout of a task set's folder.
VERSION = 2
#: The placeholder that stands for a task's file; to the experiment it is a factor of one level.
TASK = "task"
#: Placeholders of a checker's command: files.
OUTPUT, EXPECTED = "output", "expected"
#: Default time limit of a checker, in seconds.
CHECKER_S = 10.0
#: More than agents keep of what one run writes.
MOST_OUTPUT_BYTES = 60 << 20
#: Largest expected output, in bytes; twice as much, for an output with other white space, is still
#: below the output limit.
MOST_EXPECTED_BYTES = 24 << 20

Compare = Literal["exact", "whitespace", "numeric"]


class TaskSet(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``[tasks]``: inputs, what is correct, and how many are run side by side."""

    #: Patterns of input files, relative to where tare is called.
    files: tuple[str, ...]
    #: File with the expected output, in the folder of each input; ``*`` is the input's stem.
    expected: str | None = None
    #: Rule of comparison: all bytes; words and numbers with any white space; or the latter, with
    #: numbers within ``tolerance``.
    compare: Compare = "whitespace"
    #: Tolerance of numbers, relative to the expected value; absolute for values below 1.
    tolerance: Positive = 1e-6
    #: A command that judges instead: exit code 0, correct; 1 or 2, wrong.
    checker: tuple[str, ...] | None = None
    checker_timeout_s: Positive = CHECKER_S
    #: Runs of each task in each cell.
    trials: Count = 1
    #: Runs at a time, each on CPUs of its own.
    parallel: Count = 1
    cpus: Count = 1


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """One input with what is correct."""

    #: Name of the task, as the file pattern matched it.
    name: str
    #: Absolute paths.
    input: str
    expected: str | None = None
    #: SHA-256 of what each holds.
    digest: str
    answer: str | None = None


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """A task set with its tasks and cells, as its folder keeps it."""

    version: int = VERSION
    experiment: Experiment
    tasks: tuple[Task, ...]
    set: TaskSet
    cells: tuple[Cell, ...]
    #: Files that commands and the checker name, with the SHA-256 of what they hold.
    programs: dict[str, str] = {}
