"""No load: the machine as it is."""

from __future__ import annotations

from tare.agent import record
from tare.loads.load import Load, Parameters, Running
from tare.registry import Description


class _Nothing:
    def check(self) -> None:
        """See nothing that could have ended."""

    def stop(self) -> None:
        """End nothing."""


class Quiet(Load):
    """Starts nothing."""

    description = Description(
        name="none",
        title="no load during the trials",
        question="What does the workload take when nothing else runs?",
    )

    def start(self, parameters: Parameters, name: str, user: record.User | None = None) -> Running:
        """Start nothing."""
        return _Nothing()


UNIT = Quiet()
