"""Runs of tasks, a row each, of one or several task sets: what tables, scores and exports read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from tare.features.tasks.specification import TaskSet
from tare.workloads.specification import Enforced

if TYPE_CHECKING:
    from tare.results.columns import Columns


class Folder(msgspec.Struct, frozen=True, kw_only=True):
    """A task set's results, and how they were made."""

    #: Folder as the user named it.
    name: str
    experiment: str
    question: str | None = None
    #: UTC, ISO 8601: when the first session began.
    started: str | None = None
    #: Facts of the machine, by name: ``cpu``, ``kernel`` …
    facts: dict[str, object] = {}
    #: The file, and what it asks of the tasks; the seed of their order.
    file: str | None = None
    asked: TaskSet | None = None
    seed: int | None = None
    #: Runs of all cells, tasks and trials; None: not known.
    planned: int | None = None
    #: Notes of its sessions.
    notes: tuple[str, ...] = ()
    #: Tasks of a name that an earlier folder has too, with another input or answer.
    replaced: tuple[str, ...] = ()


class Configuration(msgspec.Struct, frozen=True, kw_only=True):
    """What runs all tasks of a set: a workload at one level of every factor."""

    #: Place among the folders.
    folder: int = 0
    workload: str
    #: Every factor with its level, ``platform`` among them; without ``workload``.
    levels: dict[str, str]
    #: Command with the levels of its factors filled in, and ``{task}`` in place of the task.
    command: tuple[str, ...] = ()
    timeout_s: float | None = None
    enforce: Enforced | None = None


# Compared and hashed by identity: columns have no equality of their own.
@dataclass(frozen=True, eq=False)
class Runs:
    """Runs of several configurations.

    Attributes
    ----------
    folders : tuple of Folder
    configurations : tuple of Configuration
    tasks : tuple of str
        Names of all tasks, as paths, each once, in the order of their sets.
    table : Columns
        One row a run: ``configuration`` (place among the configurations), ``task`` (place among
        the tasks), ``trial`` (from 1: which of the task's runs), ``result`` (one of
        :data:`tare.experiment.task_sets.outcomes.RESULTS`), ``why`` (text or None),
        ``exit_status`` (how the program ended: its exit code, or the negative number of the
        signal), ``cpu_ns``, ``wall_ns``, ``memory_bytes``
        (floats, NaN where not known), ``wait_ns`` (its first thread was ready and had no CPU),
        ``throttled_ns`` (a CPU quota throttled it),
        ``started_ns`` (since the first run began) and ``took_ns``
        (until it was judged, as tare sees it).
    """

    folders: tuple[Folder, ...]
    configurations: tuple[Configuration, ...]
    tasks: tuple[str, ...]
    table: Columns

    @property
    def machines(self) -> set[tuple[object, object, object]]:
        """CPU, number of CPUs and kernel of the machines, each once; None: not known."""
        facts = [one.facts for one in self.folders]
        return {(own.get("cpu"), own.get("cpus"), own.get("kernel")) for own in facts}

    def folder(self, place: int) -> Folder:
        """Return the folder of a configuration, by its place among them."""
        return self.folders[self.configurations[place].folder]
