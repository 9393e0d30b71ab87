"""What was left in an identified bucket at the end of each interval of its trace."""

from __future__ import annotations

import math

import numpy as np

from tare.experiment.fingerprints.network.identified import Identification
from tare.features.network.identify.estimates import GIGA
from tare.networks.shaping.trace import Floats, Trace


def tokens_left(trace: Trace, found: Identification) -> Floats | None:
    """Follow the tokens of a bucket through its trace.

    Parameters
    ----------
    trace : Trace
    found : Identification
        What was found of this trace.

    Returns
    -------
    array, shape (intervals,), or None
        Bits at the end of each interval; None where the bucket's figures are not identified.
    """
    if found.start_gbit is None or found.budget_gbit is None or found.refill_gbps is None:
        return None
    rate, most = found.refill_gbps.value * GIGA, found.budget_gbit.value * GIGA
    left, at = found.start_gbit.value * GIGA, float(trace.start_s[0])
    # What is not known was not sent, at worst for the next rest.
    bits = trace.wire * np.where(np.isfinite(trace.bits), trace.bits, 0.0)
    tokens = []
    for end, sent in zip(trace.end_s.tolist(), bits.tolist(), strict=True):
        left = min(most, max(0.0, left + rate * (end - at) - sent))
        at = end
        tokens.append(left if math.isfinite(left) else 0.0)
    return np.array(tokens)
