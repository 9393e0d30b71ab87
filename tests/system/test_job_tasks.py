"""Distributed jobs in a network: their tasks are kept, and the host that slows them is named."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import busybox_image
import cli
import pytest

import tare

pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can shape a network"),
]
JOB = Path(__file__).parent.parent / "data" / "shuffle"
EXPERIMENT = """
[experiment]
name = "shuffle"
question = "Which host slows the job?"
trials = {trials}
fingerprint = false
[[workload]]
application = "{job}"
{arguments}
network = ["bucket high=1Gbit low=100Mbit budget=500Mbit initial=20Mbit"]
[network]
hosts = 4
budget = "reset"
log = "20 ms"
serve = [["python3", "{worker}"]]
"""


@pytest.fixture
def job(tmp_path: Path) -> Path:
    """Return the folder of an application, whose image is a directory with busybox in it."""
    folder = tmp_path / "job"
    shutil.copytree(JOB, folder)
    busybox_image.make(folder / "root", "sh", "cat", "rm", "nc", "echo")
    tmp_path.chmod(0o755)
    return folder


def run(
    tmp_path: Path, arguments: str, trials: int, constants: Mapping[str, object] | None = None
) -> Any:
    text = EXPERIMENT.format(
        arguments=arguments, trials=trials, worker=JOB / "worker.py", job=tmp_path / "job"
    )
    (tmp_path / "shuffle.toml").write_text(text)
    out = tmp_path / "out"
    words = ["experiment", "run", str(tmp_path / "shuffle.toml"), "--out", str(out)]
    return cli.run(*words, constants=constants)


def finding(tmp_path: Path) -> Any:
    file = tmp_path / "found.json"
    cli.run("experiment", "report", str(tmp_path / "out"), "--json", str(file))
    found = [one["finding"] for one in json.loads(file.read_text())["sections"]]
    return next(one for one in found if one["name"] == "task_stragglers")


def test_a_host_that_others_wait_for_is_named_with_its_bucket(tmp_path: Path, job: Path) -> None:
    done = run(tmp_path, "bytes = 400000\nsends = 3\n[factors]", trials=6)
    assert done.returncode == 0, done.stdout + done.stderr
    results = tare.open(tmp_path / "out")
    tasks = results.tasks()
    assert len(tasks) == 6 * 12
    assert set(tasks["host"]) == {2, 3, 4}
    whole = results.trials().set_index("trial")["duration_ns"]
    ends = (tasks["start_ns"] + tasks["duration_ns"]).groupby(tasks["trial"]).max()
    assert (tasks["start_ns"] >= 0).all()
    assert (ends <= whole[ends.index]).all()
    reduced = tasks[tasks["stage"].astype(str).str.startswith("reduce")]
    assert reduced.groupby("host")["read_bytes"].max().to_dict() == {
        2: 4_400_000, 3: 800_000, 4: 4_400_000,
    }  # fmt: skip
    sends, empty = (
        next(one["args"] for one in finding(tmp_path)["answer"] if words in one["text"])
        for words in ("of it while", "other's in at")
    )
    assert (sends["host"], empty["host"]) == (3, 3)
    assert empty["empty"]["value"] > 0.5
    csv = cli.run("export", str(tmp_path / "out"), "--table", "tasks").stdout
    assert len(csv.splitlines()) == 1 + len(tasks)


#: Writes a file of tasks that is not valid, by the name of the mistake.
LEAVES = """\
test $0 = nothing && exit 0
{ echo host,start_ns,duration_ns,stage,task
  test $0 = early && echo 2,5,5,s,t
  test $0 = elsewhere && echo 9,5,5,s,t
  true
} >/tmp/tasks.csv
"""
MISTAKES = {
    "nothing": "left no plain file or directory /tmp/tasks.csv",
    "empty": "left no task",
    "early": "not within the trial",
    "elsewhere": "no host of the network",
}


def test_a_job_without_tasks_of_its_own_is_not_valid(tmp_path: Path, job: Path) -> None:
    file = job / "application.toml"
    before, _, after = file.read_text().partition("command = [")
    after = after.partition("]\n")[2]
    (job / "root" / "application" / "leave").write_text(LEAVES)
    command = ["sh", "-c", ". /application/leave", "{left}", "{bytes}{sends}{computes}"]
    left = '[parameters.left]\nmeaning = "what is left"\ndefault = "nothing"\n'
    file.write_text(f"{before}command = {json.dumps(command)}\n{after}\n{left}")
    arguments = f"[factors]\nleft = {json.dumps(list(MISTAKES))}"
    assert run(tmp_path, arguments, trials=1, constants=cli.FAIL_ONCE).returncode != 0
    failed = tare.open(tmp_path / "out").trials().set_index("left")
    assert failed["status"].to_dict() == dict.fromkeys(MISTAKES, "failed")
    for mistake, why in MISTAKES.items():
        assert why in failed["reason"][mistake]
    assert not (tmp_path / "out" / "tasks").exists()


def test_what_a_trial_left_is_not_taken_for_the_next_ones(tmp_path: Path, job: Path) -> None:
    file = job / "application.toml"
    file.write_text(file.read_text().replace(">/tmp/tasks.csv", "| cat >>/tmp/tasks.csv"))
    assert run(tmp_path, "bytes = 1000\n[factors]", trials=2).returncode == 0
    assert tare.open(tmp_path / "out").tasks().groupby("trial").size().tolist() == [12, 12]
