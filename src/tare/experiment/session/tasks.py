"""The tasks that a distributed job left of one trial: read where it ran, judged, and kept."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tare.agent import record
from tare.applications import tasks
from tare.applications.refusal import Refusal
from tare.applications.rows import MOST_BYTES, RowsError
from tare.experiment.metrics import TASKS
from tare.experiment.session import trial_rows
from tare.experiment.session.aside import aside
from tare.experiment.session.failing import Why
from tare.experiment.session.parts import RunningTrial, TrialPart
from tare.experiment.session.resident import Resident
from tare.experiment.store import row_file
from tare.platforms import clocks
from tare.results.columns import Columns
from tare.results.message import Amount, message
from tare.workloads import placeholders
from tare.workloads.application import HOST_NAME, SCRATCH, Tasks

#: A plain file, or those of a directory and the directories in it: so Spark's logs may be divided.
#: Links are not followed: what they lead to may never end. The last line of a file may be open.
READ = """
[ ! -L "$0" ] || exit 1
[ -f "$0" ] && exec cat "$0"
[ -d "$0" ] || exit 1
for file in "$0"/* "$0"/*/*; do
    if [ -f "$file" ] && [ ! -L "$file" ] && [ ! -L "${file%/*}" ]; then
        cat "$file" && echo || exit 1
    fi
done
"""
#: How long that may take: a few seconds for all that is read.
READ_S = 60.0
CLEAR = 'rm -rf -- "$0"'
#: How the one host is called where there is no network.
ALONE = ("127.0.0.1", "localhost", HOST_NAME)


class TaskFiles(TrialPart):
    """Reads the tasks that the job of a trial left, and keeps them next to the journal."""

    #: Those of the current trial.
    _left: LeftTasks

    @contextmanager
    def around(self, trial: RunningTrial) -> Iterator[None]:
        """Remove first what the trial before has left."""
        application = trial.cell.workload.application
        assert application is not None
        assert application.tasks is not None
        resident = trial.residents[0]
        hosts = trial.hosts(resident)
        self._left = LeftTasks(
            tasks=application.tasks,
            job=trial.job,
            resident=resident,
            began_ns=trial.began_ns,
            levels={**trial.levels, **hosts},
            addresses=tuple(hosts[placeholders.HOSTS].split(",")) if hosts else (),
            folder=self.resources.folder,
        )
        self._left.clear()
        yield

    def judge(self, trial: RunningTrial, failure: Why | None) -> Why | None:
        """Keep the tasks; return why they make no valid trial, or None."""
        return self._left.judged(trial.keep) if failure is None else failure


@dataclass(frozen=True)
class LeftTasks:
    """The tasks of one trial.

    Attributes
    ----------
    tasks : Tasks
        Where its application leaves them.
    job : Trial
    resident : Resident
        Where it takes place.
    began_ns : int
        When, by CLOCK_MONOTONIC of this machine.
    levels : mapping
        What placeholders stand for.
    addresses : tuple of str
        Of the network's hosts; empty: there is none.
    folder : Path
        The experiment's.
    """

    tasks: Tasks
    job: record.Trial
    resident: Resident
    began_ns: int
    levels: Mapping[str, str]
    addresses: tuple[str, ...]
    folder: Path

    def clear(self) -> None:
        """Remove what the trial before has left: it is not taken for what this one leaves."""
        aside(("sh", "-c", CLEAR, self._name()), self.job, self.resident)

    def judged(self, keep: Callable[[Iterable[record.Record]], object]) -> Why | None:
        """Keep the tasks; return why they make no valid trial, or None."""
        whole_ns = time.monotonic_ns() - self.began_ns
        name = self._name()
        try:
            asked = aside(("sh", "-c", READ, name), self.job, self.resident, MOST_BYTES, READ_S)
            found = trial_rows.output(asked, MOST_BYTES)
        except trial_rows.LargeError:
            most = Amount(MOST_BYTES, "bytes")
            return Why.of(
                Refusal(
                    "tasks.large",
                    message(
                        "what the job left in {file} has more than {most}", file=name, most=most
                    ),
                )
            )
        if found is None:
            return Why.of(
                Refusal(
                    "tasks.missing",
                    message(
                        "the job left no plain file or directory {file} that can be read", file=name
                    ),
                )
            )
        hosts = tasks.names_of(self.addresses) or dict.fromkeys((*ALONE, "1", "host1"), 1)
        try:
            rows = tasks.read(found, self.tasks.format, hosts, self._offset_ns(), whole_ns)
        except RowsError as error:
            return Why.of(error.refusal).in_one_line
        row_file.write(tasks.TASKS, rows, self.folder, self.job.trial)
        keep(self._samples(rows))
        return None

    def _name(self) -> str:
        """Return the path; raises TrialError where a level has made it one elsewhere."""
        name = placeholders.fill(self.tasks.results, self.levels)
        parts = name.removeprefix(f"{SCRATCH}/").split("/")
        if not name.startswith(f"{SCRATCH}/") or {"", ".", ".."} & {*parts} or "\0" in name:
            raise Why.of(
                Refusal(
                    "tasks.name",
                    message(
                        "{file} is no path in /tmp, so tasks cannot be read from it", file=name
                    ),
                )
            ).error
        return name

    def _offset_ns(self) -> int:
        """Return when the trial began by the clock of its tasks."""
        monotonic_ns = realtime_ns = 0
        if self.resident.instance.own_machine:
            offset = clocks.compare(self.resident.agent)
            monotonic_ns, realtime_ns = offset.monotonic_offset_ns, offset.realtime_offset_ns
        if self.tasks.format == "tasks":
            return self.began_ns + monotonic_ns
        return self.began_ns + _ahead_ns() + realtime_ns

    def _samples(self, rows: Columns) -> Iterable[record.Sample]:
        for metric, value in (("tasks", len(rows)), ("tasks_failed", int(rows["failed"].sum()))):
            yield record.Sample(
                id=0, trial=self.job.trial, worker=None, iteration=None, phase="measured",
                metric=metric, source=TASKS, value=value,
            )  # fmt: skip


def _ahead_ns() -> int:
    """Return by how much CLOCK_REALTIME is ahead of CLOCK_MONOTONIC, from the quickest reading."""
    readings = []
    for _ in range(5):
        before = time.monotonic_ns()
        now = time.time_ns()
        after = time.monotonic_ns()
        readings.append((after - before, now - (before + after) // 2))
    return min(readings)[1]
