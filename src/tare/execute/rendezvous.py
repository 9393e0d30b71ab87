"""The file of shared memory in which workers of all instances meet, and its folder."""

from __future__ import annotations

import shutil
from pathlib import Path

#: Bytes of the file; the agent lays it out.
SIZE = 4096


class Shared:
    """A folder in memory that every platform shows to its agent.

    Parameters
    ----------
    folder : Path
        Made here, removed by ``close``.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        # Agents inside containers and sandboxes may be other users.
        folder.mkdir(mode=0o777)
        folder.chmod(0o777)
        self.output = folder / "output"
        self.output.mkdir()
        self.output.chmod(0o777)

    def rendezvous(self, trial: int) -> str:
        """Make the file for a trial anew, zeroed, and return its name in the folder."""
        name = f"rendezvous-{trial}"
        path = self.folder / name
        path.write_bytes(bytes(SIZE))
        path.chmod(0o666)
        return name

    def forget(self, name: str) -> None:
        """Remove the file of a trial that is over."""
        (self.folder / name).unlink(missing_ok=True)

    def keep_output(self, destination: Path) -> None:
        """Move what commands said in a trial to the experiment's folder."""
        for path in self.output.iterdir():
            destination.mkdir(exist_ok=True)
            shutil.move(path, destination / path.name)

    def close(self) -> None:
        """Remove everything."""
        shutil.rmtree(self.folder, ignore_errors=True)
