"""A trace, read line by line, with every time on one axis: seconds since it began."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tare import files
from tare.agent.record import Connected, Ended, Gap, Interval, MeasureOver, PhaseOver
from tare.decoding import DecodeError
from tare.errors import StoreError, Typed
from tare.networks.recording import lines
from tare.networks.recording.lines import READ, VERSION, Phase, Stretch
from tare.networks.recording.writer import TRACE
from tare.results.message import Deviation, Message, Said, message
from tare.version import __version__

#: A line longer than this is none of ours.
_LINE_LIMIT = 1 << 20
#: More lines that cannot be read make no trace.
_MOST_DAMAGED = 100
#: Every phase has its histograms in memory.
_MOST_PHASES = 2_000
#: A clock that is this much off from the other has been set.
_STEPPED_NS = 1_000_000_000
_BEYOND_NS = 1 << 62
#: No network carries more; of less time than a moment, counts say nothing of a rate.
_MOST_BPS = 10**14
_MOMENT_NS = 100_000


@dataclass
class Reader:
    """Reads a trace from its beginning, in constant memory.

    Attributes
    ----------
    begun_ns : int or None
        When it began, ns since 1970.
    phases : dict of int to Phase
        By their numbers, as they were asked for first.
    phases_over : set of int
        Those that came to their end.
    connected : list of (float, Connected)
        Every connection, with its time.
    gaps : list of (float, float, Said)
        When nothing was measured, and why.
    notes : list of Message
        What was wrong with it; each a sentence.
    """

    folder: Path
    #: How a line is read.
    decode: Callable[[bytes], lines.Line] = lines.decode
    begun_ns: int | None = None
    phases: dict[int, Phase] = field(default_factory=dict)
    phases_over: set[int] = field(default_factory=set)
    connected: list[tuple[float, Connected]] = field(default_factory=list)
    gaps: list[tuple[float, float, Said]] = field(default_factory=list)
    notes: list[Message] = field(default_factory=list)
    #: Why the last stretch ended before all that was asked; None: it did not, or it is not known.
    ended: Ended | None = None
    _stretch: Stretch | None = None
    #: What the stretch's own times are counted up by.
    _offset_ns: int = 0
    #: Of the whole trace, until now; of each direction.
    _end_ns: int = 0
    _ends_ns: dict[str, int] = field(default_factory=dict)
    _damaged: int = 0
    _late: int = 0
    #: Wall clock at this stretch's 0, as its first connection told.
    _wall_ns: int | None = None

    @property
    def path(self) -> Path:
        """The file."""
        return self.folder / TRACE

    @property
    def end_s(self) -> float:
        """When the last that was told ended."""
        return self._end_ns / 1e9

    def intervals(self) -> Iterator[tuple[float, float, Interval]]:
        """Yield every interval with its start and its end; fills the attributes on its way.

        Raises
        ------
        StoreError
            If there is no trace, or it is none of this version.
        """
        for line in self._lines():
            if isinstance(line, Interval):
                placed = self._place(line.start_ns, line.end_ns)
                if placed is None or not self._follows(line, placed):
                    self._late += 1
                    continue
                yield placed[0] / 1e9, placed[1] / 1e9, line
            else:
                self._take(line)
        self._conclude()

    def _lines(self) -> Iterator[lines.Line]:
        try:
            with files.open_plain(self.path, links=True) as file:
                first = True
                while data := file.readline(_LINE_LIMIT + 1):
                    line = self._read(data)
                    if first and not isinstance(line, Stretch):
                        raise StoreError(
                            f"{self.path} is no trace of `tare net measure`: its first line is "
                            "not that of a stretch",
                            "measure again, with tare net measure --out",
                        )
                    first = False
                    if line is not None:
                        yield line
                if first:
                    self.notes.append(message("nothing was measured: the trace is empty"))
        except OSError as error:
            raise StoreError(
                f"cannot read {self.path}: {error.strerror}",
                Typed(f"ls -l {shlex.quote(str(self.folder))}"),
            ) from error

    def _read(self, data: bytes) -> lines.Line | None:
        try:
            return self.decode(data)
        except DecodeError as error:
            self._damaged += 1
            if self._damaged > _MOST_DAMAGED:
                raise StoreError(
                    f"{self.path}: more than {_MOST_DAMAGED} lines cannot be read, the last of "
                    f"them for: {error}",
                    "measure again, with tare net measure",
                ) from error
            return None

    def _take(self, line: lines.Line) -> None:
        match line:
            case Stretch():
                self._begin(line)
            case Phase():
                self.phases.setdefault(line.id, line)
                if len(self.phases) > _MOST_PHASES:
                    raise StoreError(f"{self.path} has more than {_MOST_PHASES} phases", None)
            case PhaseOver() if not line.skipped:
                self.phases_over.add(line.id)
            case Connected():
                self._connect(line)
            case MeasureOver():
                self.ended = line.why
            case Gap():
                placed = self._place(line.start_ns, line.end_ns)
                if placed is not None:
                    self.gaps.append((placed[0] / 1e9, placed[1] / 1e9, line.why))

    def _begin(self, stretch: Stretch) -> None:
        if stretch.version not in READ:
            raise StoreError(
                f"{self.path} is of version {stretch.version}; this tare ({__version__}) "
                f"reads {VERSION}",
                "read it with the tare that measured it",
            )
        before, self._stretch, self._wall_ns = self._stretch, stretch, None
        self.ended = None
        if before is None:
            self.begun_ns = stretch.realtime_ns
            return
        same = stretch.boot_id is not None and stretch.boot_id == before.boot_id
        passed_ns = (
            stretch.boottime_ns - before.boottime_ns
            if same
            else stretch.realtime_ns - before.realtime_ns
        )
        start_ns = self._offset_ns + passed_ns
        end_ns = self._end_ns
        if not end_ns <= start_ns < _BEYOND_NS:
            self.notes.append(
                message(
                    "the clock was set between two stretches: the time between them is unknown "
                    "and shown as none"
                )
            )
            start_ns = end_ns
        self._offset_ns = start_ns
        why = message(
            "the measurement was stopped and resumed" if same else "the machine was restarted"
        )
        self.gaps.append((end_ns / 1e9, start_ns / 1e9, why))

    def _connect(self, line: Connected) -> None:
        placed = self._place(line.at_ns, line.at_ns)
        if placed is None:
            return
        wall_ns = line.realtime_ns - line.at_ns
        if self._wall_ns is None:
            self._wall_ns = wall_ns
        elif abs(wall_ns - self._wall_ns) > _STEPPED_NS:
            by = Deviation(wall_ns - self._wall_ns, "ns")
            self.notes.append(
                message(
                    "the wall clock was set by {by} during the measurement. Times since the "
                    "beginning do not depend on it",
                    by=by,
                )
            )
            self._wall_ns = wall_ns
        self.connected.append((placed[0] / 1e9, line))

    def _place(self, start_ns: int, end_ns: int) -> tuple[int, int] | None:
        if not 0 <= start_ns <= end_ns < _BEYOND_NS or self._offset_ns + end_ns >= _BEYOND_NS:
            return None
        self._end_ns = max(self._end_ns, self._offset_ns + end_ns)
        return self._offset_ns + start_ns, self._offset_ns + end_ns

    def _follows(self, line: Interval, placed: tuple[int, int]) -> bool:
        """Say whether an interval comes after those before it, and can be what it says."""
        start_ns, end_ns = placed
        if line.direction == "both" or line.id not in self.phases:
            return False
        if end_ns <= start_ns or start_ns < self._ends_ns.get(line.direction, 0):
            return False
        if not 0 <= line.on_ns <= end_ns - start_ns or min(line.acked_bytes, line.retransmits) < 0:
            return False
        most_bytes = _MOST_BPS * max(end_ns - start_ns, _MOMENT_NS) // (8 * 10**9)
        if max(line.acked_bytes, line.received_bytes or 0) > most_bytes:
            return False
        self._ends_ns[line.direction] = end_ns
        return True

    def _conclude(self) -> None:
        if self._damaged:
            self.notes.append(
                message("{n | counted('line')} left out: cut off or damaged", n=self._damaged)
            )
        if self._late:
            self.notes.append(
                message(
                    "{n | counted('interval')} left out: impossible times or counts", n=self._late
                )
            )
