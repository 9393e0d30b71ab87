"""The journal: the truth of an experiment, append-only, one JSON object a line.

One file per session, ``journal/SESSION.ndjson``; flushed to the disk once a trial. The agent's
records (:mod:`tare.agent.record`) are kept as they came, between the ``trial`` and the ``ended``
that frame them; everything else is written by the front and defined here.
"""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import msgspec

from tare import files as whole_file
from tare.agent import record
from tare.decoding import DecodeError, Decoder, decode
from tare.errors import StoreError, Typed
from tare.experiment.plan import VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


T = TypeVar("T")


class Session(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="session"):
    """The first line of every file: one uninterrupted stretch."""

    version: int
    session: int
    #: Names what the session makes on the machine: ``tare-NAME-…``.
    name: str
    nonce: int
    boot_id: str | None
    #: UTC, ISO 8601.
    started: str
    tare: str
    agent_digest: str
    argv: tuple[str, ...]


class MachineFact(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="machine"):
    """A fact of the machine or of a platform instance."""

    name: str
    value: bool | int | float | str
    unit: str | None = None
    source: str
    #: Absent: the machine; otherwise the stack that the instance belongs to.
    platform: str | None = None
    #: Absent: it holds for all instances of the platform.
    instance: str | None = None


#: Facts of single instances: what a program in them sees.
SEEN = (
    "cpus_affinity", "cpus_online", "cpus_visible", "memory_total_bytes", "memory_limit_bytes",
)  # fmt: skip


class InstanceStart(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="instance"):
    """An instance of a platform was started; its agent has said hello."""

    #: Its own name: ``tare-1a2b3c-0``.
    instance: str
    platform: str
    size: str
    pinning: str
    #: What it is held to; None: not limited.
    cores: float | None
    cpus: tuple[int, ...] | None
    memory_bytes: int | None
    workers: tuple[int, ...]
    #: The first of its stack in the session, for which images and caches may have been made.
    cold: bool
    #: From asking for it to the agent's hello.
    start_ns: int


class InstanceEnd(
    msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="instance_end"
):
    """An instance was ended; the host's figures are of what is around the agent, not of it."""

    instance: str
    stop_ns: int
    host_cpu_ns: int | None = None
    host_memory_bytes: int | None = None


class ClockCheck(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="clock"):
    """The clocks inside an instance beside the host's, by exchanges with its agent.

    The offset is inside minus host, of the exchange that took the least time; the true one is
    within ``within_ns`` of it.
    """

    instance: str
    #: When, by the host's CLOCK_MONOTONIC.
    monotonic_ns: int
    monotonic_offset_ns: int
    realtime_offset_ns: int
    within_ns: int


#: When a session looks at what the machine can do.
Moment = Literal["before", "after"]


class Activity(msgspec.Struct, frozen=True, kw_only=True):
    """How busy a machine was during a take of its fingerprint; None: the kernel does not tell."""

    seconds: float
    #: CPUs of the machine.
    cpus: int | None = None
    #: Of the last minute, when it began.
    load_average: float | None = None
    #: CPUs that others than tare kept at work, in the mean.
    other_cpus: float | None = None
    #: CPUs that the hypervisor gave to others.
    stolen_cpus: float | None = None
    #: Share of the time in which some task waited, tare's own included (PSI).
    cpu_pressure: float | None = None
    memory_pressure: float | None = None
    io_pressure: float | None = None


class MachineTake(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="take"):
    """One take of the machine's fingerprint; folders of an older tare have none of these."""

    moment: Moment
    #: From 1; a take that others disturbed is repeated.
    take: int
    activity: Activity


class MachineFigure(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="figure"):
    """What a probe found of the machine before or after the trials of a session."""

    moment: Moment
    metric: str
    unit: str
    better: Literal["lower", "higher", "neither"]
    #: Smallest relative change that matters.
    margin: float
    #: Of each round, in order of time.
    values: tuple[float, ...]
    #: The take that it belongs to.
    take: int = 1


