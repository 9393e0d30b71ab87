"""How often ``tare ci`` and ``git bisect run`` are right about programs whose times vary."""

from __future__ import annotations

import random
import subprocess
import tempfile
from collections import Counter
from pathlib import Path

import cli
import made_repository
import pytest
from made_repository import BUILD, git, make, work

pytestmark = [pytest.mark.system, pytest.mark.slow]

PLANTED, GATE = 0.04, "2%"
COMMITS = 30


def gate(
    folder: Path, head: str, base: str, seed: int, min_trials: str = "7", gate: str = GATE
) -> int:
    """Compare two commits with these files work.h; return the exit code."""
    repository = Path(tempfile.mkdtemp(dir=folder)) / "repository"
    make(repository, [{"work.h": text} for text in (base, head)])
    env = made_repository.environment()
    words = ("--build", BUILD, "--gate", gate, "--min-trials", min_trials, "--seed", str(seed))
    return cli.run("ci", *words, "--", "./work", cwd=repository, env=env).returncode


@pytest.mark.timeout(3600)
def test_the_gate_finds_what_was_planted_and_nothing_else(tmp_path: Path) -> None:
    base = work(real=True)
    slower, same = work(PLANTED, real=True), f"{base}/* another */\n"
    planted = Counter(gate(tmp_path, slower, base, seed) for seed in range(20))
    equal = Counter(gate(tmp_path, same, base, seed) for seed in range(20))
    print(f"planted {PLANTED:.0%}: {dict(planted)}, equal: {dict(equal)}")
    # 0 to 2 are all answers. What is inconclusive on a busy machine is none of both.
    assert set(planted) <= {1, 2}
    assert planted[1] >= 14
    assert set(equal) <= {0, 2}
    assert equal[0] >= 14


@pytest.mark.timeout(3600)
def test_a_candidate_that_fails_in_a_tenth_of_its_runs_is_seen_to(tmp_path: Path) -> None:
    """As many trials as by default: one fails in 99 % of comparisons."""
    found = Counter(
        gate(tmp_path, work(FAIL_ONE_IN=10), work(), seed, "44", "50%") for seed in range(20)
    )
    print(f"a tenth fails: {dict(found)}")
    assert set(found) <= {0, 1}
    # Fewer than 18 have a probability below 0.001.
    assert found[1] >= 18


@pytest.mark.timeout(3600)
def test_bisect_finds_the_planted_commit_and_names_no_other(tmp_path: Path) -> None:
    found = 0
    for seed in range(10):
        culprit = random.Random(seed).randrange(1, COMMITS)
        texts = [work(PLANTED * (n >= culprit), real=True) for n in range(COMMITS)]
        repository = tmp_path / str(seed)
        hashes = make(
            repository, [{"work.h": f"{text}/* {n} */\n"} for n, text in enumerate(texts)]
        )
        git(repository, "bisect", "start", hashes[-1], hashes[0])
        done = subprocess.run(
            [
                "git", "bisect", "run", cli.program(), "ci", "--bisect", "--base", hashes[0],
                "--build", BUILD, "--gate", GATE, "--", "./work",
            ],
            cwd=repository, env=made_repository.environment(), text=True, check=False,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        steps = done.stdout.count("running ")
        named = [one for one in hashes if f"{one} is the first bad commit" in done.stdout]
        skipped = "first bad commit could be any of" in done.stdout
        right = named == [hashes[culprit]]
        print(f"seed {seed}: commit {culprit}, {steps} steps, {right=}, {skipped=}")
        assert right or (not named and skipped), done.stdout
        found += bool(named)
    assert found >= 9
