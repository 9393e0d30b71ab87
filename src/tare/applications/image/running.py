"""Programs that make images: they and all that they start end with tare, however it ends."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tare.errors import PlatformError
from tare.platforms import programs

#: What programs are given of the environment beside where the user's settings are.
LAST_LINES = 6


def contained(argv: Sequence[str], *, mapped: bool = False) -> list[str]:
    """Put before a command what ends it and its descendants with this process.

    Parameters
    ----------
    argv : sequence of str
        The command.
    mapped : bool
        As an ordinary user: make it root of a namespace with the user's subordinate users.
    """
    users: list[str] = []
    if os.geteuid() != 0:
        users = [
            "--user",
            *(["--map-root-user", "--map-auto"] if mapped else ["--map-current-user"]),
        ]
    return [
        *ending(),
        *(str(programs.find("unshare", "util-linux")), *users),
        *("--mount", "--pid", "--fork", "--kill-child", "--", *argv),
    ]  # fmt: skip


def ending() -> list[str]:
    """Return what is put before a command that is to end with this process."""
    return [str(programs.find("setpriv", "util-linux")), "--pdeathsig", "KILL", "--"]


def last_lines(output: str) -> str:
    """Return the end of what a program wrote, for an error."""
    lines = [line.strip() for line in output.strip().splitlines() if line.strip()]
    return "\n".join(lines[-LAST_LINES:]) or "it wrote nothing"


def run(argv: Sequence[str], timeout_s: float, folder: Path | None = None) -> str:
    """Run a program to its end, and return its standard output.

    Raises
    ------
    PlatformError
        If it fails, or takes too long.
    """
    try:
        done = subprocess.run(
            [*ending(), *argv], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True,
            text=True, errors="replace", timeout=timeout_s, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise PlatformError(f"{argv[0]} took more than {timeout_s:g} s") from error
    if done.returncode:
        raise PlatformError(
            f"{' '.join(argv)} failed (exit code {done.returncode}):\n"
            f"{last_lines(done.stderr or done.stdout)}"
        )
    return done.stdout


def remove(path: Path) -> None:
    """Remove a directory, also one with files of the user's subordinate users."""
    if not path.exists():
        return
    try:
        shutil.rmtree(path)
    except PermissionError:
        subprocess.run(
            contained(["rm", "-rf", "--", str(path)], mapped=True), capture_output=True, check=False
        )
        if path.exists():
            raise
