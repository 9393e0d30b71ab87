"""How far a fingerprint is: the probe that is at work, and the time left."""

from __future__ import annotations

from tare.cli.console import seconds
from tare.cli.progress import Live
from tare.experiment.session.probing import Round
from tare.features.machine.fingerprint.measure import Progress


class Bar(Live, Progress):
    """Shows how far a fingerprint is."""

    def __init__(self) -> None:
        super().__init__("measuring the machine")
        self._rounds = 0
        self._left = ""
        self._probe = ""

    def begins(self, probe: str) -> None:
        """Tell that a round begins."""
        self._probe = probe
        self._tell()

    def ended(self, round: Round, seconds_left: float) -> None:
        """Tell that a round is over."""
        self._rounds += 1
        self._left = f", {seconds(seconds_left)} left"
        self._advance(seconds_left)
        self._tell()

    def _tell(self) -> None:
        self._show(f"round {self._rounds}{self._left} · {self._probe}")
