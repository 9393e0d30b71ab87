"""``tare run`` on several platforms: one table, in blocks, with what failed where."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import cli
import pytest

from tare.render.words import text
from tare.results.message import message

pytestmark = pytest.mark.system


def run(*words: str, check: int = 0) -> subprocess.CompletedProcess[str]:
    done = cli.run("run", *words)
    assert done.returncode == check, done.stdout + done.stderr
    return done


def test_one_table_has_all_platforms(tmp_path: Path) -> None:
    written, out = tmp_path / "run.json", tmp_path / "out"
    given = ["-n", "8", "--json", str(written), "--out", str(out), "--no-fingerprint"]
    done = run("-p", "bare", "-p", "unshare", *given, "--", "sleep", "0.02")
    title, heading, first, second, *_ = done.stdout.splitlines()
    assert title.startswith("wall time, sleep")
    assert "vs. bare" in heading
    assert "median" in heading
    assert (first.split()[0], second.split()[0]) == ("bare", "unshare")
    assert first.split()[-1] == second.split()[-1] == "8"
    (c,) = json.loads(written.read_text())["comparisons"]
    assert (c["a"], c["b"], c["n"]) == ("bare", "unshare", 8)
    assert min(min(values) for values in c["values"]) >= 0.02e9
    starts = [
        line
        for line in (out / "journal" / "1.ndjson").read_text().splitlines()
        if '"record":"trial"' in line
    ]
    assert len(starts) == 16


def test_a_platform_on_which_it_fails_is_named_and_the_others_are_shown() -> None:
    # In a namespace of their own processes have low numbers.
    line = "test $$ -gt 100 || exit 3; sleep 0.01"
    words = ["-p", "bare", "-p", "unshare", "-n", "7", "--", "sh", "-c", line]
    complaint = " ".join(run(*words, check=15).stderr.split())
    level = message(
        "{failed} of {trials | counted('trial')} of {level}: {reasons}",
        failed=10,
        trials=10,
        level="unshare",
        reasons="sh ",
    )
    assert text(level) in complaint
    assert "exit code 3" in complaint
    if os.geteuid() != 0:
        pytest.skip("only root can make control groups everywhere")
    done = run("-p", "cgroup", *words, check=15)
    assert "on unshare failed" in done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines()[2:4]] == ["bare", "cgroup"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("-p", "bare", "-p", "bare"), "is given twice"),
        (("-p", "bare", "-p", "unshare", "--quantile", "p95"), "--quantile is about one platform"),
        (("-p", "bare", "-p", "unshare", "--save", "x.json"), "--save is about one platform"),
    ],
)
def test_what_is_of_one_platform_is_refused(words: tuple[str, ...], said: str) -> None:
    assert said in run(*words, "--", "true", check=11).stderr
