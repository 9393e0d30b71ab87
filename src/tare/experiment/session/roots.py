"""The files of applications that a session's trials take place in: built once, before the first."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from tare import files, platforms, workloads
from tare.agent import record
from tare.errors import ExperimentError, Typed
from tare.experiment.journal import MachineFact
from tare.experiment.session import scratch_space
from tare.experiment.specification import Cell
from tare.render.words import text
from tare.results.message import Said
from tare.workloads import placeholders
from tare.workloads.application import DATA, Application

if TYPE_CHECKING:
    from tare.applications.image import Built, Lock

#: How a lock is called in the folder of results, one an application: ``ffmpeg.lock.json``.
LOCK = "lock.json"
#: How it is called in an application's own folder.
IMAGE_LOCK = f"image.{LOCK}"


class Roots:
    """Gives each cell the files in which its workload runs.

    Parameters
    ----------
    cells : iterable of Cell
        Of the plan.
    folder : Path
        Of the results, which keeps what images were made of.
    stage : callable
        Takes what goes on, as text.
    stack : ExitStack
        As long as it lasts, the files stay.
    user : User or None
        As whom commands prepare data; None: as who runs this.

    Raises
    ------
    PlatformError
        If an image cannot be built, or what it prepares fails.
    """

    def __init__(
        self,
        cells: Iterable[Cell],
        folder: Path,
        stage: Callable[[str], None],
        stack: ExitStack,
        user: record.User | None = None,
    ) -> None:
        self._roots: dict[int, platforms.Root] = {}
        #: Digests of the files that parameters name, each computed once.
        self._digests: dict[Path, str] = {}
        self.facts: list[MachineFact] = []
        cells = [cell for cell in cells if cell.workload.application is not None]
        if not cells:
            return
        # What builds images is not loaded where there are none.
        from tare.applications import image

        def told(said: Said) -> None:
            stage(text(said))

        images: dict[str, Built] = {}
        for cell in cells:
            application = cell.workload.application
            assert application is not None
            if application.digest not in images:
                lock = _lock(application)
                built = image.built(application, told, lock)
                stack.callback(built.close)
                if lock is not None and lock.digest != built.digest:
                    raise ExperimentError(
                        f"the image of {application.name} is not that of {IMAGE_LOCK}, though it "
                        "was made of the same packages",
                        Typed(
                            f"rm {shlex.quote(str(Path(application.folder, IMAGE_LOCK)))}   "
                            "(to measure it as it is)"
                        ),
                    )
                images[application.digest] = built
                self._keep(application.name, built, folder)
            built = images[application.digest]
            layers: tuple[tuple[str, str], ...] = ()
            if application.prepare:
                given = self._given(application, workloads.parameters(cell.workload, cell.levels()))
                commands = _commands(cell)
                data, _ = image.prepared(application, built, commands, told, user, given)
                layers = ((DATA, str(data)),)
            self._roots[cell.cell] = platforms.Root(
                path=str(built.path),
                digest=built.digest,
                layers=layers,
                disk_parent=self._disk_parent() if application.needs.disk else None,
            )

    def of(self, cell: Cell) -> platforms.Root | None:
        """Return what a cell's instances show in the place of this machine's files; None: those."""
        return self._roots.get(cell.cell)

    def data(self, cell: Cell) -> Path | None:
        """Return where what a cell's application prepared is on this machine."""
        root = self._roots.get(cell.cell)
        layers = {} if root is None else dict(root.layers)
        return Path(layers[DATA]) if DATA in layers else None

    def _disk_parent(self) -> str:
        """Return where instances have their folders on a disk; the disk is kept as a fact."""
        folder, file_system = scratch_space.for_instances()
        value = f"{folder} ({file_system})"
        fact = MachineFact(name="application_disk", value=value, source="image")
        if fact not in self.facts:
            self.facts.append(fact)
        return str(folder)

    def _given(
        self, application: Application, values: Mapping[str, str]
    ) -> dict[str, tuple[Path, str]]:
        """Return the files that parameters name with their digests, which are kept as facts."""
        from tare.applications.image import given_digest

        found = {one.name: Path(values[one.name]).expanduser().absolute()
                 for one in application.parameters if one.path and values[one.name]}  # fmt: skip
        for name, path in found.items():
            if path not in self._digests:
                self._digests[path] = given_digest(path)
            called = f"application_{application.name}_{name}_{path.name}"
            fact = MachineFact(name=called, value=self._digests[path], source="image")
            if fact not in self.facts:
                self.facts.append(fact)
        return {name: (path, self._digests[path]) for name, path in found.items()}

    def _keep(self, name: str, built: Built, folder: Path) -> None:
        """Keep what an image was made of, from which it can be built again."""
        self.facts.append(
            MachineFact(name=f"application_{name}_image", value=built.digest, source="image")
        )
        from tare.applications.image import format_

        data = format_(built.lock)
        files.write(folder / f"{name}.{LOCK}", data, "free some room, or choose another --out")


def _lock(application: Application) -> Lock | None:
    """Return what an application's image is to be made of, where its folder says so."""
    from tare.applications.image.lock import MOST_BYTES, parse

    path = Path(application.folder) / IMAGE_LOCK
    try:
        with files.open_plain(path) as file:
            return parse(file.read(MOST_BYTES + 1))
    except ExperimentError as error:
        raise ExperimentError(
            f"{path}: {error.message}", Typed(f"rm {shlex.quote(str(path))}")
        ) from error
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ExperimentError(f"cannot read {path}: {error.strerror}") from error


def _commands(cell: Cell) -> tuple[tuple[str, ...], ...]:
    """Return what prepares a cell's application, with its parameters in place."""
    assert cell.workload.application is not None
    given = workloads.parameters(cell.workload, cell.levels())
    return tuple(
        tuple(placeholders.fill(word, given) for word in command)
        for command in cell.workload.application.prepare
    )
