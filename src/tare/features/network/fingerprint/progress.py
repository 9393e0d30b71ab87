"""How far a fingerprint of a network is, or a search for a bucket: what, how fast, what is left."""

from __future__ import annotations

from tare.cli.console import err, seconds
from tare.cli.progress import Live
from tare.features.network.identify.phases import Next
from tare.render.words import text
from tare.results.message import Message, Said
from tare.units import quantity


class Bar(Live):
    """Shows how far it is."""

    def __init__(self) -> None:
        super().__init__("connecting")
        self._what = ""
        self._why: Message | None = None
        self._left = 0.0

    def stage(self, what: Said) -> None:
        """Show what is measured."""
        self._what = text(what)
        self._show(self._what)

    def left(self, seconds: float) -> None:
        """Tell how much is left, at most."""
        self._left = seconds
        self._advance(seconds)
        self._tell("")

    def phase(self, what: Next, seconds_left: float) -> None:
        """Tell that a phase of a search begins, and why, where there is another reason."""
        self._what = "sending" if what.action == "send" else f"idle for {seconds(what.seconds)}"
        if what.why != self._why:
            self._why = what.why
            err.print(f"Phase   {self._what}: {text(what.why)}.", soft_wrap=True)
        self.left(seconds_left)

    def seen(self, rate_bps: float | None, spent_bits: float, seconds_left: float) -> None:
        """Tell what came of the last moments."""
        self._left = seconds_left
        self._advance(seconds_left)
        rate = "" if rate_bps is None else f" at {quantity(rate_bps, 'bits/s')}"
        self._tell(f"{rate}, {quantity(spent_bits, 'bits')} sent")

    def _tell(self, more: str) -> None:
        self._show(f"{self._what}{more}, at most {seconds(self._left)} left")
