"""A single number of what a program printed in a format that another tool writes."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from tare import readers
from tare.errors import TareError

MEMORY = "/dev/shm"


def value(printed: bytes, format: str, series: str | None, quantile: float | None) -> float | None:
    """Return a statistic of the values that were printed.

    Parameters
    ----------
    printed : bytes
        As a file of the format would hold it.
    format : str
        Name of the format: ``jmeter``.
    series : str or None
        What is measured, where several things are: ``bandwidth``.
    quantile : float or None
        Of all values; None: their mean.

    Returns
    -------
    float or None
        In the unit of the format; None: it is not of the format, or has no such values.
    """
    with tempfile.NamedTemporaryFile(dir=MEMORY, prefix="tare-printed-") as file:
        file.write(printed)
        file.flush()
        try:
            found = readers.read(Path(file.name), format=format)
        except TareError:
            return None
    asked = [one for one in found.series if series in (None, one.metric)]
    if not asked or any(one.defects for one in asked) or len({one.metric for one in asked}) > 1:
        return None
    values = np.concatenate([one.values for one in asked])
    if not len(values):
        return None
    return float(values.mean() if quantile is None else np.quantile(values, quantile))
