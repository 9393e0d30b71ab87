"""From the lines of journals to the rows of tables."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from tare.agent import record
from tare.errors import StoreError
from tare.experiment import journal, plan, plan_file


def read(folder: Path) -> dict[str, list[Row]]:
    """Read a folder into rows, in the order of the columns of each table."""
    made = plan_file.read(folder)
    asked = made.experiment
    written = plan_file.text(folder)
    text = None if written is None else written.decode(errors="replace")
    rows: dict[str, list[Row]] = defaultdict(list)
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

Row: TypeAlias = tuple[Any, ...]
_as_it_is: Callable[[Any], Row] = msgspec.structs.astuple
#: Lines that are a row each: its table, and the row, after the number of the session.
_OF_SESSION: dict[type, tuple[str, Callable[[Any], Row]]] = {
    journal.MachineFact: (
        "facts",
        lambda x: (x.instance, x.platform, x.name, as_json(x.value), x.unit, x.source),
    ),
    journal.MachineTake: ("takes", lambda x: (x.moment, x.take, *_as_it_is(x.activity))),
    journal.MachineFigure: ("figures", _as_it_is),
    journal.ClockCheck: ("clocks", _as_it_is),
    journal.Stop: ("stops", _as_it_is),
    journal.Note: ("notes", lambda x: (x.message, as_json(x.detail))),
}
#: The same of lines that name a trial, and so no session.
_OF_TRIAL: dict[type, tuple[str, Callable[[Any], Row]]] = {
    record.Fault: (
        "faults", lambda x: (x.trial, x.worker, x.iteration, x.kind, x.message, x.evidence),
    ),
    journal.HostUse: ("network_use", _as_it_is),
}  # fmt: skip


class _Session:
    """Sorts the lines of one journal into rows."""

    def __init__(self, path: Path, rows: dict[str, list[Row]], begun: set[int], cells: int) -> None:
        self.path = path
        #: How many the plan has.
        self.cells = cells
        self.rows = rows
        #: Trials of this and all earlier sessions.
        self.begun = begun
        #: Cells and blocks of good trials.
        self.good: set[tuple[int, int]] = set()
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
            elif (kind := type(line)) in _OF_SESSION:
                table, row = _OF_SESSION[kind]
                self.rows[table].append((self.session and self.session.session, *row(line)))
            elif kind in _OF_TRIAL:
                table, row = _OF_TRIAL[kind]
                self.rows[table].append(row(line))
            else:
                self._sort(number, line)
        if self.session is not None:
            self._finish(self.session)

    def _sort(self, number: int, line: journal.Line) -> None:
        match line:
            case journal.Session():
                if self.session is not None:
                    raise self._damaged(number, "a second session begins")
                self.session = line
            case journal.SessionEnd():
                self.closed = line
            case journal.InstanceStart():
                self.instances[line.instance] = (line, None)
            case journal.InstanceEnd() if line.instance in self.instances:
                self.instances[line.instance] = (self.instances[line.instance][0], line)
            case journal.TrialStart():
                if line.trial in self.begun:
                    raise self._damaged(number, f"trial {line.trial} begins a second time")
                self.begun.add(line.trial)
                self.starts[line.trial] = line
            case journal.TrialEnd():
                self.ends[line.trial] = line
                self._pair(number, line)
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

    def _pair(self, number: int, line: journal.TrialEnd) -> None:
        """Refuse a second good trial of a cell in a block, within which cells are compared."""
        start = self.starts.get(line.trial)
        if start is None or start.rehearsal or line.status != "ok":
            return
        if (start.cell, start.block) in self.good:
            raise self._damaged(number, f"cell {start.cell} has two good trials in a block")
        self.good.add((start.cell, start.block))

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

    def _trial(self, session: int, start: journal.TrialStart, end: journal.TrialEnd | None) -> Row:
        known = (start.levels.get(name) for name in _FACTORS)
        return (
            start.trial, session, start.block, start.position, start.cell, *known,
            as_json(start.levels), start.seed, start.repetitions, as_json(start.cpus),
            start.rehearsal, start.error_captured, start.monotonic_ns,
            end and end.monotonic_ns - start.monotonic_ns,
            end.status if end else "unfinished", end and end.reason,
            (end and end.failure_kind) or None,
        )  # fmt: skip


def _instance(session: int, start: journal.InstanceStart, end: journal.InstanceEnd | None) -> Row:
    return (
        session, start.instance, start.platform, start.size, start.pinning, start.cores,
        as_json(start.cpus), start.memory_bytes, as_json(start.workers), start.cold, start.start_ns,
        end and end.stop_ns, end and end.host_cpu_ns, end and end.host_memory_bytes,
    )  # fmt: skip


def as_json(value: Any) -> str:
    """Return a value as a column of the type JSON has it."""
    return msgspec.json.encode(value).decode()
