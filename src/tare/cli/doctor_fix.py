"""``tare doctor --fix``: hold settings while a command runs, for a time, or until Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from typing import Any

import msgspec

from tare.cli import output
from tare.errors import ExperimentError, PlatformError
from tare.settings import Held, units
from tare.settings import hold as held_settings
from tare.settings.isolation import inside

#: How long a command that is told to end may take.
END_S = 5.0


def hold(
    asked: str, command: list[str], *, hold_for: str | None, as_root: bool, json: str | None
) -> int:
    """Hold what was asked for, tell it, and return the exit code of the command, if there is one.

    Raises
    ------
    TareError
        If a setting that was named cannot be had; of ``all`` what cannot be is told and left out.
    """
    from tare.cli.doctor import seconds

    if command and hold_for is not None:
        raise ExperimentError(
            "--for and a command are two ends of one lease", "leave one of them out"
        )
    limit_s = None if hold_for is None else seconds(hold_for, "--for")
    wanted = _wanted(asked)
    with held_settings(wanted, tolerant=asked == "all") as held:
        if held.left_out and not held.changes:
            first = held.left_out[0]
            hint = first.hint and first.hint.replace(f"--fix {first.setting}", f"--fix {asked}")
            raise PlatformError(first.why, hint)
        _tell(held, json)
        if command:
            with inside(held.name):
                process = _start(command, as_root=as_root)
            return _wait(process)
        if held.changes:
            _stay(limit_s)
    if json != "-":
        output.out.print("Put back to what it was.")
    return 0


def _wanted(asked: str) -> dict[str, str]:
    """Return value by setting: of ``all`` what the checks would change."""
    if asked == "all":
        from tare import doctor

        return doctor.examine(doctor.look(watch_s=0)).fixes()
    known = units()
    found: dict[str, str] = {}
    name = ""
    for part in asked.split(","):
        name_here, equals, value = part.strip().partition("=")
        if not equals and name and part.strip().replace("-", "").isdigit():
            found[name] += f",{part.strip()}"  # of a list of CPUs
            continue
        name = name_here
        if name not in known:
            raise ExperimentError(
                f"there is no setting {name!r}", f"there are: {', '.join(known)}, and all"
            )
        found[name] = value if equals else known[name].wanted
    return found


def _tell(held: Held, json: str | None) -> None:
    if json is not None:
        output.write_json({"version": 1, **msgspec.to_builtins(held)}, json)
        if json == "-":
            return
    for change in held.changes:
        was = (
            f"{change.was} → {change.now}"
            if change.was != change.now
            else f"{change.now} as it was"
        )
        output.err.print(f"Holding {change.setting}: {was}")
    for left in held.left_out:
        output.err.print(f"Left out {left.setting}: {left.why}")
        if left.hint:
            output.err.print(f"  try: {left.hint}")
    if not held.changes:
        output.err.print("Nothing is to be changed.")


def _stay(limit_s: float | None) -> None:
    until = "" if limit_s is None else f"for {output.seconds(limit_s)}, or "
    try:
        output.err.print(
            f"Held {until}until Ctrl-C or `kill {os.getpid()}`; then everything is put back."
        )
        if limit_s is None:
            while True:
                signal.pause()
        time.sleep(limit_s)
    except KeyboardInterrupt:
        return  # that is how it was to end


def _start(command: list[str], *, as_root: bool) -> subprocess.Popen[bytes]:
    """Start the command, as whoever called sudo."""
    from tare.conclude import calling_user

    user = None if as_root else calling_user()
    options: dict[str, Any] = {}
    if user is not None:
        options = {"user": user.uid, "group": user.gid, "extra_groups": list(user.groups)}
    try:
        return subprocess.Popen(command, **options)
    except OSError as error:
        raise ExperimentError(f"cannot start {command[0]}: {error.strerror}") from error


def _wait(process: subprocess.Popen[bytes]) -> int:
    """Wait for its end; an interrupted terminal has told it as well, a signal to tare has not."""
    try:
        code = process.wait()
    except KeyboardInterrupt:
        process.terminate()
        try:
            code = process.wait(END_S)
        except subprocess.TimeoutExpired:
            process.kill()
            code = process.wait()
    # As a shell tells it.
    return 128 - code if code < 0 else code
