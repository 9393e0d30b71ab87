"""What a check is: a question to a machine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from tare.features.machine.doctor.diagnosis import Diagnosis, unknown
from tare.features.machine.doctor.view import View
from tare.registry import Description
from tare.results.message import Message, message


@dataclass(frozen=True, kw_only=True)
class Check:
    """One check; a unit is an instance."""

    #: Its source is where the size of the effect is known from.
    description: Description
    #: Where it stands in the list.
    order: int
    examine: Callable[[View], Diagnosis]

    @property
    def effect(self) -> Message:
        """How large the effect usually is."""
        return message(f"doctor.{self.description.name}.effect")

    def diagnose(self, view: View) -> Diagnosis:
        """Return what it finds, with the size of the effect where there may be one."""
        try:
            found = self.examine(view)
        except (ValueError, LookupError, TypeError, ArithmeticError) as error:
            # Some kernel writes its files otherwise than any that was seen: the rest goes on.
            return unknown(message("doctor.not_understood", error=str(error)))
        if found.verdict in ("ok", "unknown"):
            return found
        return msgspec.structs.replace(
            found,
            effect=found.effect or self.effect,
            source=found.source or self.description.source,
        )
