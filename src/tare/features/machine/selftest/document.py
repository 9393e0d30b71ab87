"""What a self-test found, as it is written, and as it is kept for the sessions after it."""

from __future__ import annotations

import datetime
import platform
from typing import Any, Literal

import msgspec

import tare
from tare.agent import client
from tare.errors import StoreError
from tare.features.machine.selftest.lines import Line
from tare.host import state
from tare.host.state import Fact
from tare.results.message import Message, Said

VERSION = 2
#: Three times what is claimed: 2 alarms of 40, or none of 19.
_NEAR = 0.15
#: The figures that stand for all, and in facts: metric by name.
_HEAD = {"wall": "wall_ns", "cpu": "cpu_ns", "memory": "memory_bytes"}


class Unchecked(msgspec.Struct, frozen=True, kw_only=True):
    """A source that there is, but not here."""

    source: str
    metrics: tuple[str, ...]
    platforms: tuple[str, ...]
    why: Message


class Accuracy(msgspec.Struct, frozen=True, kw_only=True):
    """Every figure beside the truth."""

    date: str
    boot_id: str | None
    platforms: tuple[str, ...]
    workers: tuple[int, ...]
    trials: int
    seconds: float
    #: ``finished``, or ``budget``.
    ended: str
    lines: tuple[Line, ...]
    unchecked: tuple[Unchecked, ...] = ()
    notes: tuple[Said, ...] = ()
    #: Of so many programs in a place, by degree of parallelism, so many were never measured.
    cells: int = 0
    unmeasured: int = 0

    @property
    def judged(self) -> tuple[Line, ...]:
        """What tare uses, and of which something is promised."""
        return tuple(one for one in self.lines if one.used and one.verdict != "none")

    @property
    def off(self) -> tuple[Line, ...]:
        """What tare uses, and what is not as promised."""
        return tuple(one for one in self.judged if one.verdict == "no")

    @property
    def open(self) -> tuple[Line, ...]:
        """What tare uses, and what is inconclusive."""
        return tuple(one for one in self.judged if one.verdict == "inconclusive")

    @property
    def few(self) -> int:
        """The least number of trials that a figure rests on, where too few for an interval."""
        timed = (one for one in self.judged if one.promised != (0.0, 0.0))
        return min((one.n for one in timed if one.low is None), default=0)

    @property
    def verdict(self) -> Literal["yes", "no", "inconclusive"]:
        """Whether all that is used is as specified."""
        if self.off:
            return "no"
        doubtful = self.open or self.few or self.unmeasured or not self.judged
        return "inconclusive" if doubtful else "yes"

    @property
    def doubtful_unused(self) -> tuple[Line, ...]:
        """What is off or inconclusive, but where something better is used."""
        return tuple(o for o in self.lines if o.verdict in ("no", "inconclusive") and not o.used)

    def head(self) -> dict[str, Line]:
        """Return the lines that stand for all: of the program that is off most, as in the table.

        On the first platform that has any, with the fewest workers.
        """
        found = {}
        for name, metric in _HEAD.items():
            some = [one for one in self.lines if one.metric == metric and one.used]
            if some:
                first = min(map(self._place, some))
                there = (one for one in some if self._place(one) == first)
                found[name] = max(there, key=lambda one: one.badness)
        return found

    def _place(self, line: Line) -> tuple[int, int]:
        """Where a line stands among platforms and workers."""
        return self.platforms.index(line.platform), line.workers


class FalseAlarms(msgspec.Struct, frozen=True, kw_only=True):
    """Comparisons of a program with itself."""

    date: str
    boot_id: str | None
    platform: str
    comparisons: int
    alarms: int
    #: So many, or more, are too many for a rate of 5 %.
    limit: int
    #: The true rate is below this, 95 % sure (exact, one-sided).
    rate_below: float
    verdicts: dict[str, int]
    pairs: int
    seconds: float

    @property
    def consistent(self) -> bool:
        """Whether the alarms may come from a rate of 5 %."""
        return self.alarms < self.limit

    @property
    def close(self) -> bool:
        """Whether there are enough comparisons to say that the rate is near what is claimed."""
        return self.rate_below <= _NEAR


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that is known of tare itself, with this agent on this kernel."""

    version: int = VERSION
    tare: str
    agent_digest: str
    kernel: str
    seed: int
    accuracy: Accuracy | None = None
    false_alarms: FalseAlarms | None = None
    facts: tuple[Fact, ...] = ()


def now() -> str:
    """Return the moment, UTC, to the minute."""
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M")


def document(accuracy: Accuracy | None, false_alarms: FalseAlarms | None, seed: int) -> Document:
    """Put together what was found now."""
    return Document(
        tare=tare.__version__,
        agent_digest=client.digest(),
        kernel=platform.release(),
        seed=seed,
        accuracy=accuracy,
        false_alarms=false_alarms,
        facts=(*_accuracy_facts(accuracy), *_alarm_facts(false_alarms)),
    )


def keep(found: Document) -> Document:
    """Keep it for later sessions, together with what was found before of the same agent here.

    Raises
    ------
    StoreError
        If it cannot be written, or stands for nothing.
    """
    if found.accuracy is not None and not found.accuracy.head():
        raise StoreError("too little was measured", "tare selftest")
    before = _kept()
    if before is not None:
        found = document(
            found.accuracy or before.accuracy,
            found.false_alarms or before.false_alarms,
            found.seed,
        )
    state.write(state.SELFTEST, found)
    return found


def _kept() -> Document | None:
    try:
        kept = msgspec.convert(state.read(state.SELFTEST), Document)
    except msgspec.ValidationError:
        return None
    same = (kept.version, kept.agent_digest, kept.kernel) == (
        VERSION, client.digest(), platform.release(),
    )  # fmt: skip
    return kept if same else None


def _accuracy_facts(accuracy: Accuracy | None) -> list[Fact]:
    if accuracy is None:
        return []
    facts = [
        Fact(name="selftest_date", value=accuracy.date),
        Fact(name="selftest_verdict", value=accuracy.verdict),
        Fact(name="selftest_platform", value=accuracy.platforms[0]),
    ]
    for name, line in accuracy.head().items():
        stem = f"selftest_{name}_error"
        unit: Any = line.unit
        facts.append(Fact(name=f"{stem}_{unit}", value=line.median, unit=unit))
        if line.half is not None:
            facts.append(Fact(name=f"{stem}_within_{unit}", value=line.half, unit=unit))
    return facts


def _alarm_facts(found: FalseAlarms | None) -> list[Fact]:
    if found is None:
        return []
    return [
        Fact(name="selftest_false_alarms_date", value=found.date),
        Fact(name="selftest_false_alarms", value=f"{found.alarms} of {found.comparisons}"),
    ]
