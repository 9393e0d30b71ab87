"""What expectations of a machine share: its core, the clock to count by, words for both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

import msgspec

from tare.features.machine.fingerprint.microarchitectures import TABLE, Memory, Microarchitecture
from tare.host.hardware import Hardware
from tare.results.message import Amount, Chosen, Message, message

_WHY_CLOCK_TEXTS = {
    "measured": "as measured",
    "maximum": "the maximum",
    "base": "its base",
    "counter": "the rate of its counter",
}

#: Relative difference below which two frequencies count as equal.
_NEAR_HZ = 0.03
FREQUENCY = "loop.effective_frequency"


class UnknownError(LookupError):
    """A rule rests on what is not known of the machine, so that it predicts nothing."""


_T = TypeVar("_T")


def needed(value: _T | None) -> _T:
    """Return a value that a rule rests on.

    Raises
    ------
    UnknownError
        If it is absent or 0.
    """
    if not value:
        raise UnknownError
    return value


class Prediction(msgspec.Struct, frozen=True, kw_only=True):
    """What is expected of one metric."""

    #: Predicted value, in the metric's unit.
    value: float
    #: Basis of the prediction, then the reason why the measured value differs, if known.
    why: tuple[Message, ...]


def rests(value: float, *why: Message | None) -> Prediction:
    """Make a prediction; reasons that do not apply are None."""
    return Prediction(value=value, why=tuple(one for one in why if one is not None))


@dataclass(frozen=True)
class Machine:
    """The hardware, and what was measured on it."""

    hardware: Hardware
    measured: Mapping[str, float]
    #: Facts of the session, such as limits.
    facts: Mapping[str, bool | int | float | str] = field(default_factory=dict)

    def value(self, metric: str) -> float:
        """Return a measured value that a rule rests on."""
        return needed(self.measured.get(metric))

    @property
    def core(self) -> Microarchitecture:
        """What is published of its cores."""
        return needed(TABLE.get(self.hardware.microarchitecture or ""))

    @property
    def guest(self) -> bool:
        """Whether the machine is known to be virtual."""
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
    def memory(self) -> Memory:
        """What memory a processor of this kind mostly has."""
        core = self.core
        name = self.hardware.processor.name or ""
        big = any(word in name for word in ("EPYC", "Xeon")) or core.desktop is None
        return needed((core.server or core.desktop) if big else (core.desktop or core.server))

    def cycles(self, cycles: float, what: Message, promised: bool = False) -> Prediction:
        """Expect so many cycles.

        They are counted by the clock's highest promise; where that is hidden, as from guests, by
        its frequency as measured, unless only what is ``promised`` may count.
        """
        hz = needed(self.hz if promised else self._hidden or self.hz)
        value = cycles / hz * 1e9
        real = self.measured.get(FREQUENCY)
        at_measured = None
        if real and abs(real / hz - 1) > _NEAR_HZ:
            at_measured = message(
                "{time} at the {hz} measured",
                time=Amount(cycles / real * 1e9, "ns"),
                hz=Amount(real, "Hz"),
            )
        counted = message(
            "{what}: {% if one %}1 cycle{% else %}{cycles} cycles{% endif %} at {hz}, {clock}",
            what=what,
            cycles=Chosen(round(cycles, 2), "1"),
            one=cycles == 1,
            hz=Amount(hz, "Hz"),
            clock=message(_WHY_CLOCK_TEXTS[self._rate(hz)]),
        )
        return rests(value, counted, at_measured)

    def _rate(self, hz: float) -> str:
        """Name the frequency by which cycles are counted."""
        clock = self.hardware.clock
        if hz != self.hz:
            return "measured"
        return "maximum" if clock.maximum_hz else "base" if clock.base_hz else "counter"
