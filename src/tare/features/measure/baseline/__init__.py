"""Stored results that a new session is compared with: what they hold, whether they may be.

A baseline is the trial values of one cell, session by session, with the facts of each session.
It comes out of an experiment's folder, or out of a file that holds nothing else and can be kept
by a CI. It is compared only where the facts agree; see :mod:`tare.statistics.sessions` for how.
"""

from __future__ import annotations

from tare.features.measure.baseline.agreement import check, disagreements
from tare.features.measure.baseline.comparison import compare
from tare.features.measure.baseline.file import read, save
from tare.features.measure.baseline.stored import (
    Baseline,
    Probed,
    Session,
    lasting,
    networked,
    of,
    settings,
)

__all__ = [
    "Baseline",
    "Probed",
    "Session",
    "check",
    "compare",
    "disagreements",
    "lasting",
    "networked",
    "of",
    "read",
    "save",
    "settings",
]
