"""The unit in which numbers are shown: one for all that stand together."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

#: Stored unit to the units that it is shown in, largest first, with their size.
SCALES = {
    "s": (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9)),
    "ns": (("s", 1e9), ("ms", 1e6), ("µs", 1e3), ("ns", 1.0)),
    "bytes": (("GiB", 2.0**30), ("MiB", 2.0**20), ("KiB", 2.0**10), ("bytes", 1.0)),
    "B/s": (("GB/s", 1e9), ("MB/s", 1e6), ("kB/s", 1e3), ("B/s", 1.0)),
    "bits": (("Gbit", 1e9), ("Mbit", 1e6), ("kbit", 1e3), ("bit", 1.0)),
    "Hz": (("GHz", 1e9), ("MHz", 1e6), ("kHz", 1e3), ("Hz", 1.0)),
    "hz": (("GHz", 1e9), ("MHz", 1e6), ("kHz", 1e3), ("Hz", 1.0)),
}


def scale_for(values: Iterable[float], unit: str) -> tuple[float, str]:
    """Choose the unit in which most of some values read best.

    Parameters
    ----------
    values : iterable of float
        As stored.
    unit : str
        Unit as stored: ``s``, ``ns``, ``bytes``, ``bits``, ``B/s``, ``Hz``, ``%``, or ``1`` for
        none.

    Returns
    -------
    (float, str)
        What to divide by, and the unit then; empty where there is none.
    """
    if unit not in SCALES:
        return 1.0, "" if unit == "1" else unit
    sizes = np.abs(np.fromiter(values, dtype=float))
    sizes = sizes[np.isfinite(sizes) & (sizes > 0)]
    middle = float(np.median(sizes)) if len(sizes) else 1.0
    name, size = next((s for s in SCALES[unit] if middle >= s[1]), SCALES[unit][-1])
    return size, name
