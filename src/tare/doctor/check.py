"""What a check is: a question to a machine, and the size of what hangs on it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from tare.doctor.diagnosis import Diagnosis, hidden
from tare.doctor.view import View
from tare.registry import Description


@dataclass(frozen=True, kw_only=True)
class Check:
    """One check; a unit is an instance."""

    #: Its source is where the size of the effect is known from.
    description: Description
    #: Where it stands in the list.
    order: int
    #: How large the effect usually is.
    effect: str
    examine: Callable[[View], Diagnosis]

    def diagnose(self, view: View) -> Diagnosis:
        """Return what it says, with the size of the effect where something is to be said."""
        try:
            told = self.examine(view)
        except (ValueError, LookupError, TypeError, ArithmeticError) as error:
            # Some kernel writes its files otherwise than any that was seen: the rest goes on.
            return hidden(f"what the kernel says is not understood ({error})")
        if told.judgement in ("good", "hidden"):
            return told
        return msgspec.structs.replace(
            told, effect=told.effect or self.effect, source=told.source or self.description.source
        )