class TrialStart(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="trial"):
    """A trial begins; the agent's records follow."""

    trial: int
    block: int
    #: Place in the block.
    position: int
    cell: int
    levels: dict[str, str]
    seed: int
    repetitions: int | None
    #: CPUs of each worker; None: not pinned.
    cpus: tuple[tuple[int, ...] | None, ...]
    monotonic_ns: int
    #: Not used for any value: it found the repetitions. Folders know it as ``calibration``, the
    #: word from before a calibration was one of the machine.
    rehearsal: bool = msgspec.field(default=False, name="calibration")
    #: The end of the command's standard error is read: it writes to a pipe, not to /dev/null.
    error_captured: bool = False


class TrialEnd(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="ended"):
    """A trial is over: ``ok``, or ``failed`` with the reason."""

    trial: int
    status: str
    reason: str | None = None
    #: What is the same for trials that failed alike, with other numbers; absent: the reason is.
    failure_kind: str | msgspec.UnsetType = msgspec.UNSET
    monotonic_ns: int


#: Faults that end a command which was running, and which may have said why.
SPEAKING: frozenset[record.FaultKind] = frozenset(
    {"exit", "signal", "timeout", "cpu_time", "out_of_memory", "output", "processes"}
)


class HostUse(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="network_use"):
    """What one host of an emulated network sent in a trial, and what of its bucket was left."""

    trial: int
    #: From 1, which runs the command.
    host: int
    #: None: it has no bucket.
    tokens_start_bits: int | None
    tokens_end_bits: int | None
    sent_bytes: int
    dropped_packets: int
    #: How often, and how long in all, the bucket was empty; and when first, since the trial began.
    times_dry: int
    dry_ns: int
    first_dry_ns: int | None


class HostTokens(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="network_log"):
    """The hosts of an emulated network at one moment of a trial, each at its place."""

    trial: int
    #: Since the trial began.
    at_ns: int
    tokens_bits: tuple[int | None, ...]
    rate_bps: tuple[int | None, ...]
    sent_bytes: tuple[int, ...]


#: ``fixed``: n was decided beforehand; ``target``: the cell has what was asked; ``cap``: it had as
#: many trials as any cell gets; ``refused``: no further trial will help; ``decided``: every
#: comparison's verdict is safe; ``alone``: what it was to be compared with kept failing.
StopReason = Literal[
    "fixed", "target", "budget", "cap", "refused", "failed", "interrupted", "decided", "alone"
]  # fmt: skip
#: What speaks against calling a target reached: the interval is too ``wide`` at the cap; the series
#: ``remembers`` too much; it ``drifts`` or ``jumps`` by more than the target; under ``anytime``, it
#: is ``ordered``, its trials not exchangeable.
StopWhy = Literal["wide", "coarse", "remembers", "drifts", "jumps", "ordered", "above"]


class Stop(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="stop"):
    """Why a cell stopped and what it reached."""

    cell: int
    trials: int
    reason: StopReason
    target: float | None = None
    reached: float | None = None
    more_trials: int | None = None
    more_seconds: float | None = None
    why: StopWhy | None = None
    #: The same in words, with what to do.
    refusal: str | None = None


class Note(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="note"):
    """Something to be told with the answer, such as a platform that was left out."""

    message: str
    detail: dict[str, Any] = {}


class SessionEnd(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="closed"):
    """The last line of a session that was not killed."""

    ended: str
    reason: str


Line = (
    Session
    | MachineFact
    | MachineTake
    | MachineFigure
    | InstanceStart
    | InstanceEnd
    | ClockCheck
    | TrialStart
    | TrialEnd
    | HostUse
    | HostTokens
    | Stop
    | Note
    | SessionEnd
    | record.Sample
    | record.Fault
)


#: Largest value of a measurement: larger ones were not measured, and their powers overflow.
MOST_VALUE = 1e30


