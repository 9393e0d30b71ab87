"""What the doctor reports on the real machine; it changes nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import cli
import pytest

from tare.features.machine.doctor import checks

pytestmark = pytest.mark.system


def doctor(*words: str, check: int | None = 0) -> subprocess.CompletedProcess[str]:
    done = cli.run("doctor", *words)
    if check is not None:
        assert done.returncode == check, done.stdout + done.stderr
    return done


def test_it_tells_what_it_sees_and_whether_anything_is_bad() -> None:
    done = doctor("--quick", "--json", "-", check=None)
    told: dict[str, Any] = json.loads(done.stdout)
    assert done.returncode == (1 if told["unfit"] else 0)
    assert set(told["checks"]) == set(checks.units())
    assert told["checks"]["cores"]["value"]["args"]["online"]
    bad = {name for name, one in told["checks"].items() if one["verdict"] == "fail"}
    assert set().union(*told["unfit"].values()) == bad if told["unfit"] else not bad


def test_it_listens_to_noise_and_names_who_makes_the_load() -> None:
    argv = [sys.executable, "-c", "while True: pass"]
    with subprocess.Popen(argv) as busy:
        try:
            done = doctor("--noise-window", "500 ms", "--json", "-", check=1)
        finally:
            busy.kill()
    told = json.loads(done.stdout)["checks"]
    assert told["noise"]["verdict"] in ("ok", "fail")
    assert told["noise"]["value"]["text"]
    assert told["load"]["verdict"] == "fail"
    assert Path(sys.executable).resolve().name[:6] in str(told["load"]["value"]["args"]["users"])


def test_a_terminal_without_signs_gets_the_words() -> None:
    done = subprocess.run(
        [*cli.TARE, "doctor", "--quick", "--all"], capture_output=True, text=True, timeout=60,
        check=False, env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )  # fmt: skip
    assert done.returncode in (0, 1), done.stderr
    assert "? ok" in done.stdout


def test_a_purpose_restricts_what_is_judged() -> None:
    done = doctor("--quick", "--purpose", "accounting", check=None)
    assert "wall times" not in done.stdout
    assert doctor("--purpose", "sports", check=10).stderr
