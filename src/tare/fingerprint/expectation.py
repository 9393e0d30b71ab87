"""What expectations of a machine share: its core, the clock to count by, words for both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from tare.fingerprint.microarchitectures import TABLE, Memory, Microarchitecture
from tare.hardware import Hardware
from tare.units import chosen, quantity

#: Nearer than this needs no reason.
_NEAR = 0.3
#: Of a frequency: nearer is the same.
_NEAR_HZ = 0.03
FREQUENCY = "loop.effective_frequency"


class Prediction(msgspec.Struct, frozen=True, kw_only=True):
    """What is expected of one metric."""

    #: In the metric's unit; None: the specification does not tell.
    value: float | None
    #: What it rests on, and why the measured value differs, where that is known.
    why: str | None


@dataclass(frozen=True)
class Machine:
    """The hardware, and what was measured on it."""

    hardware: Hardware
    measured: Mapping[str, float]

    @property
    def core(self) -> Microarchitecture | None:
        """What is published of its cores."""
        return TABLE.get(self.hardware.microarchitecture or "")

    @property
    def guest(self) -> bool:
        """Whether a hypervisor is known to stand between."""
        return self.hardware.virtual is True

    @property
    def hz(self) -> float | None:
        """The frequency that one busy core reaches, as far as it is told."""
        clock = self.hardware.clock
        return clock.maximum_hz or clock.base_hz or clock.tsc_hz

    @property
    def _hidden(self) -> float | None:
        """The clock's frequency as measured, where nothing tells how far it reaches."""
        return None if self.hardware.clock.maximum_hz else self.measured.get(FREQUENCY)

    @property
    def memory(self) -> Memory | None:
        """What memory a processor of this kind mostly has."""
        core = self.core
        if core is None:
            return None
        name = self.hardware.processor.name or ""
        big = any(word in name for word in ("EPYC", "Xeon")) or core.desktop is None
        return (core.server or core.desktop) if big else (core.desktop or core.server)

    def cycles(
        self, cycles: float, metric: str, what: str = "", promised: bool = False
    ) -> Prediction | None:
        """Expect so many cycles.

        They are counted by the clock's highest promise; where that is hidden, as from guests, by
        its frequency as measured, unless only what is ``promised`` may count.
        """
        hz = self.hz if promised else self._hidden or self.hz
        if hz is None:
            return None
        value = cycles / hz * 1e9
        told = f"{what}: " if what else ""
        why = f"{told}{_count(cycles)} at {chosen(hz, 'Hz', 3)}"
        why += ", as measured" if hz != self.hz else self._promised()
        real = self.measured.get(FREQUENCY)
        really = value
        if real and abs(real / hz - 1) > _NEAR_HZ:
            really = cycles / real * 1e9
            why += f"; {really:.3g} ns at the {quantity(real, 'Hz')} measured"
        return Prediction(value=value, why=why + self._beyond(metric, really))

    def _promised(self) -> str:
        clock = self.hardware.clock
        if clock.maximum_hz:
            return ", the highest it reaches"
        if clock.base_hz:
            return ", its base"
        return ", the rate of its counter"

    def _beyond(self, metric: str, value: float) -> str:
        """Say what else makes a difference, where that is known."""
        found = self.measured.get(metric)
        if found is None or abs(found / value - 1) <= _NEAR:
            return ""
        if found > value and self.measured.get("steal.share", 0.0) > 0.01:
            return "; the host took the CPU away meanwhile"
        return ""


def _count(cycles: float) -> str:
    return "1 cycle" if cycles == 1 else f"{cycles:.4g} cycles"
