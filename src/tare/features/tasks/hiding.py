"""Expected outputs are hidden from the programs under test, where their platform can hide files.

Sandboxes show copies of the inputs in place of folders in which expected outputs lie. A layer that
shows this machine's files in a mount namespace has an empty file in place of each expected output.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from tare import files, platforms
from tare.agent import record
from tare.errors import ExperimentError, PlatformError
from tare.experiment.session import needed
from tare.experiment.specification import Cell
from tare.features.tasks.specification import Task
from tare.platforms.root import SYSTEM

#: Copies are in memory, so larger sets are shown as they lie.
MOST_COPIED_BYTES = 256 << 20
INPUTS, HIDDEN = "inputs", "hidden"


def shows_inputs(platform: str) -> bool:
    """Tell whether a platform is a sandbox that is shown the folders of inputs."""
    return platforms.own_files(platform) and platforms.shares_memory(platform)


def copied(cells: Iterable[Cell], tasks: Sequence[Task]) -> bool:
    """Tell whether sandboxes are shown copies of the inputs, since their folders hold answers."""
    if not _beside(tasks) or not any(shows_inputs(cell.platform) for cell in cells):
        return False
    return sum(Path(task.input).stat().st_size for task in tasks) <= MOST_COPIED_BYTES


def copy(tasks: Sequence[Task], shared: Path) -> dict[str, str]:
    """Copy inputs into what instances are shown; return the path of each copy by that of its input.

    Owner and mode are those of the input: a link may lead to what its user cannot read.

    Raises
    ------
    PlatformError
        If one cannot be read, or there is no room.
    """
    found = {}
    try:
        (shared / INPUTS).mkdir(mode=0o755)
        for number, task in enumerate(tasks):
            # Files of several folders may be called the same.
            folder = shared / INPUTS / str(number)
            folder.mkdir(mode=0o755)
            path = folder / Path(task.input).name
            with files.open_plain(Path(task.input), links=True) as source:
                about = os.fstat(source.fileno())
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
                with os.fdopen(os.open(path, flags, 0o600), "wb") as target:
                    shutil.copyfileobj(source, target)
                    if os.geteuid() == 0:
                        os.fchown(target.fileno(), about.st_uid, about.st_gid)
                    os.fchmod(target.fileno(), stat.S_IMODE(about.st_mode) & 0o555)
            found[task.input] = str(path)
    except OSError as error:
        raise PlatformError(
            f"cannot copy {error.filename or task.input} for sandboxes: {error.strerror}",
            "keep expected outputs in another folder, then inputs are not copied",
        ) from error
    return found


def write_list(
    tasks: Sequence[Task], shared: Path, results: Path, user: record.User | None
) -> str | None:
    """List files that tell what is expected, for layers that hide them; None: there are none.

    These are the expected outputs and, for the first difference of each wrong output, all results:
    a device, an inode and a path each. What the user of programs cannot read needs no hiding, and
    a layer with that user's rights could not do it.
    """
    expected = _expected(tasks)
    if not expected:
        return None
    files = [*expected, *(path for path in results.absolute().rglob("*") if path.is_file())]
    lines = []
    for file in files:
        if not _can_read(file, user):
            continue
        # A link, or a name that a program gives to another file, is not what is to be hidden.
        real = Path(os.path.realpath(file))
        about = real.stat()
        if str(real).isprintable():
            lines.append(f"{about.st_dev} {about.st_ino} {real}\n")
    path = shared / HIDDEN
    path.write_text("".join(lines))
    return str(path)


@contextmanager
def private(results: Path, tasks: Sequence[Task]) -> Iterator[None]:
    """Keep what is in a folder of results from other users while programs run.

    Under sudo programs are another user's, who would read what is expected in the plan and journal.
    They may put other files in its place, so modes are put back by descriptors.
    """
    with ExitStack() as kept:
        if _expected(tasks):
            flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
            with suppress(OSError):
                folder = os.open(results, flags)
                kept.callback(os.close, folder)
                for name in os.listdir(folder):  # noqa: PTH208
                    with suppress(OSError):
                        _keep_private(name, folder, kept)
        yield


def _keep_private(name: str, folder: int, kept: ExitStack) -> None:
    """Take a file or folder of this user's from others, until the end."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    found = os.open(name, flags, dir_fd=folder)
    kept.callback(os.close, found)
    about = os.fstat(found)
    is_folder = stat.S_ISDIR(about.st_mode)
    # A file with another name may be any file of root's.
    if about.st_uid == os.geteuid() and (is_folder or about.st_nlink == 1):
        mode = stat.S_IMODE(about.st_mode)
        os.fchmod(found, mode & 0o700)
        kept.callback(os.fchmod, found, mode)


