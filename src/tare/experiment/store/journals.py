"""From the lines of journals to the rows of tables."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from tare.agent import record
from tare.errors import StoreError
from tare.experiment import journal, plan, plan_file


def read(folder: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Read a folder into rows, in the order of the columns of each table."""
    made = plan_file.read(folder)
    asked = made.experiment
    written = plan_file.text(folder)
    text = None if written is None else written.decode(errors="replace")
    rows: dict[str, list[tuple[Any, ...]]] = defaultdict(list)
    rows["experiment"] = [(
        plan.VERSION, asked.name, asked.question, made.metric, asked.seed, text, as_json(made)
    )]  # fmt: skip
    begun: set[int] = set()
    for path in journal.files(folder):
        _Session(path, rows, begun, len(made.cells)).read(journal.read(path))
    return rows


#: Beyond this, nothing was measured, and powers of it are no numbers any more.
_MOST = 1e30
#: Factors that have a column of their own; of the others, ``levels`` tells.
_FACTORS = ("workload", "platform", "workers", "pinning", "load", "size")


class _Session:
    """Sorts the lines of one journal into rows."""

    def __init__(
        self, path: Path, rows: dict[str, list[tuple[Any, ...]]], begun: set[int], cells: int
    ) -> None:
        self.path = path
        #: How many the plan has.
        self.cells = cells
        self.rows = rows
        #: Trials of this and all earlier sessions.
        self.begun = begun
        self.session: journal.Session | None = None
        self.closed: journal.SessionEnd | None = None
        self.starts: dict[int, journal.TrialStart] = {}
        self.ends: dict[int, journal.TrialEnd] = {}
        self.instances: dict[str, tuple[journal.InstanceStart, journal.InstanceEnd | None]] = {}

    def read(self, lines: Iterable[journal.Line]) -> None:
        samples = self.rows["samples"]
        for number, line in enumerate(lines, 1):
            self._check(number, line)
            if isinstance(line, record.Sample):
                if line.trial not in self.starts:
                    raise self._damaged(number, f"trial {line.trial} has not begun")
                samples.append((
                    line.trial, line.worker, line.iteration, line.phase, line.metric,
                    line.source, float(line.value),
                ))  # fmt: skip
            else:
                self._sort(number, line)
        if self.session is not None:
            self._finish(self.session)

    def _sort(self, number: int, line: journal.Line) -> None:
        session = self.session.session if self.session else None
        match line:
            case journal.Session():
                if self.session is not None:
                    raise self._damaged(number, "a second session begins")
                self.session = line
            case journal.SessionEnd():
                self.closed = line
            case journal.MachineFact():
                self.rows["facts"].append((
                    session, line.instance, line.platform, line.name, as_json(line.value),
                    line.unit, line.source,
                ))  # fmt: skip
            case journal.InstanceStart() | journal.InstanceEnd() | journal.ClockCheck():
                self._sort_instance(session, line)
            case journal.MachineTake() | journal.MachineFigure():
                self._sort_probed(session, line)
            case journal.TrialStart():
                if line.trial in self.begun:
                    raise self._damaged(number, f"trial {line.trial} begins a second time")
                self.begun.add(line.trial)
                self.starts[line.trial] = line
            case journal.TrialEnd():
                self.ends[line.trial] = line
            case record.Fault() | journal.HostUse() | journal.HostTokens():
                self._sort_of_trial(line)
            case journal.Stop():
                self.rows["stops"].append((session, *msgspec.structs.astuple(line)))
            case journal.Note():
                self.rows["notes"].append((session, line.message, as_json(line.detail)))

    def _sort_probed(
        self, session: int | None, line: journal.MachineTake | journal.MachineFigure
    ) -> None:
        match line:
            case journal.MachineTake():
                self.rows["takes"].append((
                    session, line.moment, line.take, *msgspec.structs.astuple(line.activity),
                ))  # fmt: skip
            case journal.MachineFigure():
                self.rows["figures"].append((session, *msgspec.structs.astuple(line)))

    def _sort_instance(
        self,
        session: int | None,
        line: journal.InstanceStart | journal.InstanceEnd | journal.ClockCheck,
    ) -> None:
        match line:
            case journal.InstanceStart():
                self.instances[line.instance] = (line, None)
            case journal.InstanceEnd() if line.instance in self.instances:
                self.instances[line.instance] = (self.instances[line.instance][0], line)
            case journal.ClockCheck():
                self.rows["clocks"].append((session, *msgspec.structs.astuple(line)))

    def _sort_of_trial(self, line: record.Fault | journal.HostUse | journal.HostTokens) -> None:
        match line:
            case record.Fault():
                self.rows["faults"].append((
                    line.trial, line.worker, line.iteration, line.kind, line.message,
                    line.evidence,
                ))  # fmt: skip
            case journal.HostUse():
                self.rows["network_use"].append(msgspec.structs.astuple(line))
            case journal.HostTokens():
                hosts = zip(line.tokens_bits, line.rate_bps, line.sent_bytes, strict=False)
                self.rows["network_log"] += [
                    (line.trial, line.at_ns, host, *seen) for host, seen in enumerate(hosts, 1)
                ]

    def _check(self, number: int, line: journal.Line) -> None:
        """Refuse what no session can have written, wherever it would be worked with."""
        match line:
            # What is rehearsed before the first block is no cell of the plan.
            case journal.TrialStart(cell=cell, rehearsal=False) | journal.Stop(cell=cell):
                if not 0 <= cell < self.cells:
                    raise self._damaged(number, f"the plan has no cell {cell}")
            case record.Sample(value=value):
                self._check_values(number, value)
            case journal.MachineFigure(values=values, margin=margin):
                self._check_values(number, *values, margin)

    def _check_values(self, number: int, *values: float) -> None:
        for value in values:
            if abs(value) > _MOST:
                raise self._damaged(number, f"{value} is no value of a measurement")

    def _damaged(self, number: int, why: str) -> StoreError:
        return StoreError(
            f"line {number} of {self.path} is damaged: {why}", "restore the file from a copy"
        )

    def _finish(self, session: journal.Session) -> None:
        closed = self.closed
        self.rows["sessions"].append((
            session.session, session.name, session.started, closed and closed.ended,
            closed and closed.reason, session.boot_id, session.nonce, session.tare,
            session.agent_digest, session.argv,
        ))  # fmt: skip
        self.rows["trials"] += [
            self._trial(session.session, start, self.ends.get(number))
            for number, start in self.starts.items()
        ]

        self.rows["instances"] += [
            _instance(session.session, start, end) for start, end in self.instances.values()
        ]

    def _trial(
        self, session: int, start: journal.TrialStart, end: journal.TrialEnd | None
    ) -> tuple[Any, ...]:
        known = (start.levels.get(name) for name in _FACTORS)
        return (
            start.trial, session, start.block, start.position, start.cell, *known,
            as_json(start.levels), start.seed, start.repetitions, as_json(start.cpus),
            start.rehearsal, start.error_captured, start.monotonic_ns,
            end and end.monotonic_ns - start.monotonic_ns,
            end.status if end else "unfinished", end and end.reason,
        )  # fmt: skip


def _instance(
    session: int, start: journal.InstanceStart, end: journal.InstanceEnd | None
) -> tuple[Any, ...]:
    return (
        session, start.instance, start.platform, start.size, start.pinning, start.cores,
        as_json(start.cpus), start.memory_bytes, as_json(start.workers), start.cold, start.start_ns,
        end and end.stop_ns, end and end.host_cpu_ns, end and end.host_memory_bytes,
    )  # fmt: skip


def as_json(value: Any) -> str:
    """Return a value as a column of the type JSON has it."""
    return msgspec.json.encode(value).decode()
