"""systemd's scopes: a control group of its own for an instance, for ordinary users as well."""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import cache
from pathlib import Path

from tare.platforms.layer import Place

#: The period that systemd sets by itself; versions before 242 know no other.
PERIOD_US = 100_000
#: There while systemd is this machine's first process.
RUNNING = Path("/run/systemd/system")

#: A controller that was not handed on to users limits nothing, and systemd does not say so.
CHECK = """\
group=/sys/fs/cgroup$(sed -n 's/^0:://p' /proc/self/cgroup)
for file in $1; do
  test -e "$group/$file" || { echo "tare: systemd hands no $file to this user" >&2; exit 3; }
done
shift
exec "$@"
"""


@cache
def works() -> bool:
    """Whether systemd makes a scope for this user; tried once."""
    if not RUNNING.exists() or shutil.which("systemd-run") is None:
        return False
    try:
        done = subprocess.run(
            [*_command(), "-p", "Delegate=yes", "--", "true"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=10,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def wrap(argv: list[str], place: Place) -> list[str]:
    """Return a command that starts another in a scope with the place's name and limits."""
    properties = ["Delegate=yes"]
    files: list[str] = []
    if place.cores is not None:
        # It reads hundredths of a percent, and no more.
        properties.append(f"CPUQuota={round(place.cores * 100, 2):.10g}%")
        if place.period_us != PERIOD_US:
            properties.append(f"CPUQuotaPeriodSec={place.period_us}us")
        files.append("cpu.max")
    if place.memory_bytes is not None:
        properties += [f"MemoryMax={place.memory_bytes}", "MemorySwapMax=0"]
        files.append("memory.max")
    if files and os.geteuid() != 0:
        argv = ["/bin/sh", "-c", CHECK, "tare", " ".join(files), *argv]
    options = [word for one in properties for word in ("-p", one)]
    return [*_command(), f"--unit={place.name}", *options, "--", *argv]


def _command() -> list[str]:
    user = [] if os.geteuid() == 0 else ["--user"]
    return ["systemd-run", *user, "--scope", "--quiet", "--collect"]
