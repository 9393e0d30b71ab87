"""``tare doctor --fix``: hold settings while a command runs, or for a time at most."""

from __future__ import annotations

import contextlib
import difflib
import os
import shlex
import subprocess
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tare.cli import console
from tare.cli.delivery import deliver
from tare.errors import ExperimentError, PlatformError, Typed, advice
from tare.host.settings import Held, units
from tare.host.settings import hold as held_settings
from tare.host.settings.isolation import inside
from tare.host.settings.setting import NeedsRootError
from tare.render.words import sentence
from tare.results.message import Duration, message
from tare.results.report import Entry, Report

if TYPE_CHECKING:
    from tare.features.machine.doctor.options import DoctorOptions

#: Seconds after which settings are restored where neither a command nor a time is given; a
#: forgotten setting must not last until the next day.
HOLD_S = 3600.0
#: Seconds that a command may take to end after its signal.
END_S = 5.0


def hold(asked: str, given: DoctorOptions) -> int:
    """Hold settings, report them on standard error, and return the command's exit code, or 0.

    Standard output is the command's own.

    Raises
    ------
    TareError
        If a setting that was named cannot be changed; of ``all`` such settings are left out.
    """
    if given.command and given.duration is not None:
        raise ExperimentError(
            "--duration and a command are two ends of one lease", "leave one of them out"
        )
    limit_s = given.duration or HOLD_S
    wanted = _wanted(asked)
    with _as_typed(), held_settings(wanted, tolerant=asked == "all") as held:
        if held.left_out and not held.changes:
            first = held.left_out[0]
            kind = NeedsRootError if first.needs_root else PlatformError
            raise kind(first.why, first.hint)
        if given.command:
            deliver(_report(held, None), {"json": given.json}, to=console.err)
            with inside(held.name):
                process = _start(given.command, as_root=given.as_root)
            return _wait(process)
        lasts_s = limit_s if held.changes else None
        # Ctrl-C is one of the ways to end the lease.
        with contextlib.suppress(KeyboardInterrupt):
            deliver(_report(held, lasts_s), {"json": given.json}, to=console.err)
            if lasts_s is None:
                return 0
            time.sleep(lasts_s)
    console.err.print(sentence(message("put back to what it was")))
    return 0


@contextlib.contextmanager
def _as_typed() -> Iterator[None]:
    """Let the hint for want of rights be what was typed, with sudo: values and command as well."""
    try:
        yield
    except NeedsRootError as error:
        error.hint = Typed("sudo")
        raise


def _wanted(asked: str) -> dict[str, str]:
    """Return value by setting: of ``all`` what the checks would change."""
    if asked == "all":
        from tare.features.machine.doctor import examination

        return examination.examine(examination.look()).fixes()
    known = units()
    found: dict[str, str] = {}
    name = ""
    for part in map(str.strip, asked.split(",")):
        name_here, equals, value = (word.strip() for word in part.partition("="))
        if not equals and name and part.replace("-", "").isdigit():
            found[name] += f",{part}"  # of a list of CPUs
            continue
        name = name_here
        if name not in known:
            raise _unknown(name, asked, list(known))
        if name in found:
            raise ExperimentError(
                f"{name} is asked for twice",
                Typed(f"--fix {shlex.quote(str(name))}={shlex.quote(str(found[name]))}"),
            )
        found[name] = value if equals else known[name].wanted
    return found


def _unknown(name: str, asked: str, known: list[str]) -> ExperimentError:
    if name == "all":
        return ExperimentError(
            f"all stands alone, not in {asked!r}", Typed("--fix all   (or name settings)")
        )
    if not name:
        return ExperimentError(
            f"there is no setting without a name, as in {asked!r}",
            Typed("--fix all   (or name settings, as in NAME=VALUE)"),
        )
    near = difflib.get_close_matches(name, known, n=1)
    return ExperimentError(
        f"there is no setting {name!r}",
        Typed(f"--fix {near[0]}") if near else f"there are: {', '.join(known)}, and all",
    )


def _report(held: Held, lasts_s: float | None) -> Report:
    """Return what is held and what is not; ``lasts_s``: for how long at most, without a command."""
    entries = [
        Entry(
            "" if i else "Held",
            message(
                "{setting}: {% if was == now %}{now or 'unknown'} as it was{% else %}"
                "{was or 'unknown'} → {now or 'unknown'}{% endif %}",
                setting=change.setting,
                was=change.was,
                now=change.now,
            ),
        )
        for i, change in enumerate(held.changes)
    ] or [Entry("Held", message("nothing: every setting is as it should be"))]
    for left in held.left_out:
        entries.append(
            Entry("Left out", message("{setting}: {why}", setting=left.setting, why=left.why))
        )
        if left.hint:
            entries.append(Entry("", message("{hint}", hint=advice(left.hint))))
    if lasts_s is not None:
        ends = message(
            "{limit} (--duration), or until Ctrl-C or `kill {pid}`; then everything is put back. "
            "After `kill -9`: tare cleanup",
            limit=Duration(lasts_s),
            pid=str(os.getpid()),
        )
        entries.append(Entry("Held for", ends))
    return Report(
        command="doctor",
        name="doctor --fix",
        question=message("Which settings are held?"),
        figures={"session": held.name, "changes": held.changes, "left_out": held.left_out},
        entries=tuple(entries),
    )


def _start(command: list[str], *, as_root: bool) -> subprocess.Popen[bytes]:
    """Start the command, as whoever called sudo."""
    from tare.platforms.users import calling_user

    user = None if as_root else calling_user()
    options: dict[str, Any] = {}
    if user is not None:
        options = {"user": user.uid, "group": user.gid, "extra_groups": list(user.groups)}
    try:
        return subprocess.Popen(command, **options)
    except OSError as error:
        raise ExperimentError(
            f"cannot start {command[0]}: {error.strerror}",
            Typed(f"{shlex.join(command)}   (does it run by itself?)"),
        ) from error


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
