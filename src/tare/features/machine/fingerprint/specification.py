"""What the hardware's specification lets expect of a machine, metric by metric.

What it does not tell is not predicted. Where the measured value differs, and it can be known why,
``why`` says so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress

from tare.features.machine.fingerprint import (
    expected_kernel,
    expected_memory,
    expected_processor,
    expected_sharing,
    expected_tasks,
)
from tare.features.machine.fingerprint.expectation import Machine, Prediction, UnknownError
from tare.host.hardware import Hardware

__all__ = ["Prediction", "predict"]

_Rule = Callable[[Machine, re.Match[str]], Prediction]

#: Names of metrics, whole, and what expects something of them; the first that fits.
_RULES: tuple[tuple[str, _Rule], ...] = (
    *expected_processor.RULES, *expected_memory.RULES, *expected_kernel.RULES,
    *expected_tasks.RULES, *expected_sharing.RULES,
)  # fmt: skip


def predict(
    hardware: Hardware,
    measured: Mapping[str, float],
    facts: Mapping[str, bool | int | float | str] | None = None,
) -> dict[str, Prediction]:
    """Predict what can be predicted from a specification.

    Parameters
    ----------
    hardware : Hardware
    measured : mapping of str to float
        Values of metrics, by name: those that are predicted, and beside which reasons are given.
        Some bounds are made of others: a page cache is not faster than memory is copied.
    facts : mapping, optional
        What is known of the session: how much memory files could fill.

    Returns
    -------
    dict
        By metric; those of which nothing can be said are not in it.
    """
    machine = Machine(hardware, measured, facts or {})
    return {name: found for name in measured if (found := _predicted(machine, name)) is not None}


def _predicted(machine: Machine, name: str) -> Prediction | None:
    for pattern, rule in _RULES:
        found = re.fullmatch(pattern, name)
        if found is not None:
            with suppress(UnknownError):
                return rule(machine, found)
            return None
    return None
