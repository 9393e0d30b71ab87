"""The observer is killed: the trial in flight has failed, and the next has a new one."""

from __future__ import annotations

import contextlib
import os
import signal

import pytest

from tare.errors import AgentError
from tare.experiment.session.observer import MOST_STARTS, NoObserverError, Observer


def kill(observer: Observer) -> None:
    process = observer._agent.channel.process  # type: ignore[attr-defined]
    os.kill(process.pid, signal.SIGKILL)
    process.wait()


@pytest.fixture
def observer() -> contextlib.closing[Observer]:
    with contextlib.closing(Observer(1, context_switches=False)) as made:
        yield made


def test_what_it_missed_is_lost_and_no_more(observer: Observer) -> None:
    observer.watch(1, [])
    kill(observer)
    with pytest.raises(AgentError, match="the observer is lost"):
        observer.collect(1)
    observer.watch(2, [])
    observer.collect(2)


def test_between_trials_nothing_is_lost(observer: Observer) -> None:
    kill(observer)
    observer.watch(1, [])
    observer.collect(1)


def test_it_is_not_replaced_for_ever(observer: Observer) -> None:
    for trial in range(MOST_STARTS - 1):
        kill(observer)
        observer.watch(trial, [])
    kill(observer)
    with pytest.raises(NoObserverError):
        observer.watch(MOST_STARTS, [])
