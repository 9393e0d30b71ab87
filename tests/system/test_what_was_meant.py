"""Commands as people type them: what is measured is what they mean, and reasons are true."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import cli
import pytest

pytestmark = pytest.mark.system


@pytest.mark.skipif(os.geteuid() != 0, reason="a quota needs root")
def test_a_quota_throttles_a_command_and_nobody_else_is_blamed(tmp_path: Path) -> None:
    loop = "from time import process_time as used\nwhile used() < 0.05: pass"
    file = tmp_path / "run.json"
    done = cli.run(
        "run",
        "-n",
        "6",
        "--size",
        "0.1c",
        "--json",
        str(file),
        "--",
        "/usr/bin/python3",
        "-c",
        loop,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(file.read_text())["summary"]["disturbance"]
    assert found["what"] == "throttling"
    assert found["share"] > 0.5


def test_commands_that_need_each_other_are_told_that_their_order_is_random(tmp_path: Path) -> None:
    """The second one reads and removes what the first one writes."""
    for name, lines in (("write", "echo x > data"), ("take", "set -e; cat data; rm data")):
        (tmp_path / name).write_text(f"#!/bin/sh\n{lines}\n")
        (tmp_path / name).chmod(0o755)
    given = ("-n", "8", "--ignore-failure=3", "--shell", "none")
    done = cli.run("run", *given, "./write", "./take", cwd=tmp_path)
    assert "of take" in done.stdout
    assert "No such file or directory" in done.stdout
    assert "the commands run in random order" in done.stdout
    mended = ("--prepare", "", "--prepare", "./write")
    done = cli.run("run", *given, *mended, "./write", "./take", cwd=tmp_path)
    assert (done.returncode, "Failed" in done.stdout) == (0, False), done.stdout


def test_parameters_multiply_and_each_has_its_name(tmp_path: Path) -> None:
    """Steps of a tenth are no 0.30000000000000004, and hyperfine's format has each parameter."""
    made = {}
    for number, given in enumerate([
        ("-P", "t", "0.1", "0.3", "-D", "0.1", "sleep {t}"),
        ("-P", "a", "1", "2", "-L", "b", "3,4", "--name", "both", "sleep 0.0{a}{b}"),
        ("-L", "n", "1,2", "--name", "sleep-{n}", "sleep 0.0{n}"),
    ]):  # fmt: skip
        file = tmp_path / f"{number}.json"
        done = cli.run("run", "-n", "6", "--export-json", str(file), *given)
        assert done.returncode == 0, done.stderr
        results = json.loads(file.read_text())["results"]
        made[number] = [(one["command"], one["parameters"]) for one in results]
    assert [parameters for _, parameters in made[0]] == [{"t": t} for t in ("0.1", "0.2", "0.3")]
    assert [parameters for _, parameters in made[1]] == [
        {"a": a, "b": b} for a in ("1", "2") for b in ("3", "4")
    ]
    assert [name for name, _ in made[2]] == ["sleep-1", "sleep-2"]
    audited = tmp_path / "audit.json"
    assert cli.run("audit", str(tmp_path / "1.json"), "--json", str(audited)).returncode < 10
    series = json.loads(audited.read_text())["series"]
    assert len(series) == len({str(one["key"]) for one in series}) == 4


def test_parallel_judging_is_advised_with_the_trials_that_a_limit_needs(tmp_path: Path) -> None:
    (tmp_path / "judging.toml").write_text("""
[experiment]
name = "judging"
question = "How many at a time?"
trials = 8
limit = "1 s"
fingerprint = false
[[workload]]
name = "sleep"
command = ["sleep", "0.02"]
[factors]
workers = [1, 2]
""")
    done = cli.run("experiment", "run", "judging.toml", cwd=tmp_path)
    assert "8 trials cannot show that at most 1 % are misjudged, which needs 299" in done.stdout
    assert re.search(r"[Rr]un (at most )?[12] (worker )?at a time", done.stdout), done.stdout
    command = "tare experiment run judging.toml --out judging --resume --trials 299"
    assert command in done.stdout
