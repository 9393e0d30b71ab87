"""What this machine was calibrated to be, kept for the sessions after it.

Each session stores the last calibration that fits it as facts, ``calibration_…``, together with
what has changed of the machine since: a calibration of another governor is none of this one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec

from tare.experiment.journal import MachineFact
from tare.experiment.sweep.rates import unit_of
from tare.host import state
from tare.render.words import text
from tare.results.message import Amount, Message, message

if TYPE_CHECKING:
    from tare.experiment.sweep.document import Calibration, Machine

#: What must be as it was, by the names that facts have, too; and what only weakens it.
LASTING = ("cpu", "cpus", "hypervisor", "governor", "driver", "turbo", "smt")
PASSING = ("kernel", "cgroup")
SOURCE = "tare calibrate"
#: Workloads and platforms that are kept, the newest.
_MOST = 32
_LONGEST = 100
#: Shorter windows err at small quotas, of which one period more or less is a large part.
_FEWEST_PERIODS = 20
#: The kernel that speaks for CPU time in general.
_FIRST = "linpack"

#: As of :mod:`tare.statistics.scaling`, which every session would have to load.
_Verdict = Literal["linear", "piecewise", "saturating", "falling"]
_Words = Annotated[str, msgspec.Meta(pattern=r"\A[ -~]{1,100}\Z")]
_Date = Annotated[str, msgspec.Meta(pattern=r"\A\d{4}-\d\d-\d\d[T ][0-9:.+Z-]{4,32}\Z")]
_Cpus = Annotated[float, msgspec.Meta(gt=0, le=1e6)]
_Rate = Annotated[float, msgspec.Meta(ge=-1e30, le=1e30)]


class Remembered(msgspec.Struct, frozen=True, kw_only=True):
    """A calibration in short. Strict: the file it is read from may hold anything."""

    measured: _Date
    workload: _Words
    work: _Words
    platform: _Words
    workers: Annotated[int, msgspec.Meta(ge=1, le=1 << 20)]
    verdict: _Verdict
    #: Where more CPU is more speed along one straight line: from, to.
    linear: Annotated[tuple[tuple[_Cpus, _Cpus], ...], msgspec.Meta(max_length=8)]
    #: Share of the CPU time due that others had meanwhile; None: not known, as of an earlier tare.
    lost_share: Annotated[float, msgspec.Meta(ge=0, le=1)] | None = None
    r2: Annotated[float, msgspec.Meta(ge=0, le=1)] | None
    #: Work a second for each CPU, by one line through all; and the most there was.
    slope: _Rate
    maximum: _Rate
    #: As :data:`LASTING` and :data:`PASSING`.
    machine: Annotated[dict[_Words, _Words], msgspec.Meta(max_length=16)]


class _Kept(msgspec.Struct, frozen=True, kw_only=True):
    calibrations: Annotated[tuple[Remembered, ...], msgspec.Meta(max_length=_MOST)] = ()


def remember(calibration: Calibration, periods: int) -> bool:
    """Keep a calibration of this machine for its later sessions.

    Parameters
    ----------
    calibration : Calibration
        Measured here, just now.
    periods : int
        Whole periods of the quota in each window.

    Returns
    -------
    bool
        False where it was not kept: it is about more than the CPU, such as under a load; was only
        tried, in short windows; is inconclusive; or nobody knows whether the CPU time arrived.

    Raises
    ------
    StoreError
        If it cannot be written.
    """
    if calibration.levels or calibration.measured is None or periods < _FEWEST_PERIODS:
        return False
    if calibration.asked.verdict == "inconclusive" or calibration.lost_share is None:
        return False
    new = Remembered(
        measured=calibration.measured,
        workload=_plain(calibration.workload),
        work=_plain(calibration.work),
        platform=_plain(calibration.platform),
        workers=calibration.workers,
        verdict=calibration.asked.verdict,
        linear=_linear(calibration),
        lost_share=calibration.lost_share,
        r2=calibration.asked.line.r2,
        slope=calibration.asked.line.slope * calibration.places_per_cpu,
        maximum=calibration.asked.line.maximum,
        machine=_identity(calibration.machine, calibration.settings),
    )
    others = [one for one in kept() if _place(one) != _place(new)]
    state.write(state.CALIBRATIONS, _Kept(calibrations=(new, *others)[:_MOST]))
    return True


def _place(one: Remembered) -> tuple[str | int, ...]:
    """Tell apart what is kept beside each other: another governor makes another machine."""
    return one.workload, one.platform, one.workers, *(one.machine.get(name, "") for name in LASTING)


def kept() -> tuple[Remembered, ...]:
    """Return what is remembered, the last first, whatever the clock was set to meanwhile.

    Nothing where the file is of another tare, or damaged.
    """
    found = state.read(state.CALIBRATIONS)
    try:
        return () if found is None else msgspec.convert(found, _Kept).calibrations
    except msgspec.ValidationError:
        return ()


def forget() -> tuple[Path | None, tuple[Remembered, ...]]:
    """Remove all that this user remembers of this machine.

    Returns
    -------
    path : Path or None
        Of the file that was removed; None: there was none.
    removed : tuple of Remembered
        What it held; nothing where it was damaged, or of another tare.

    Raises
    ------
    StoreError
        If it cannot be removed.
    """
    held = kept()
    path = state.remove(state.CALIBRATIONS)
    return path, () if path is None else held


def facts(here: Iterable[MachineFact], platforms: Sequence[Any] = ("bare",)) -> list[MachineFact]:
    """Return the last calibration of this machine as facts of a session.

    Parameters
    ----------
    here : iterable of MachineFact
        What the machine is now.
    platforms : sequence
        Where the session measures: a calibration from there goes first.

    Returns
    -------
    list of MachineFact
        Empty where nobody has calibrated it. ``calibration_changed`` is there only where something
        has changed.
    """
    now = {fact.name: str(fact.value) for fact in here if fact.platform is None}
    asked = {str(one) for one in platforms}

    def fits(one: Remembered) -> tuple[bool | int | str, ...]:
        same = not changes(one.machine, now, LASTING)
        first = one.workload.startswith(_FIRST)
        return one.platform in asked, same, first, one.workers

    # Of equal ones the first, which is the newest; what was remembered without telling whether the
    # CPU time arrived may be about the other work.
    known = [one for one in kept() if one.lost_share is not None]
    best = max(known, key=fits, default=None)
    return [] if best is None else _told(best, now)


def _told(one: Remembered, now: Mapping[str, str]) -> list[MachineFact]:
    unit = unit_of(one.work)
    speed = message(
        "{slope} per CPU, {most} at most",
        slope=Amount(one.slope, unit),
        most=Amount(one.maximum, unit),
    )
    told: dict[str, float | str | None] = {
        "date": one.measured[:16].replace("T", " "),
        "workload": one.workload,
        "platform": one.platform,
        "verdict": one.verdict,
        "linear": ", ".join(f"{start:g} to {end:g}" for start, end in one.linear) or "nowhere",
        "lost_share": None if one.lost_share is None else round(one.lost_share, 4),
        "r_squared": None if one.r2 is None else round(one.r2, 9),
        "speed": text(speed),
        "changed": _changed(one.machine, now, LASTING),
        "changed_kernel": _changed(one.machine, now, PASSING),
    }
    return [
        MachineFact(name=f"calibration_{name}", value=value, source=SOURCE)
        for name, value in told.items()
        if value is not None
    ]


def _changed(then: Mapping[str, str], now: Mapping[str, str], names: Iterable[str]) -> str | None:
    found = changes(then, now, names)
    return text(message("{changes | join(', ')}", changes=found)) if found else None


def changes(then: Mapping[str, str], now: Mapping[str, str], names: Iterable[str]) -> list[Message]:
    """Say what of a machine is not as it was: "governor from performance to powersave"."""
    return [
        message("{name} from {then} to {now}", name=name, then=then[name], now=current)
        for name in names
        if name in then and then[name] != (current := _plain(now.get(name, "unknown")))
    ]


def _identity(machine: Machine, settings: Mapping[str, str]) -> dict[str, str]:
    """Return what the machine was while it was measured; settings that were held go first."""
    told = {name: getattr(machine, name) for name in (*LASTING, *PASSING)}
    held = {name: settings[name] for name in LASTING if name in settings}
    return {name: _plain(str(v)) for name, v in {**told, **held}.items() if v is not None}


def _linear(calibration: Calibration) -> tuple[tuple[float, float], ...]:
    from tare.experiment.sweep.lines import fitted

    # A ceiling is met between steps, at a place with many digits.
    per_cpu = calibration.places_per_cpu
    return tuple(
        (float(f"{line.start / per_cpu:.3g}"), float(f"{line.end / per_cpu:.3g}"))
        for line in fitted(calibration)
        if line.rises
    )


def _plain(text: str) -> str:
    """Write what people chose in signs that every file and terminal has."""
    return text.encode("unicode_escape").decode("ascii")[:_LONGEST] or "unnamed"
