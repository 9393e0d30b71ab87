"""Execute a plan: the part with effects. Trials go in, a journal comes out.

What decides (which trials, in what order, when it is enough) is handed in as pure functions;
what happens on the machine is in :mod:`tare.platforms` and :mod:`tare.loads`.
"""

from __future__ import annotations

from tare.experiment.session.files import missing, needed
from tare.experiment.session.outcome import Outcome
from tare.experiment.session.request import Decide, Progress, Request, Silent, Values
from tare.experiment.session.session import blocks, conduct

__all__ = [
    "Decide",
    "Outcome",
    "Progress",
    "Request",
    "Silent",
    "Values",
    "blocks",
    "conduct",
    "missing",
    "needed",
]