class Writer:
    """Appends lines to the journal of one session; what was written before ``sync`` survives.

    Parameters
    ----------
    path : Path
        A file that does not exist yet.
    take : callable, optional
        Is given each line as well.

    Raises
    ------
    StoreError
        If the file exists, or cannot be written (no room, no right).
    """

    def __init__(self, path: Path, take: Callable[[Any], None] | None = None) -> None:
        self._path = path
        self._take = take
        # Hints are texts of a type of their own.
        self._encoder = msgspec.json.Encoder(enc_hook=str)
        try:
            self._file = path.open("xb")
            whole_file.sync_folder(path.parent)
        except OSError as error:
            raise StoreError(f"cannot make the journal {path}: {error.strerror}") from error

    def write(self, *lines: msgspec.Struct) -> None:
        """Append lines; they are safe after the next ``sync``."""
        try:
            self._file.write(self._encoder.encode_lines(lines))
        except OSError as error:
            raise self._lost(error) from error
        if self._take is not None:
            for line in lines:
                self._take(line)

    def sync(self) -> None:
        """Put everything written so far on the disk: once a trial.

        Raises
        ------
        StoreError
            If there is no room, or the file is no longer where it was made.
        """
        try:
            self._file.flush()
            os.fdatasync(self._file.fileno())
            whole_file.check_there(self._file.fileno(), self._path)
        except OSError as error:
            raise self._lost(error) from error

    def close(self) -> None:
        """Close the file; what could not be written is told by the ``sync`` before it."""
        with contextlib.suppress(OSError):
            self._file.close()

    def _lost(self, error: OSError) -> StoreError:
        return StoreError(
            f"cannot write the journal {self._path}: {error.strerror}; "
            "all trials before the one in flight are kept",
            Typed("--resume   (after freeing some room)"),
        )


def files(folder: Path) -> list[Path]:
    """Return the journals of an experiment's folder, in order of session.

    Raises
    ------
    StoreError
        If they are somewhere else: where the folder has a link.
    """
    if (folder / "journal").is_symlink():
        raise StoreError(f"{folder / 'journal'} is a link, so what it leads to is not read")
    found = [path for path in (folder / "journal").glob("*.ndjson") if path.stem.isdecimal()]
    return sorted(found, key=lambda path: int(path.stem))


def read_all(folder: Path) -> Iterator[Line]:
    """Read the lines of every session, in order; see :func:`read`."""
    for path in files(folder):
        yield from read(path)


def read(path: Path) -> Iterator[Line]:
    """Read the journal of one session, finished, running or killed; see :func:`lines`."""
    return lines(path, _decoder)


def lines(path: Path, decoder: Decoder[T]) -> Iterator[T]:
    """Read a journal whose lines a decoder knows.

    A last line that was cut, as a ``kill -9`` leaves it, is no error: nothing after the last
    complete line was promised.

    Raises
    ------
    StoreError
        If the file cannot be read, is of another version, or holds what is no line of a
        journal; the message names the file and the line.
    """
    number = 0
    try:
        with whole_file.open_plain(path) as file:
            for number, text in enumerate(file, 1):
                if not text.endswith(b"\n"):
                    return
                if number == 1:
                    _check_first(text, path)
                yield decoder.decode(text)
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror}") from error
    except DecodeError as error:
        raise StoreError(
            f"line {number} of {path} is damaged: {error}",
            "restore the file from a copy; or, to do without what follows, delete that line "
            "and all after it",
        ) from error


def is_journal(data: bytes) -> bool:
    """Tell whether some bytes are whole lines of a journal."""
    try:
        _decoder.decode_lines(data)
    except DecodeError:
        return False
    return data.endswith(b"\n") or not data


class _First(msgspec.Struct):
    record: str
    version: int | None = None


def _check_first(text: bytes, path: Path) -> None:
    """Refuse a file that begins with no session, or one of another version."""
    first = decode(text, _First)
    if first.record != "session" or first.version is None:
        raise StoreError(f"line 1 of {path} is damaged: it is to begin with a session")
    if first.version != VERSION:
        raise StoreError(
            f"{path} was written by another tare (layout {first.version}, this one reads "
            f"{VERSION})",
            "open it with the tare that wrote it",
        )


_decoder = Decoder[Line](Line)
