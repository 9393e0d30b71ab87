"""Why what an application printed or left makes no valid trial."""

from __future__ import annotations

from typing import NamedTuple

from tare.results.message import Message


class Refusal(NamedTuple):
    """Why a trial is not valid.

    Attributes
    ----------
    kind : str
        By which failures are counted: the same for other numbers and other lines of a log.
    said : Message
    """

    kind: str
    said: Message
