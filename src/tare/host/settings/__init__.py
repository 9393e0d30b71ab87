"""What tare can change on a machine, and put back: one file a setting.

``hold`` sets values as a lease: what was is saved first, each effect is verified, and everything
is put back to what it *was* at the end. What kills the session leaves the file that says so:
``tare cleanup``, and whoever holds settings next, restore from it.
"""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator, Mapping

import msgspec

from tare import registry
from tare.errors import ExperimentError, PlatformError, TareError
from tare.host import lease as leases
from tare.host.kernel_files import KernelFiles
from tare.host.settings import restore
from tare.host.settings.setting import NeedsRootError, Setting

#: What ends a session; it waits while settings are put back.
ENDINGS = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT}


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One setting that is held."""

    setting: str
    was: str | None
    now: str | None


class LeftOut(msgspec.Struct, frozen=True, kw_only=True):
    """One setting that could not be had."""

    setting: str
    wanted: str
    why: str
    hint: str | None
    needs_root: bool = False


class Held(msgspec.Struct, frozen=True, kw_only=True):
    """What a lease holds."""

    #: Of the session; what it makes on the machine begins with it.
    name: str
    changes: tuple[Change, ...]
    left_out: tuple[LeftOut, ...]


def units() -> dict[str, Setting]:
    """Return every setting by name."""
    return registry.units_of("setting")


def check(
    wanted: Mapping[str, str], *, kernel: KernelFiles | None = None
) -> dict[str, TareError | None]:
    """Tell for each setting what keeps it from its value here; None: nothing. Changes nothing.

    Raises
    ------
    ExperimentError
        If there is no such setting.
    """
    there, known = kernel or KernelFiles(), units()
    found: dict[str, TareError | None] = {}
    for name, value in wanted.items():
        if name not in known:
            raise ExperimentError(f"there is no setting {name!r}", f"there are: {', '.join(known)}")
        try:
            known[name].check(there, value)
            found[name] = None
        except TareError as error:
            found[name] = error
    return found


@contextlib.contextmanager
def hold(
    wanted: Mapping[str, str], *, tolerant: bool = False, kernel: KernelFiles | None = None
) -> Iterator[Held]:
    """Hold settings at values, and put them back to what they were.

    Parameters
    ----------
    wanted : mapping
        Value by setting: ``{"governor": "performance", "turbo": "off"}``.
    tolerant : bool
        Leave out what cannot be had here, and say so, instead of refusing it all.
    kernel : KernelFiles, optional
        Another machine's files, for tests.

    Yields
    ------
    Held
        What was changed and verified.

    Raises
    ------
    ExperimentError
        If there is no such setting or value.
    PlatformError
        If one cannot be changed here, does not show its effect, is held by another tare, or could
        not be put back; then ``tare cleanup`` tries again.
    """
    there = kernel or KernelFiles()
    known = units()
    obstacles = check(wanted, kernel=there)
    left_out = [
        _left_out(name, wanted[name], error)
        for name, error in obstacles.items()
        if error is not None
    ]
    if left_out and not tolerant:
        raise next(error for error in obstacles.values() if error is not None)
    chosen = {name: wanted[name] for name, error in obstacles.items() if error is None}
    name = leases.new_name()
    if not chosen:
        yield Held(name=name, changes=(), left_out=tuple(left_out))
        return
    try:
        with leases.hold(name):
            held = {setting: known[setting] for setting in chosen}
            kept = restore.keep(name, there, held, chosen)
            with contextlib.ExitStack() as releases:
                releases.callback(_put_back, kept, there)
                changes = []
                for setting, unit in held.items():
                    try:
                        changes.append(_set(unit, chosen[setting], there, name, releases))
                    except PlatformError as error:
                        if not tolerant:
                            raise
                        left_out.append(_left_out(setting, chosen[setting], error))
                yield Held(name=name, changes=tuple(changes), left_out=tuple(left_out))
    except BaseException:
        # Whoever was interrupted has put everything back all the same.
        if not restore.exists(name):
            leases.forget(name)
        raise


def _set(
    unit: Setting,
    wanted: str,
    kernel: KernelFiles,
    session: str,
    releases: contextlib.ExitStack,
) -> Change:
    """Set one, and see that it is so."""
    name, was = unit.description.name, unit.read(kernel)
    try:
        release = unit.apply(kernel, wanted, session)
    except OSError as error:
        raise PlatformError(
            f"{name} cannot be set to {wanted}: the kernel says {error.strerror}"
        ) from error
    if release is not None:
        releases.callback(release)
    unit.verify(kernel, wanted)
    return Change(setting=name, was=was, now=unit.read(kernel))


def _left_out(name: str, wanted: str, error: TareError) -> LeftOut:
    return LeftOut(
        setting=name,
        wanted=wanted,
        why=error.message,
        hint=error.hint,
        needs_root=isinstance(error, NeedsRootError),
    )


def _put_back(kept: restore.Kept, kernel: KernelFiles) -> None:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDINGS)
    try:
        restore.put_back(kept, kernel)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
