"""What the hardware's specification lets expect of a machine, metric by metric.

What it does not tell is not predicted. Where the measured value differs, and it can be known why,
``why`` says so.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from tare.hardware import Hardware


class Prediction(msgspec.Struct, frozen=True, kw_only=True):
    """What is expected of one metric."""

    #: In the metric's unit; None: the specification does not tell.
    value: float | None
    #: What it rests on, and why the measured value differs, where that is known.
    why: str | None


def predict(hardware: Hardware, measured: Mapping[str, float]) -> dict[str, Prediction]:
    """Predict what can be predicted from a specification.

    Parameters
    ----------
    hardware : Hardware
    measured : mapping of str to float
        Values of metrics, by name: beside which the reasons are given.

    Returns
    -------
    dict
        By metric; those of which nothing can be said are not in it.
    """
    return {}
