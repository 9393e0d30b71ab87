"""Commands that are proposed after a result, typed in a shell: each runs, and none twice."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.system]

#: Exit codes of an answer, also of one that is inconclusive.
ANSWERS = (0, 1, 2)
#: Budgets that are too long to type here.
LONG = re.compile(r"--budget '?\d+ (min|h)|--budget '?[2-9]\d s")


def proposed(output: str) -> str | None:
    """Return the command that a result proposes; None: it proposes none."""
    found = re.search(r"^Next:? +(.*?)(?:   \(.*\))?$", output, re.MULTILINE)
    return None if found is None else found[1]


def follow(line: str, folder: Path, steps: int) -> list[str]:
    """Type a command and what it proposes, so many times at most; return what was typed."""
    typed: list[str] = []
    tare = f'tare() {{ {shlex.quote(sys.executable)} -m tare "$@"; }}\n'
    following: str | None = line
    while following is not None and len(typed) < steps and not LONG.search(following):
        typed.append(following)
        done = subprocess.run(
            ["sh", "-c", tare + following],
            cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode in ANSWERS, (following, done.stdout, done.stderr)
        following = proposed(done.stdout)
        assert following not in typed, typed
    return typed


@pytest.mark.parametrize(
    ("line", "then"),
    [
        ("tare run -n 1 --no-fingerprint --out a -- true", ["tare experiment report a"]),
        (
            "tare fingerprint --budget '1 s' clock",
            ["tare fingerprint --budget '1 s' clock --json machine.json"],
        ),
        (
            "tare calibrate fit --slope 2 --intercept 1.5 --range 1,9 --quota memory_mb",
            [
                "tare calibrate fit --slope 2.0 --intercept 1.5 --range 1,9 --quota memory_mb"
                " --json fit.json"
            ],
        ),
    ],
)
def test_what_is_proposed_runs_and_leads_on(line: str, then: list[str], tmp_path: Path) -> None:
    assert follow(line, tmp_path, 1 + len(then))[1:] == then


def test_a_comparison_leads_to_a_verdict_or_a_longer_budget(tmp_path: Path) -> None:
    typed = follow("tare compare --budget '500 ms' 'sleep 0.002' 'sleep 0.012'", tmp_path, 3)
    budgets = [float(re.search(r"--budget '?(\d+)", line)[1]) for line in typed[1:]]
    assert "--report report.html" in typed[-1] or budgets == sorted(set(budgets)) != []


def test_a_run_leads_to_another_platform_or_to_what_disturbs_it(tmp_path: Path) -> None:
    typed = follow("tare run -n 8 -- sleep 0.002", tmp_path, 2)
    assert re.fullmatch(
        r"tare (doctor|run (-n 8 --(platform unshare|metric cpu)|--trials \d+) -- sleep 0.002)",
        typed[1],
    )
