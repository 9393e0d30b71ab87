"""What a load is: something that keeps the machine busy beside the trials."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from tare.agent import record
from tare.host.lease import Remnant
from tare.registry import Description

#: As the user gave them; a unit gets all of its own, with None for what has no default.
Parameters = Mapping[str, Any]


class Running(Protocol):
    """A load that was started."""

    def check(self) -> None:
        """Raise PlatformError if it does not run any more."""

    def stop(self) -> None:
        """End it and all its processes. May be called twice."""


class Load:
    """One kind of load; a unit overrides all of it."""

    description: Description

    def check(self, parameters: Parameters) -> None:
        """Raise PlatformError, with what would mend it, where it cannot run."""

    def start(self, parameters: Parameters, name: str, user: record.User | None = None) -> Running:
        """Start it under a name, as a user, and return when it is at work."""
        raise NotImplementedError

    def remnants(self) -> list[Remnant]:
        """Return everything of this kind that tare started and this user may end."""
        return []