def check_links(tasks: Iterable[Task], user: record.User | None) -> None:
    """Refuse links to files that the user who called sudo cannot read.

    Root's own files may be expected outputs, but a link can lead to any file, and its words into
    the results.

    Raises
    ------
    ExperimentError
        If there is one.
    """
    for path in [] if user is None else _expected(tasks):
        if _real(path) != path and not _can_read(path, user):
            raise ExperimentError(
                f"{path} leads to {_real(path)}, which this user may not read",
                f"copy that file to {path}, or run it as root",
            )


def readable(
    cells: Sequence[Cell],
    tasks: Sequence[Task],
    options: Mapping[str, Mapping[str, Any]],
    user: record.User | None,
) -> tuple[str, ...]:
    """Return the platforms on which programs can read expected outputs.

    Parameters
    ----------
    cells : sequence of Cell
        Of the plan.
    tasks : sequence of Task
        Of the set.
    options : mapping
        Of layers by the layer's name.
    user : User or None
        As whom programs run; None: as who runs this.
    """
    expected = _expected(tasks)
    open_to_user = any(_can_read(path, user) for path in expected)
    # Sandboxes get programs, and virtual machines each input, as single files.
    machines = any(not platforms.shares_memory(cell.platform) for cell in cells)
    named = [*needed(cells, os.environ), *(task.input for task in tasks if machines)]
    inputs = (
        set() if copied(cells, tasks) or machines else {Path(task.input).parent for task in tasks}
    )

    def shown(platform: str) -> Iterator[Path]:
        """Yield the folders and files of this machine that a sandbox shows."""
        yield from inputs
        for layer in platforms.layers(platform):
            given = options.get(layer.description.name, {})
            if layer.brings_files and given.get("image") is None:
                yield from (Path("/", name) for name in SYSTEM)
            if layer.shows_folders:
                yield from (Path(file).parent for file in named)
            yield from map(Path, str(given.get("show") or "").split())
            yield from map(Path, filter(None, [given.get("root")]))

    def reads(platform: str) -> bool:
        if platforms.own_files(platform):
            return shows_inputs(platform) and _within(expected, shown(platform))
        return open_to_user and not any(layer.hides for layer in platforms.layers(platform))

    return tuple(one for one in dict.fromkeys(c.platform for c in cells) if reads(one))


def _expected(tasks: Iterable[Task]) -> list[Path]:
    return list(dict.fromkeys(Path(task.expected) for task in tasks if task.expected is not None))


def _beside(tasks: Sequence[Task]) -> bool:
    """Tell whether expected outputs are in a folder of inputs, or below it."""
    return _within(_expected(tasks), {Path(task.input).parent for task in tasks})


def _within(files: Iterable[Path], folders: Iterable[Path]) -> bool:
    """Tell whether one of some files is in one of some folders, or below it, by whatever links."""
    real = set(map(_real, folders))
    return any(not real.isdisjoint([path, *path.parents]) for path in map(_real, files))


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _can_read(path: Path, user: record.User | None) -> bool:
    if user is None:
        return os.access(path, os.R_OK)
    # Its owner may change the mode.
    return path.stat().st_uid == user.uid or files.can_read(
        path, user.uid, [user.gid, *user.groups]
    )
