"""A session's journal, from its first line to its last: what is found, noted and started."""

from __future__ import annotations

import datetime
import errno
import os
import secrets
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import msgspec

from tare import files
from tare.agent import client
from tare.errors import CutShortError, StoreError
from tare.experiment import journal, machine_facts, plan, remnants
from tare.experiment.session.pool import InstanceLine
from tare.host import lease
from tare.render.words import sentence, text
from tare.results.message import Message, message
from tare.version import __version__

if TYPE_CHECKING:
    from tare.experiment.store.collector import Collector


class Notes(Protocol):
    """Progress display that shows notes."""

    def note(self, message: str) -> None:
        """Show a note about the results."""


@dataclass
class RecordedSession:
    """A session, of trials or of a task set, that is written to a journal."""

    #: Prefix of the names of all that it makes on the machine.
    name: str
    nonce: int
    writer: journal.Writer
    progress: Notes
    #: Why it ended.
    reason: str = "failed"
    #: Whether something will run on bare, so that it will be known whether it has a control group.
    awaits_bare: bool = False
    #: Whether it is known if the bare machine has a control group for its runs.
    _cgroup_known: bool = False
    #: What missing rights cost, and a command that gives some of them, until they are shown.
    _limits: list[Message] = field(default_factory=list)
    _remedy: str | None = None

    def note(self, said: Message) -> None:
        """Write down what is to be known of the figures, and show it."""
        note = sentence(said)
        self.writer.write(journal.Note(message=note))
        self.progress.note(note)

    def limit(self, said: Message, short: Message, remedy: str | None = None) -> None:
        """Write down what a missing right costs; all of them are shown in one line.

        Parameters
        ----------
        said : Message
            With the reason, for the result.
        short : Message
            Without it, for the line.
        remedy : str, optional
            A command that gives the right.
        """
        self.writer.write(journal.Note(message=sentence(said)))
        self._limits.append(short)
        self._remedy = self._remedy or remedy

    def _show_limits(self) -> None:
        if not self._limits or (self.awaits_bare and not self._cgroup_known):
            return
        limited = message(
            "limited{% if not root %} without root{% endif %}: {limits | join('; ')}; try: "
            "{remedy}",
            root=os.geteuid() == 0,
            limits=[*self._limits],
            remedy=self._remedy or "tare doctor",
        )
        self._limits.clear()
        # A command at its end is copied, so it has no full stop.
        self.progress.note(text(limited))

    def keep(self, lines: Sequence[InstanceLine]) -> None:
        """Write down what instances report; note what is limited once, and emulations."""
        self.writer.write(*lines)
        for fact in lines:
            if not isinstance(fact, journal.MachineFact):
                continue
            if (fact.name, fact.platform) == ("cgroup", "bare") and not self._cgroup_known:
                self._cgroup_known = True
                if str(fact.value).startswith("none"):
                    self.limit(
                        message(
                            "CPU time and memory are from rusage, which counts processes that "
                            "have ended; no control group can be made: {why}",
                            why=str(fact.value),
                        ),
                        message("CPU time and memory are those of processes that have ended"),
                    )
            if fact.name == "emulated" and fact.value is True:
                self.note(
                    message(
                        "{platform} is EMULATED: such times do not hold on hardware, and no "
                        "overhead is derived from them",
                        platform=fact.platform,
                    )
                )
        self._show_limits()


@contextmanager
def recorded(
    results: Path, progress: Notes, *lines: msgspec.Struct, collector: Collector | None = None
) -> Iterator[RecordedSession]:
    """Hold a lease, and write the next journal of a folder from its first line to its last.

    Parameters
    ----------
    results : Path
        Held by this process.
    progress : Notes
        Shows notes.
    lines : Line
        What is known before anything is started.
    collector : Collector, optional
        Of what the folder holds; it is given all lines.

    Raises
    ------
    StoreError
        If the journal cannot be written.
    """
    name = lease.new_name()
    with ExitStack() as stack:
        stack.enter_context(remnants.lease(name))
        path = journal_path(results)
        writer = journal.Writer(path, None if collector is None else collector.session(path))
        stack.callback(writer.close)
        session = RecordedSession(name, secrets.randbits(24), writer, progress)
        writer.write(_opening(path, name, session.nonce), *lines)
        writer.sync()
        try:
            yield session
        except (KeyboardInterrupt, CutShortError, GeneratorExit):
            session.reason = "interrupted"
            raise
        finally:
            writer.write(journal.SessionEnd(ended=_now(), reason=session.reason))
            writer.sync()


def journal_path(results: Path) -> Path:
    """Return where the next journal in a folder of results is to be written.

    Raises
    ------
    StoreError
        If there can be none.
    """
    folder = results / "journal"
    try:
        folder.mkdir(exist_ok=True)
        if folder.is_symlink():
            raise NotADirectoryError(errno.ENOTDIR, "it is a link")
        files.sync_folder(results)
    except OSError as error:
        raise StoreError(f"cannot write to {folder}: {error.strerror}") from error
    # A session that was killed at once has left a file, though perhaps not a line.
    number = max((int(path.stem) for path in journal.files(results)), default=0) + 1
    return folder / f"{number}.ndjson"


def _opening(path: Path, name: str, nonce: int) -> journal.Session:
    """Return the first line of a journal."""
    return journal.Session(
        version=plan.VERSION,
        session=int(path.stem),
        name=name,
        nonce=nonce,
        boot_id=machine_facts.boot_id(),
        started=_now(),
        tare=__version__,
        agent_digest=client.digest(),
        argv=tuple(sys.argv),
    )


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
