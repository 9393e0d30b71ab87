"""An experiment's folder: one session at a time writes to it, and begins it or goes on with it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from tare import files
from tare.errors import StoreError
from tare.experiment import plan_file
from tare.experiment.plan import Plan
from tare.experiment.session.resume_state import Past, past
from tare.experiment.store.collector import Collector

#: Locked where a file system cannot lock the folder itself: NFS locks what is open for writing.
LOCK = ".lock"


@contextlib.contextmanager
def held(folder: Path) -> Iterator[None]:
    """Make a folder where there is none, and keep other sessions from writing to it meanwhile.

    The kernel lets go of the lock however the process ends.

    Raises
    ------
    StoreError
        If another session writes to it, or it cannot be made.
    """
    with contextlib.ExitStack() as opened:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            files.check_owner(folder)
            here = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            opened.callback(os.close, here)
            if not files.lock(here, folder):
                file = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o666)
                opened.callback(os.close, file)
                files.lock(file, folder)
        except OSError as error:
            raise StoreError(
                f"cannot write to {folder}: {error.strerror}", "choose another --out"
            ) from error
        yield


def has_begun(folder: Path) -> bool:
    """Tell whether a folder holds an experiment, however little of it."""
    return (folder / plan_file.FILE).exists()


def begin(made: Plan, text: str | None, folder: Path, *, resume: bool = False) -> None:
    """Write down what is to be measured.

    Parameters
    ----------
    made : Plan
        Its cells.
    text : str or None
        The experiment's file, where there is one.
    folder : Path
        Held, and without an experiment.
    resume : bool
        Somebody says that it was begun before: what may be left of that is in order.

    Raises
    ------
    StoreError
        If the folder holds something else, or cannot be written.
    """
    check_free(folder, resume=resume)
    plan_file.write(made, folder)
    write_text(text, folder)


def check_free(folder: Path, *, resume: bool = False) -> None:
    """Look that a folder holds nothing but what is left of a beginning; raises StoreError."""
    try:
        found = sorted(path.name for path in folder.iterdir() if not _of_beginning(path))
        # Without a plan, a file of the experiment may be the one that the user wrote.
        if found and not (resume and found == [plan_file.TEXT]):
            raise StoreError(
                f"{folder} is not empty ({found[0]}) and holds no experiment, so nothing was "
                "measured",
                "choose another --out",
            )
    except OSError as error:
        raise StoreError(
            f"cannot write to {folder}: {error.strerror}", "choose another --out"
        ) from error


def write_text(text: str | None, folder: Path) -> None:
    """Keep the experiment's file as it is now; raises StoreError."""
    if text is not None:
        hint = "free some room, or choose another --out"
        files.write(folder / plan_file.TEXT, text.encode(), hint)


def _of_beginning(path: Path) -> bool:
    """Tell whether a session that was killed before it had a plan leaves such a thing."""
    fresh = (f".{plan_file.FILE}.", f".{plan_file.TEXT}.")
    return path.name == LOCK or path.name.startswith(fresh)


def go_on(made: Plan, text: str | None, folder: Path) -> tuple[Past, Collector, bool]:
    """Write down the plan to go on with; return what earlier sessions did, and if that is all.

    Raises
    ------
    ExperimentError
        If the folder holds another experiment.
    StoreError
        If the folder cannot be read or written.
    """
    stored = plan_file.read(folder)
    done, collector = begun(made, text, folder)
    plan_file.write(collector.plan, folder)
    write_text(text, folder)
    return done, collector, done.is_complete(collector.plan, stored.experiment.stopping)


def begun(made: Plan, text: str | None, folder: Path) -> tuple[Past, Collector]:
    """Return what earlier sessions did, with the plan to go on with; writes nothing.

    Raises
    ------
    ExperimentError
        If the folder holds another experiment.
    StoreError
        If it cannot be read.
    """
    before = plan_file.text(folder)
    was = None if before is None else before.decode(errors="replace")
    made = plan_file.resume(made, plan_file.read(folder), (was, text))
    collector = Collector(folder, made)
    done = past(collector.lines(), made)
    if made.experiment.stopping.compare is not None:
        done.values = collector.values(made.metric)
    return done, collector
