"""Is this machine fit to measure on? What all checks say together."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import replace

import msgspec
from msgspec.structs import replace as replaced

from tare.features.machine.doctor.checks import units
from tare.host import settings
from tare.host.check import PURPOSES, Diagnosis, Purpose
from tare.host.kernel_files import KernelFiles
from tare.host.settings.setting import NeedsRootError
from tare.host.view import Noise, Snapshot, View

#: Duration over which rates are counted, in seconds.
WATCH_S = 1.0


class Examination(msgspec.Struct, frozen=True, kw_only=True):
    """What the checks say together."""

    #: Diagnosis of each check, in the order of printing.
    diagnoses: dict[str, Diagnosis]

    def unfit(self) -> dict[Purpose, list[str]]:
        """Return the purposes that the machine is not fit for, each with the checks that say so."""
        found: dict[Purpose, list[str]] = {}
        for purpose in PURPOSES:
            against = [
                name
                for name, told in self.diagnoses.items()
                if told.verdict == "fail" and purpose in told.purposes
            ]
            if against:
                found[purpose] = against
        return found

    def fit(self) -> list[Purpose]:
        """Return the purposes that nothing speaks against."""
        unfit = self.unfit()
        return [purpose for purpose in PURPOSES if purpose not in unfit]

    def fixes(self, purposes: Iterable[str] = PURPOSES) -> dict[str, str]:
        """Return what tare can change for the better of some purposes: value by setting."""
        wanted = set(purposes)
        return {
            setting: value
            for told in self.diagnoses.values()
            if wanted & set(told.purposes)
            for setting, value in told.fix.items()
        }


def look(
    kernel: KernelFiles | None = None,
    *,
    watch_s: float = WATCH_S,
    noise: Callable[[], Noise | None] = lambda: None,
) -> View:
    """Look at a machine: its files, what changes over a moment, and its noise.

    Parameters
    ----------
    kernel : KernelFiles, optional
        Another machine's files.
    watch_s : float
        How long rates are counted over; 0: not at all.
    noise : callable
        Measures it, after that moment.
    """
    there = kernel or KernelFiles()
    view = View.of(there)
    if watch_s > 0:
        before = Snapshot.take(there)
        time.sleep(watch_s)
        view = replace(view, before=before, after=Snapshot.take(there))
    heard = noise()
    return replace(view, noise=heard, listened=Snapshot.take(there) if heard else None)


def examine(view: View) -> Examination:
    """Ask every check what it says of a machine."""
    ordered = sorted(units().values(), key=lambda check: (check.order, check.description.name))
    return Examination(
        diagnoses={check.description.name: check.diagnose(view) for check in ordered}
    )


def attainable(found: Examination, kernel: KernelFiles | None = None) -> Examination:
    """Leave out what tare cannot change here even as root, as in most containers."""
    refused = {
        name
        for name, error in settings.check(found.fixes(), kernel=kernel).items()
        if error is not None and not isinstance(error, NeedsRootError)
    }
    return Examination(
        diagnoses={
            name: replaced(one, fix={n: v for n, v in one.fix.items() if n not in refused})
            for name, one in found.diagnoses.items()
        }
    )
