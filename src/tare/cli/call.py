"""Context of the call of a command."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from tare.experiment.supplies import Supplies


class Call(NamedTuple):
    """Findings and probes that features supply, and the name of the command."""

    supplies: Supplies
    #: As it was typed, without ``tare``: ``experiment run``.
    command: str
