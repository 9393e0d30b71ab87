"""Expected outputs are hidden from the programs under test, where their platform can hide files.

Sandboxes show copies of the inputs in place of folders in which expected outputs lie. A layer that
shows this machine's files in a mount namespace has an empty file in place of each expected output.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterable, Sequence
from pathlib import Path

from tare import files, platforms
from tare.agent import record
from tare.errors import PlatformError
from tare.experiment.session import needed
from tare.experiment.specification import Cell
from tare.features.tasks.specification import Task

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


def write_list(tasks: Sequence[Task], shared: Path) -> str | None:
    """List the expected outputs for layers that hide them; None: there are none."""
    expected = dict.fromkeys(task.expected for task in tasks if task.expected is not None)
    if not expected:
        return None
    path = shared / HIDDEN
    path.write_text("".join(f"{file}\n" for file in expected))
    return str(path)


def readable(
    cells: Sequence[Cell], tasks: Sequence[Task], user: record.User | None
) -> tuple[str, ...]:
    """Return the platforms on which programs can read expected outputs.

    Parameters
    ----------
    cells : sequence of Cell
        Of the plan.
    tasks : sequence of Task
        Of the set.
    user : User or None
        As whom programs run; None: as who runs this.
    """
    expected = [Path(task.expected) for task in tasks if task.expected is not None]
    if not expected:
        return ()
    as_shown = not copied(cells, tasks) and _beside(tasks)
    folders = {path.parent for path in expected}
    machines = any(not platforms.shares_memory(cell.platform) for cell in cells)
    # Programs, and for machines each input, are named to sandboxes as single files.
    named = [*needed(cells, os.environ), *(task.input for task in tasks if machines)]
    named_beside = any(Path(file).parent in folders for file in named)
    open_to_user = any(_can_read(path, user) for path in expected)

    def reads(platform: str) -> bool:
        layers = platforms.layers(platform)
        if platforms.own_files(platform):
            shown = named_beside and any(layer.shows_folders for layer in layers)
            return shows_inputs(platform) and (as_shown or shown)
        return open_to_user and not any(layer.hides for layer in layers)

    return tuple(one for one in dict.fromkeys(c.platform for c in cells) if reads(one))


def _beside(tasks: Sequence[Task]) -> bool:
    """Tell whether a folder of inputs holds expected outputs as well."""
    folders = {Path(task.input).parent for task in tasks}
    return any(task.expected and Path(task.expected).parent in folders for task in tasks)


def _can_read(path: Path, user: record.User | None) -> bool:
    if user is None:
        return os.access(path, os.R_OK)
    about = path.stat()
    if user.uid in (0, about.st_uid):
        return True
    own = about.st_gid in (user.gid, *user.groups)
    return bool(about.st_mode & (stat.S_IRGRP if own else stat.S_IROTH))
