"""Context of the call of a command."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from tare.experiment.supplies import Supplies


class Call(NamedTuple):
    """What a command is told besides its options."""

    supplies: Supplies
    #: As it was typed, without ``tare``: ``experiment run``.
    command: str
