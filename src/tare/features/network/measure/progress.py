"""How a measurement of a network goes: bandwidth now, a small picture, latency, the time left."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Sequence
from types import TracebackType

from tare import units
from tare.agent.record import Connected, Gap, Interval, Sending
from tare.cli.console import err, seconds
from tare.cli.progress import Live
from tare.errors import AgentError
from tare.features.network.measure.client import PATIENCE_S
from tare.networks.recording.histogram import quantile_ns
from tare.networks.recording.lines import Happening, pattern
from tare.render.text_plot import sparkline
from tare.units import quantity

_WIDE = 8
#: A terminal shows no more in a second.
_SHOWN_EVERY_S = 0.1
#: Silence beyond an interval that is worth a word; and before there is a connection.
_SILENCE_S = 3.0
_FIRST_SILENCE_S = 1.0


class MeasureBar(Live):
    """Shows how far a measurement is, and keeps nothing of it."""

    def __init__(self, interval_ns: int) -> None:
        super().__init__("connecting")
        self._interval_s = interval_ns / 1e9
        self._left_s = 0.0
        self._rates: deque[float] = deque(maxlen=_WIDE)
        self._retransmits = 0
        self._rests = False
        self._now: dict[str, str] = {}
        self._shown = self._heard = time.monotonic()
        self._was_connected = False
        self._over = threading.Event()
        self._watch = threading.Thread(target=self._watch_silence, daemon=True)

    def __enter__(self) -> MeasureBar:
        super().__enter__()
        self._watch.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
        self._watch.join()
        super().__exit__(kind, error, trace)

    def begins(self, orders: Sequence[Sending]) -> None:
        """Tell how long it will take."""
        self._left_s = sum(order.duration_ns for order in orders) / 1e9

    def connected(self, connected: Connected) -> None:
        """Tell that it begins."""
        self._was_connected = True
        self._heard = time.monotonic()
        self._show(f"connected, {seconds(self._left_s)} left")

    def happened(self, order: Sending, happening: Happening) -> None:
        """Tell of a phase."""
        self._heard = time.monotonic()
        if isinstance(happening, Gap):
            lost = (happening.end_ns - happening.start_ns) / 1e9
            err.print(f"Note: nothing was measured for {lost:.1f} s: {happening.why}")
        if not isinstance(happening, Interval):
            return
        if happening.direction not in self._now or len(self._now) == 1:
            self._left_s -= (happening.end_ns - happening.start_ns) / 1e9
        self._take(happening)
        if self._heard - self._shown >= _SHOWN_EVERY_S:
            self._shown = self._heard
            self._advance(max(0.0, self._left_s))
            self._show(self._line(order, happening))

    def restarts(self, error: AgentError) -> None:
        """Tell that the agent is started anew."""
        err.print(f"Note: the agent is started anew: {error.message}")

    def _take(self, one: Interval) -> None:
        self._retransmits += one.retransmits
        self._rests = not one.on_ns
        if one.on_ns:
            rate = 8e9 * one.acked_bytes / one.on_ns
            self._now[one.direction] = f"{one.direction} {quantity(rate, 'bits/s')}"
            self._rates.append(rate)
        else:
            self._now[one.direction] = f"{one.direction} idle"

    def _line(self, order: Sending, one: Interval) -> str:
        # What a narrow terminal cuts off comes last.
        # A log has no use for a picture, nor has a rest.
        picture = sparkline([*self._rates]) if self._live and not self._rests else ""
        parts = [
            f"{seconds(self._left_s)} left",
            f"{' '.join(self._now.values())} {picture}".rstrip(),
        ]
        p50, p99 = (quantile_ns(one.round_trips, q) for q in (0.5, 0.99))
        if p50 is not None and p99 is not None:
            parts.append(f"RTT {units.amount('ns', p50)}, p99 {units.amount('ns', p99)}")
        if not self._rests:
            parts.append(f"{self._retransmits:,} retransmits")
        parts.append(f"{pattern(order.on_ns, order.off_ns)}")
        return " · ".join(parts)

    def _watch_silence(self) -> None:
        while not self._over.wait(1.0):
            silent = time.monotonic() - self._heard
            if not self._was_connected:
                if silent > _FIRST_SILENCE_S:
                    left = max(0.0, PATIENCE_S - silent)
                    self._show(f"no answer yet; gives up in {seconds(left)}")
            elif silent > self._interval_s + _SILENCE_S:
                self._show(f"no answer for {seconds(silent)}: keeps trying; Ctrl-C ends it")
