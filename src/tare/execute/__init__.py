"""Execute a plan: the part with effects. Trials go in, a journal comes out.

What decides (which trials, in what order, when it is enough) is handed in as pure functions;
what happens on the machine is in :mod:`tare.platforms` and :mod:`tare.loads`.
"""

from __future__ import annotations

from tare.execute.files import missing, needed
from tare.execute.request import Decide, Decision, Progress, Request, Values
from tare.execute.session import conduct
from tare.execute.trial import Outcome

__all__ = [
    "Decide",
    "Decision",
    "Outcome",
    "Progress",
    "Request",
    "Values",
    "conduct",
    "missing",
    "needed",
]
