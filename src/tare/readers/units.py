"""Units as files write them: behind a number, at the end of a column's name, in brackets."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Unit:
    """A unit: of what, and how many of the base unit it is.

    Attributes
    ----------
    name : str
        As it is shown: ``s``, ``Gbit/s``.
    base : str
        The unit that values of this kind are brought to: ``s``, ``bytes``, ``bits/s`` …
    factor : float
        Base units that one of these is.
    """

    name: str
    base: str
    factor: float = 1.0


def _scaled(base: str, spellings: dict[str, float]) -> dict[str, Unit]:
    return {
        spelling: Unit(spelling if factor != 1.0 else base, base, factor)
        for spelling, factor in spellings.items()
    }


_TIMES = {
    "s": 1.0, "sec": 1.0, "secs": 1.0, "second": 1.0, "seconds": 1.0,
    "ms": 1e-3, "msec": 1e-3, "msecs": 1e-3, "millis": 1e-3, "millisecond": 1e-3,
    "milliseconds": 1e-3,
    "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "usec": 1e-6, "usecs": 1e-6, "micros": 1e-6,
    "microsecond": 1e-6, "microseconds": 1e-6,
    "ns": 1e-9, "nsec": 1e-9, "nsecs": 1e-9, "nanos": 1e-9, "nanosecond": 1e-9,
    "nanoseconds": 1e-9,
    "min": 60.0, "mins": 60.0, "minute": 60.0, "minutes": 60.0,
    "h": 3600.0, "hour": 3600.0, "hours": 3600.0,
}  # fmt: skip
_SIZES = {
    "B": 1.0, "byte": 1.0, "bytes": 1.0,
    "kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12,
    "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30, "TiB": 2.0**40,
}  # fmt: skip
_BIT_RATES = {
    "bps": 1.0, "bit/s": 1.0, "bits/s": 1.0,
    "kbps": 1e3, "kbit/s": 1e3, "Kbit/s": 1e3, "Kbits/s": 1e3, "Kbps": 1e3,
    "mbps": 1e6, "Mbps": 1e6, "Mbit/s": 1e6, "Mbits/s": 1e6,
    "gbps": 1e9, "Gbps": 1e9, "Gbit/s": 1e9, "Gbits/s": 1e9,
}  # fmt: skip
_BYTE_RATES = {f"{size}/s": factor for size, factor in _SIZES.items()}
_RATES = {
    "/s": 1.0, "1/s": 1.0, "op/s": 1.0, "ops/s": 1.0, "ops": 1.0, "req/s": 1.0, "rps": 1.0,
    "qps": 1.0, "iops": 1.0, "Hz": 1.0,
}  # fmt: skip
#: Percentages are no times and no sizes, but they are written behind numbers.
_UNITS: dict[str, Unit] = {
    **_scaled("s", _TIMES),
    **_scaled("bytes", _SIZES),
    **_scaled("bits/s", _BIT_RATES),
    **_scaled("bytes/s", _BYTE_RATES),
    **_scaled("1/s", _RATES),
    "%": Unit("%", "%"),
}
#: Capitals tell bits from bytes in a cell; a column's name is mostly written small.
_SMALL = {
    "b": "B", "kb": "kB", "mb": "MB", "gb": "GB", "tb": "TB", "kib": "KiB", "mib": "MiB",
    "gib": "GiB", "tib": "TiB", "hz": "Hz", "percent": "%", "pct": "%",
}  # fmt: skip
#: Letters that end a name by chance, so that they say something in brackets alone.
_TOO_SHORT = frozenset({"h", "b", "B", "min", "ops"})
#: Names that, alone, are more often a letter or a time of day than a unit.
_OTHERS_ALONE = frozenset({"s", "second", "minute", "hour"})
_PRETTY = {"bps": "bits/s", "kbps": "kbit/s", "Kbps": "kbit/s", "mbps": "Mbit/s",
           "Mbps": "Mbit/s", "gbps": "Gbit/s", "Gbps": "Gbit/s"}  # fmt: skip

#: Names of columns that hold the time, the likeliest first.
_TIME_NAMES = (
    "second", "seconds", "time", "time_s", "timestamp", "start", "start_s", "t", "ts", "date",
    "datetime",
)  # fmt: skip
#: Words in a column's name that make it a time, a size or a rate without a unit.
_TIME_WORDS = frozenset(
    {"time", "duration", "elapsed", "latency", "wall", "walltime", "cputime", "runtime", "cpu"}
)
_RATE_WORDS = frozenset({"throughput", "bandwidth", "rate", "speed", "qps", "rps", "iops"})
#: Words that let any quantity be negative.
_SIGNED_WORDS = frozenset(
    {"delta", "diff", "difference", "offset", "skew", "drift", "slack", "change", "error",
     "residual", "deviation", "lag", "jitter"}
)  # fmt: skip


def unit(text: str) -> Unit | None:
    """Look up a unit by its spelling; None if it is none that is known."""
    found = _UNITS.get(text.strip())
    if found is None:
        return None
    return Unit(_PRETTY.get(found.name, found.name), found.base, found.factor)


def of_column(name: str) -> tuple[str, Unit | None]:
    """Take a column's name apart: ``wall_ms`` or ``wall (ms)`` is ``wall`` in ms.

    Returns
    -------
    metric : str
        The name without its unit; the whole name where the unit is all there is.
    unit : Unit or None
    """
    bracket = re.fullmatch(r"\s*(.*?)\s*[\[(]([^\])]+)[\])]\s*", name)
    if bracket:
        found = unit(bracket[2]) or unit(_SMALL.get(bracket[2].lower(), ""))
        return (bracket[1] or name.strip(), found) if found else (name.strip(), None)
    per = re.fullmatch(r"(.+)(?:_per_|/)s(?:ec(?:ond)?)?", name.strip())
    if per and unit(name.strip()) is None:
        stem, _, what = per[1].rpartition("_")
        size = unit(_SMALL.get(what.lower(), what))
        sized = size if size is not None and size.base == "bytes" else None
        rate = unit(f"{what}/s") or unit(f"{what.capitalize()}/s")
        if rate is not None and rate.base == "bits/s":
            return stem or per[1], rate
        return (stem or per[1], unit(f"{sized.name}/s")) if sized else (per[1], unit("1/s"))
    whole = name.strip()
    stem, mark, suffix = whole.rpartition("_")
    if suffix in _TOO_SHORT or (not mark and suffix.lower() in _OTHERS_ALONE):
        return whole, None
    found = unit(suffix) or unit(_SMALL.get(suffix.lower(), "")) or unit(suffix.lower())
    return (stem, found) if found and stem else (whole, None if mark else found)


def may_be_negative(name: str, measured: Unit | None) -> bool:
    """Say whether a quantity can be below zero: a time, a size or a rate cannot.

    What is in no known unit may be, unless its name says that it is a time or a rate; what is
    called a difference may be in any unit.
    """
    words = _words(name)
    if words & _SIGNED_WORDS:
        return True
    return measured is None and not words & (_TIME_WORDS | _RATE_WORDS)


def may_be_count(name: str, base: str | None) -> bool:
    """Say whether whole numbers of a quantity may be counted: events, not ticks of a clock.

    What is in no known unit may be, unless its name says that it is a time or a rate.
    """
    return base in (None, "1") and not _words(name) & (_TIME_WORDS | _RATE_WORDS)


def says_nothing(name: str) -> bool:
    """Say whether a column's name leaves open what was measured, as ``value`` does."""
    return "value" in _words(name)


def lower_is_better(name: str, measured: Unit | None) -> bool | None:
    """Say which way is better, where the unit or the name tells; otherwise None."""
    words = _words(name)
    if words & _SIGNED_WORDS:
        return None
    if measured is not None and measured.base in ("bits/s", "bytes/s", "1/s"):
        return False
    if measured is not None and measured.base == "s":
        return True
    if words & _RATE_WORDS:
        return False
    return True if words & _TIME_WORDS else None


def time_column(names: Iterable[str]) -> str | None:
    """Return the column that is called as times are, with a unit or without it, or None."""
    stems: dict[str, str] = {}
    for name in names:
        stem, found = of_column(name)
        is_time = found is None or found.base == "s"
        stems.setdefault(stem.lower() if is_time else "", name)
        stems.setdefault(name.lower(), name)
    return next((stems[name] for name in _TIME_NAMES if name in stems), None)


def _words(name: str) -> set[str]:
    parted = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    return set(re.split(r"[^a-z]+", parted.lower()))
