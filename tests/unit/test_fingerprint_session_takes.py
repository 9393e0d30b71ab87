"""When a take is repeated, and how often: a machine that is busy, calm or changed by a script."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from tare.experiment.catalogue import catalogue
from tare.experiment.fingerprints.machine.document import Figure, Fingerprint
from tare.experiment.journal import Activity, MachineFigure, MachineTake, Moment
from tare.experiment.session.request import LONG_PROBING, SHORT_PROBING, Probing
from tare.features.machine.fingerprint import brief, session_takes
from tare.features.machine.fingerprint.session_takes import SessionTakes
from tare.results.message import Amount, Message, message

CALM, BUSY = 0.02, 1.3


class Scripted:
    """Takes of a machine: how many CPUs others use in each, and what getpid takes."""

    def __init__(
        self,
        monkeypatch: pytest.MonkeyPatch,
        *script: tuple[float, float],
        probing: Probing = LONG_PROBING,
    ) -> None:
        self.script: Iterator[tuple[float, float]] = iter(script)
        self.told: list[Message] = []
        self._rng = np.random.default_rng(1)
        monkeypatch.setattr(brief, "take", self._take)
        monkeypatch.setattr(session_takes, "Watch", lambda: self)
        self.takes = SessionTakes({}, self.told.append, probing)
        self.seconds: list[float] = []

    def _take(self, seconds: float, probes: tuple[str, ...]) -> Fingerprint:
        self.seconds.append(seconds)
        self._others, level = next(self.script)
        values = tuple(map(float, level * np.exp(self._rng.normal(0, 0.01, 8))))
        figure = Figure(value=level, ci=None, unit="ns", n=8, values=values)
        return Fingerprint(
            tare="1", agent="a", started="", seconds=1, effort="brief", platform="bare",
            metrics={"syscall.getpid": figure}, curves={}, facts={},
        )  # fmt: skip

    def activity(self) -> Activity:
        return Activity(seconds=5.0, cpus=2, other_cpus=self._others)

    def count(self, moment: Moment) -> int:
        """Probe, check the lines, and return how many takes it were."""
        lines = self.takes(moment)
        takes = [line for line in lines if isinstance(line, MachineTake)]
        figures = [line for line in lines if isinstance(line, MachineFigure)]
        assert [one.take for one in takes] == list(range(1, len(takes) + 1))
        assert [one.take for one in figures] == [one.take for one in takes]
        assert {one.moment for one in (*takes, *figures)} == {moment}
        return len(takes)


def again(repeat: int, why: Message) -> Message:
    return message(
        "probing the machine again, {repeat} of {most} at most: {why}",
        repeat=repeat,
        most=3,
        why=why,
    )


def test_a_calm_machine_is_probed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Scripted(monkeypatch, (CALM, 80), (CALM, 80))
    assert (machine.count("before"), machine.count("after")) == (1, 1)
    assert machine.told == []


def test_a_disturbed_take_is_repeated_until_one_is_calm(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Scripted(monkeypatch, (BUSY, 200), (BUSY, 190), (CALM, 80))
    assert machine.count("before") == 3
    busy = message("others use {share} of it", share=Amount(0.65, "share"))
    assert machine.told == [again(1, busy), again(2, busy)]


def test_it_is_given_up_after_some(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Scripted(monkeypatch, *[(BUSY, 200)] * 9)
    assert machine.count("before") == 1 + LONG_PROBING.repeats
    assert machine.count("after") == 1 + LONG_PROBING.repeats


def test_what_differs_from_before_is_looked_at_once_more(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Scripted(monkeypatch, (CALM, 80), (CALM, 140), (CALM, 80))
    assert (machine.count("before"), machine.count("after")) == (1, 2)
    assert machine.told == [again(1, message("it differs from before"))]
    real = Scripted(monkeypatch, (CALM, 80), (CALM, 140), (CALM, 140))
    assert (real.count("before"), real.count("after")) == (1, 2)


def test_what_differs_while_others_disturb_is_repeated_for_that(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    machine = Scripted(monkeypatch, (CALM, 80), (BUSY, 140), (CALM, 80))
    assert (machine.count("before"), machine.count("after")) == (1, 2)


def test_short_probing_is_never_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Scripted(monkeypatch, (BUSY, 80), (CALM, 140), probing=SHORT_PROBING)
    assert (machine.count("before"), machine.count("after")) == (1, 1)
    assert machine.told == []
    assert machine.seconds == [SHORT_PROBING.seconds] * 2
    assert sum(machine.seconds) < 3


def test_short_probing_fits_seven_rounds() -> None:
    """As the probes say that their rounds take; fewer show no change."""
    probes = catalogue().probes
    brief_s = [probes[name].seconds.brief for name in SHORT_PROBING.probes]
    assert 7 * sum(one or 0.0 for one in brief_s) < 0.97 * SHORT_PROBING.seconds
