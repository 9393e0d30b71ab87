"""What shapes the network that a trace was measured on."""

from __future__ import annotations

from collections.abc import Mapping

from tare.identification.document import Identification
from tare.shaping.trace import Trace


def identify(
    trace: Trace, key: Mapping[str, str], interface_bps: float | None = None
) -> Identification:
    """Say what shapes the network that a trace was measured on.

    Parameters
    ----------
    trace : Trace
        In order of time.
    key : mapping of str to str
        What tells it from other traces.
    interface_bps : float, optional
        What the interface can do, where it is known: a constant rate below it is a cap.
    """
    raise NotImplementedError  # until the estimator lands
