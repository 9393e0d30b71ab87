"""Who called sudo; and users of sandboxes whom this machine does not know.

Those make root of a sandbox nobody here.

Where root runs a sandbox, root in it would otherwise be root to the kernel: files, sockets and
pipes of root's that the sandbox shows, and keys of root's, would be in reach.
"""

from __future__ import annotations

import os
import pwd
import zlib
from pathlib import Path

from tare.agent import record
from tare.errors import ExperimentError, Typed
from tare.platforms.layer import View

#: As many as a distribution has for itself.
COUNT = 65_536
#: Where there are hardly accounts: far above them, and below what programs take for negative.
FIRST, LAST = 0x4000_0000, 0x6FFF_0000
OWN = Path("/proc/self/uid_map")


def calling_user() -> record.User | None:
    """Return who called sudo, so that measured commands run as that user, not as root."""
    if os.geteuid() != 0 or "SUDO_UID" not in os.environ:
        return None
    try:
        uid, gid = int(os.environ["SUDO_UID"]), int(os.environ["SUDO_GID"])
    except (ValueError, KeyError) as error:
        raise ExperimentError(
            "SUDO_UID and SUDO_GID do not say who called sudo, so it is not known whom the command "
            "is to run as",
            Typed("--as-root   (or unset SUDO_UID)"),
        ) from error
    if uid == 0:
        return None
    try:
        groups = os.getgrouplist(pwd.getpwuid(uid).pw_name, gid)
    except KeyError:
        groups = [gid]
    return record.User(uid=uid, gid=gid, groups=tuple(groups))


def base(outer: View, name: str) -> int | None:
    """Return whom this machine takes for a sandbox's root.

    Parameters
    ----------
    outer : View
        Where the sandbox stands.
    name : str
        Of what has these users for itself; the same name has the same.

    Returns
    -------
    int or None
        Another ``COUNT - 1`` users follow. None: it is who starts it, for nobody there is root of
        this machine.
    """
    if not outer.host_files or os.geteuid() != 0 or not _has_all():
        return None
    places = (LAST - FIRST) // COUNT
    first = zlib.crc32(name.encode()) % places
    return next(
        user
        for user in (FIRST + (first + i) % places * COUNT for i in range(places))
        if not _is_known(user)
    )


def is_of_sandbox(user: int) -> bool:
    """Tell whether this process gives a user to its sandboxes, whose things are then its own."""
    return os.geteuid() == 0 and FIRST <= user < LAST + COUNT and not _is_known(user)


def _has_all() -> bool:
    """Tell whether root here is root of the machine, who can give away all of its users."""
    for line in OWN.read_text().splitlines():
        inside, outside, count = map(int, line.split())
        if inside == outside == 0 and count > LAST:
            return True
    return False


def _is_known(user: int) -> bool:
    try:
        pwd.getpwuid(user)
    except KeyError:
        return False
    return True
