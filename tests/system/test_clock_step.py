"""The time of day is set by an hour while sessions run: what they measure and keep is the same."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tare.experiment import store

pytestmark = pytest.mark.system
#: Sets what the front takes for the time of day once a trial has ended. Only the front reads
#: it: agents and the kernel stamp with clocks that nobody sets.
STEPPED = """
import datetime, sys, time, types
from tare.experiment.session import recorded_session
from tare.experiment.session.session_state import Tally
step, ended, add = float(sys.argv.pop(1)), [], Tally.add
Tally.add = lambda *given: (ended.append(1), add(*given))[1]
real, of_day = time.time, datetime.datetime
def stepped(): return real() + (step if ended else 0.0)
class Stepped(of_day):
    @classmethod
    def now(cls, tz=None): return cls.fromtimestamp(stepped(), tz)
time.time = stepped
recorded_session.datetime = types.SimpleNamespace(datetime=Stepped, UTC=datetime.UTC)
from tare.wiring import main
main()
"""


@pytest.mark.parametrize("step_s", [-3600, pytest.param(3600, marks=pytest.mark.slow)])
def test_sessions_and_trials_are_in_the_order_in_which_they_were(
    tmp_path: Path, step_s: int
) -> None:
    out, n = tmp_path / "out", 3
    for session in range(2):
        file = tmp_path / "a.toml"
        file.write_text(
            f"[experiment]\nname = 'a'\nquestion = 'b?'\ntrials = {(session + 1) * n}\n"
            "fingerprint = false\n[[workload]]\ncommand = ['sleep', '0.3']\n"
            "[factors]\nplatform = ['bare', 'unshare']\n"
        )
        done = subprocess.run(
            [
                sys.executable, "-c", STEPPED, str(step_s), "experiment", "run", str(file),
                "--out", str(out), *(["--resume"] if session else []),
            ],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
    results = store.load(out)
    assert list(results.sessions["session"]) == [1, 2]
    first, _ = results.sessions.records()
    stepped = (first["ended"] < first["started"]) == (step_s < 0)
    assert stepped, "the clock was not set"
    trials = results.trials()
    assert list(trials["status"]) == ["ok"] * 4 * n
    assert trials["trial"].is_monotonic_increasing
    assert trials["block"].is_monotonic_increasing
    assert list(trials["session"]) == [1] * 2 * n + [2] * 2 * n
    # No duration has an hour more or less.
    assert trials["duration_ns"].between(0, 60e9).all()
    starts = [
        told["monotonic_ns"]
        for number in (1, 2)
        for told in map(json.loads, (out / f"journal/{number}.ndjson").read_text().splitlines())
        if told["record"] == "trial"
    ]
    assert starts == sorted(starts)
