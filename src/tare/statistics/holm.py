"""P-values that hold together, by Holm's method."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def holm(p: Sequence[float]) -> list[float]:
    """Adjust p-values by Holm's method over the family that they make."""
    order = np.argsort(p)
    factors = np.arange(len(p), 0, -1)
    adjusted = np.empty(len(p))
    adjusted[order] = np.maximum.accumulate(np.asarray(p, dtype=float)[order] * factors)
    return [float(x) for x in np.minimum(adjusted, 1.0)]
