"""Programs that make images: they and all that they start end with tare, however it ends."""

from __future__ import annotations

import errno
import os
import pwd
import shutil
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tare.agent import client, record
from tare.errors import PlatformError, Typed
from tare.host import programs

#: Of what a program wrote, for an error.
LAST_LINES = 6
#: How often, and after how long, it is tried again to remove what is still written to.
REMOVE_ROUNDS, REMOVE_S = 50, 0.1


def contained(
    argv: Sequence[str],
    *,
    mapped: bool = False,
    user: record.User | None = None,
    networked: bool = True,
) -> list[str]:
    """Put before a command what ends it and its descendants with this process.

    Parameters
    ----------
    argv : sequence of str
        The command.
    mapped : bool
        As an ordinary user: make it root of a namespace with the user's subordinate users.
    user : User, optional
        As whom it is started, by :func:`identity`; None: as this process.
    networked : bool
        Whether it has the machine's network, or none but a loopback.
    """
    if not networked:
        # The rights to bring the loopback up are not the command's.
        rights = [str(programs.find("setpriv", "util-linux")), "--ambient-caps=-all"]
        argv = [str(client.binary()), "enter", "--loopback", "--", *rights, "--", *argv]
    users: list[str] = []
    if mapped:
        _check_subordinates()
    if os.geteuid() != 0 or user is not None:
        users = [
            "--user",
            *(["--map-root-user", "--map-auto"] if mapped else ["--map-current-user"]),
            *([] if networked else ["--keep-caps"]),
        ]
    return [
        *ending(),
        *(str(programs.find("unshare", "util-linux")), *users),
        *([] if networked else ["--net"]),
        *("--mount", "--pid", "--fork", "--kill-child", "--", *argv),
    ]  # fmt: skip


def _check_subordinates() -> None:
    """Look that an ordinary user has users to be those of an image."""
    if os.geteuid() == 0:
        return
    programs.find("newuidmap", "uidmap")
    name = pwd.getpwuid(os.geteuid()).pw_name
    for path in (Path("/etc/subuid"), Path("/etc/subgid")):
        lines = path.read_text().splitlines() if path.exists() else []
        if not any(line.partition(":")[0] in (name, str(os.geteuid())) for line in lines):
            raise PlatformError(
                f"{name} has no subordinate users in {path}, as whom packages are unpacked",
                Typed(
                    f"sudo usermod --add-subuids 100000-165535 --add-subgids 100000-165535 {name}"
                ),
            )


def identity(user: record.User | None) -> dict[str, Any]:
    """Return as whom a process is to be started, for ``subprocess``; None: as this one."""
    if user is None:
        return {}
    return {"user": user.uid, "group": user.gid, "extra_groups": user.groups}


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
            f"{Path(argv[0]).name} {argv[1]} failed (exit code {done.returncode}):\n"
            f"{last_lines(done.stderr or done.stdout)}"
        )
    return done.stdout


def remove(path: Path) -> None:
    """Remove a directory, also one with files of the user's subordinate users.

    Raises
    ------
    OSError
        If it cannot be removed.
    """
    for last in [False] * REMOVE_ROUNDS + [True]:
        try:
            shutil.rmtree(path)
        except FileNotFoundError:
            pass
        except PermissionError:
            argv = contained(["rm", "-rf", "--", str(path)], mapped=True)
            subprocess.run(argv, capture_output=True, check=False)
        except OSError:
            if last:
                raise
        if not path.exists():
            return
        # Who was writing there has been killed, and takes a moment to end.
        time.sleep(REMOVE_S)
    raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
