"""A task set: each run judged by its program's own plan, on real platforms, and gone on with."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import time
from collections import Counter
from pathlib import Path

import cli
import layers
import pytest

from tare import platforms
from tare.features.tasks.folder import load
from tare.features.tasks.runs import Runs

pytestmark = [pytest.mark.system, pytest.mark.timeout(300)]
SOURCE = Path(__file__).parents[1] / "data/task.c"
#: What an input says, and how its run must end.
ENDS = {
    "sum 2 3": "correct",
    "wrong 2 3": "wrong",
    "spin 0 0": "cpu_time",
    "sleep 0 0": "timeout",
    "eat 200 1": "out_of_memory",
    "flood 0 0": "output",
    "fork 20 0": "processes",
    "fault 1 1": "crashed",
    "kill 1 1": "killed",
    "exit 1 1": "crashed",
}
FILE = """
[tasks]
files = "tasks/*.in"
{judge}
parallel = {parallel}
trials = {trials}
timeout = "3 s"
enforce = {{ cpu = "250 ms", memory = "64 MiB", output = "100 kB", processes = 16 }}
[factors]
platform = [{platforms}]
[[workload]]
name = "task"
command = ["./program"]
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    tmp_path.chmod(0o755)
    (tmp_path / "tasks").mkdir()
    words = ["gcc", "-O1", "-static", "-o", tmp_path / "program", SOURCE]
    subprocess.run(words, check=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def tare(*words: str, code: int = 0) -> str:
    """Run a command to its end, and return what it said."""
    ended = cli.run(*words)
    assert ended.returncode == code, ended.stderr
    return ended.stdout + ended.stderr


def give(folder: Path, inputs: list[str]) -> None:
    """Write tasks: inputs, and the sum that is correct."""
    for number, text in enumerate(inputs):
        (folder / f"tasks/{number}.in").write_text(f"{text}\n")
        _, a, b = text.split()
        (folder / f"tasks/{number}.out").write_text(f"{int(a) + int(b)}\n")


def written(
    *names: str, judge: str = 'expected = "*.out"', parallel: int = 1, trials: int = 1
) -> str:
    quoted = ", ".join(f'"{name}"' for name in names)
    return FILE.format(judge=judge, parallel=parallel, trials=trials, platforms=quoted)


def ends(runs: Runs) -> dict[str, set[str]]:
    """Return the results of each task by its name."""
    found: dict[str, set[str]] = {name: set() for name in runs.tasks}
    for task, result in zip(runs.table["task"], runs.table["result"], strict=True):
        found[runs.tasks[task]].add(result)
    return found


@pytest.mark.parametrize(
    "platform", layers.each(["bare", "bubblewrap", "nspawn", "runc", "docker", "gvisor"])
)
def test_every_end_is_told_from_the_others(here: Path, platform: str) -> None:
    available = platforms.availability(platform)
    if not available.works:
        pytest.skip(f"{platform}: {available.why}")
    # What comes after each that is no solution must be sound.
    inputs = [text for one in ENDS for text in (one, "sum 4 5")]
    give(here, inputs)
    (here / "set.toml").write_text(written(platform))
    tare("tasks", "run", "set.toml", "--out", "out")
    runs = load([here / "out"])
    expected = {
        f"tasks/{number}.in": {ENDS.get(text, "correct")} for number, text in enumerate(inputs)
    }
    assert ends(runs) == expected
    status = {row["task"]: row["exit_status"] for row in runs.table.records()}
    at = {text: runs.tasks.index(f"tasks/{inputs.index(text)}.in") for text in ENDS}
    assert status[at["exit 1 1"]] == 3
    assert status[at["fault 1 1"]] == -signal.SIGSEGV
    assert status[at["kill 1 1"]] == -signal.SIGKILL


def test_a_program_that_cannot_be_started_is_said_first_with_what_to_do(here: Path) -> None:
    give(here, [f"sum {n} {n + 1}" for n in range(14)])
    file = written("bare", "bubblewrap", parallel=2)
    # Outside of the system's directories, and of what the command names.
    tool = here / "hidden" / "tool"
    tool.parent.mkdir()
    tool.write_text("#!/bin/sh\nread -r _ a b; echo $((a + b))\n")
    tool.chmod(0o755)
    line = f'command = ["sh", "-c", "exec {tool} <$0", "{{task}}"]'
    command = file.replace('command = ["./program"]', line)
    (here / "set.toml").write_text(command)
    available = platforms.availability("bubblewrap")
    if not available.works:
        pytest.skip(f"bubblewrap: {available.why}")
    said = " ".join(tare("tasks", "run", "set.toml", code=15).split())
    crashed = "bubblewrap: all 10 runs crashed alike, so it is compared with nothing:"
    assert said.partition("Caveat: ")[2].startswith(f"{crashed} /usr/bin/sh ended with")
    assert 'hint: show = "/FOLDER" under [platforms.bubblewrap] in the file' in said
    assert "more and" not in said
    table = load([here / "set"]).table
    assert Counter(table["result"]) == {"correct": 14, "crashed": 10}
    shown = f'{command}\n[platforms.bubblewrap]\nshow = "{tool.parent}"\n'
    (here / "set.toml").write_text(shown)
    tare("tasks", "run", "set.toml", "--out", "shown")
    assert set(load([here / "shown"]).table["result"]) == {"correct"}


def test_lanes_run_side_by_side_and_every_trial_is_there(here: Path) -> None:
    cpus = len(os.sched_getaffinity(0))
    if cpus < 2:
        pytest.skip("one CPU")
    give(here, [f"sum {n} {n + 1}" for n in range(40)])
    (here / "set.toml").write_text(written("bare", parallel=2, trials=3))
    tare("tasks", "run", "set.toml")
    table = load([here / "set"]).table
    assert set(table["result"]) == {"correct"}
    assert Counter(zip(table["task"], table["trial"], strict=True)) == Counter(
        (task, trial) for task in range(40) for trial in (1, 2, 3)
    )


def test_a_killed_session_is_gone_on_with(here: Path) -> None:
    give(here, [f"sum {n} 1" for n in range(60)] + ["sleep 0 0"])
    (here / "set.toml").write_text(written("bare", parallel=1))
    front = cli.start("tasks", "run", "set.toml")
    journal = here / "set/journal/1.ndjson"
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and front.poll() is None:
        if journal.exists() and journal.read_bytes().count(b'"record":"run"') > 4:
            break
        time.sleep(0.02)
    front.send_signal(signal.SIGKILL)
    front.wait()
    kept = len(load([here / "set"]).table)
    assert kept > 4
    assert "--resume" in tare("tasks", "run", "set.toml", code=14)
    tare("tasks", "run", "set.toml", "--resume")
    table = load([here / "set"]).table
    assert sorted(table["task"]) == list(range(61))
    assert Counter(table["result"]) == {"correct": 60, "timeout": 1}
    assert "complete" in tare("tasks", "run", "set.toml", "--resume")


def test_a_checker_judges_as_a_user_would(here: Path) -> None:
    give(here, ["sum 2 3", "wrong 2 3", "sum 9 9", "sum 5 6", "sum 6 5"])
    (here / "tasks/2.out").write_text("crash\n")
    (here / "tasks/3.out").write_text("sleep\n")
    checker = here / "checker"
    checker.write_text(
        '#!/bin/sh\nread wanted < "$3"\nread got < "$2"\n'
        "case $wanted in crash) exit 7;; sleep) sleep 60;; esac\n"
        'echo "saw $got" >&2\ntest "$got" = "$wanted"\n'
    )
    checker.chmod(0o755)
    judge = 'expected = "*.out"\nchecker = ["./checker"]\nchecker_timeout = "1 s"'
    (here / "set.toml").write_text(written("bare", judge=judge))
    tare("tasks", "run", "set.toml", code=18)
    runs = load([here / "set"])
    by_task = {runs.tasks[row["task"]]: row for row in runs.table.records()}
    found = {task: row["result"] for task, row in by_task.items()}
    assert found == {
        "tasks/0.in": "correct", "tasks/1.in": "wrong", "tasks/2.in": "unchecked",
        "tasks/3.in": "unchecked", "tasks/4.in": "correct",
    }  # fmt: skip
    assert by_task["tasks/1.in"]["why"] == "saw 6"


def test_a_broken_checker_judges_nobody(here: Path) -> None:
    """It is tried on what is known to be correct, and mended the set goes on where it was."""
    give(here, ["sum 2 3", "wrong 2 3"])
    checker = here / "checker"
    checker.write_text("#!/bin/sh\nexit 9\n")
    checker.chmod(0o755)
    judge = 'expected = "*.out"\nchecker = ["./checker"]'
    (here / "set.toml").write_text(written("bare", judge=judge))
    assert "ended with exit code 9" in tare("tasks", "run", "set.toml", code=15)
    assert not load([here / "set"]).table
    # One that calls everything wrong is said to, by name: what is expected need not be an output.
    checker.write_text("#!/bin/sh\necho no >&2\nexit 1\n")
    told = tare("tasks", "run", "set.toml", "--out", "strict")
    assert "does not call the expected output of tasks/0.in correct: no" in " ".join(told.split())
    checker.write_text('#!/bin/sh\ncmp "$2" "$3"\n')
    tare("tasks", "run", "set.toml", "--resume")
    assert ends(load([here / "set"])) == {"tasks/0.in": {"correct"}, "tasks/1.in": {"wrong"}}
    # Now there are runs of this checker.
    checker.write_text("#!/bin/sh\nexit 0\n")
    refused = tare("tasks", "run", "set.toml", "--resume", code=11)
    assert "checker changed" in " ".join(refused.split())
    checker.unlink()
    assert "is no program" in tare("tasks", "run", "set.toml", "--out", "none", code=11)


def test_many_small_processes_run_out_of_memory_before_who_runs_them(here: Path) -> None:
    give(here, ["swarm 90 1", "sum 2 3", "swarm 2 1", "sum 4 5"])
    (here / "set.toml").write_text(written("bare").replace("processes = 16", "processes = 200"))
    tare("tasks", "run", "set.toml")
    assert ends(load([here / "set"])) == {
        "tasks/0.in": {"out_of_memory"}, "tasks/1.in": {"correct"}, "tasks/2.in": {"correct"},
        "tasks/3.in": {"correct"},
    }  # fmt: skip


def test_who_ends_what_runs_it_has_not_solved_its_task(here: Path) -> None:
    """A run that is lost once is done again; those after it are sound."""
    give(here, ["sum 1 1", "sum 2 2", "sum 3 3"])
    program = here / "program"
    program.rename(here / "solution")
    program.write_text(
        '#!/bin/sh\nread what a b\ntest "$a" = 2 && kill -9 $PPID && sleep 5\necho $((a + b))\n'
    )
    program.chmod(0o755)
    (here / "set.toml").write_text(written("bare"))
    tare("tasks", "run", "set.toml")
    assert ends(load([here / "set"])) == {
        "tasks/0.in": {"correct"}, "tasks/1.in": {"killed"}, "tasks/2.in": {"correct"},
    }  # fmt: skip


#: Answers with the expected output of its task, wherever that could be read.
CHEAT = """#!/bin/sh
name=$(basename "$1" .in)
for file in "${{1%.in}}.out" "{tasks}/$name.out"; do
    [ -r "$file" ] && [ -s "$file" ] && exec cat "$file"
done
for file in "{tasks}/../out/tasks.json" "{tasks}"/../out/journal/*; do
    [ -r "$file" ] && [ -s "$file" ] && echo results
done
echo nothing
"""


def cheat(here: Path, platform: str) -> None:
    give(here, ["sum 2 3", "sum 4 5"])
    (here / "cheat").write_text(CHEAT.format(tasks=here / "tasks"))
    (here / "cheat").chmod(0o755)
    text = written(platform).replace('["./program"]', '["./cheat", "{task}"]')
    (here / "set.toml").write_text(text)


@pytest.mark.parametrize(
    "platform",
    layers.each(
        ["bare", "unshare", "bubblewrap", "nspawn", "runc", "docker", "gvisor", "isolate"],
        always=("bare", "unshare", "bubblewrap", "docker"),
    ),
)
def test_expected_outputs_are_hidden_or_said_to_be_readable(here: Path, platform: str) -> None:
    available = platforms.availability(platform)
    if not available.works:
        pytest.skip(f"{platform}: {available.why}")
    cheat(here, platform)
    said = tare("tasks", "run", "set.toml", "--out", "out")
    readable = platform == "bare"
    assert set(load([here / "out"]).table["result"]) == {"correct" if readable else "wrong"}
    assert ("can read the expected outputs" in said) == readable
    # Also not from the digests of the plan and the first differences in the journal.
    assert readable or "results" not in json.dumps(
        [*load([here / "out"]).table["why"]], default=str
    )
    assert (here / "tasks/0.out").read_text() == "5\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
@pytest.mark.parametrize(("platform", "mode"), [("bare", 0o600), ("unshare", 0o644)])
def test_under_sudo_expected_outputs_are_hidden(
    platform: str, mode: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        here = Path(name)
        here.chmod(0o755)
        (here / "tasks").mkdir()
        monkeypatch.chdir(here)
        cheat(here, platform)
        for file in (here / "tasks").glob("*.out"):
            file.chmod(mode)
        caller = {"SUDO_UID": "65534", "SUDO_GID": "65534", "SUDO_USER": "nobody"}
        ended = cli.run("tasks", "run", "set.toml", "--out", "out", env=os.environ | caller)
        assert ended.returncode == 0, ended.stderr
        runs = load([here / "out"]).table
        assert set(runs["result"]) == {"wrong"}
        assert "results" not in json.dumps([*runs["why"]], default=str)
        assert "can read the expected outputs" not in ended.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only root looks into instances")
@pytest.mark.parametrize("platform", ["bubblewrap", "docker"])
def test_what_a_program_leaves_in_memory_is_not_the_next_ones(here: Path, platform: str) -> None:
    available = platforms.availability(platform)
    if not available.works:
        pytest.skip(f"{platform}: {available.why}")
    for number in range(4):
        (here / f"tasks/{number}.in").write_text("")
        (here / f"tasks/{number}.out").write_text("0 files")
    script = "echo $(ls /tmp | wc -l) files; head -c 3000000 /dev/zero > /tmp/$$"
    text = written(platform).replace('["./program"]', json.dumps(["sh", "-c", script]))
    (here / "set.toml").write_text(text.replace('output = "100 kB"', 'output = "9 MB"'))
    tare("tasks", "run", "set.toml", "--out", "out")
    assert set(load([here / "out"]).table["result"]) == {"correct"}


def test_a_program_that_replaces_the_checker_ends_the_set(here: Path) -> None:
    give(here, ["sum 2 3", "sum 4 5", "sum 6 7"])
    (here / "check").write_text("#!/bin/sh\nexit 1\n")
    (here / "cheat").write_text(f"#!/bin/sh\nprintf '#!/bin/sh\\nexit 0\\n' > {here}/check\n")
    for name in ("check", "cheat"):
        (here / name).chmod(0o755)
    judge = 'expected = "*.out"\nchecker = ["./check"]'
    text = written("bare", judge=judge).replace('["./program"]', '["./cheat"]')
    (here / "set.toml").write_text(text)
    said = tare("tasks", "run", "set.toml", "--out", "out", code=15)
    assert "check was changed while the set ran" in said


#: Holds memory that no process has resident.
HIDDEN_MEMORY = """
import os
file = os.memfd_create("x")
for _ in range(400):
    os.write(file, bytes(1 << 20))
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root holds sandboxes")
@pytest.mark.parametrize("platform", ["bubblewrap", "docker"])
def test_memory_that_no_process_has_resident_is_limited_too(here: Path, platform: str) -> None:
    available = platforms.availability(platform)
    if not available.works:
        pytest.skip(f"{platform}: {available.why}")
    give(here, ["sum 2 3", "sum 4 5"])
    python = json.dumps([os.path.realpath("/usr/bin/python3"), "-c", HIDDEN_MEMORY])
    text = written(platform).replace('["./program"]', python)
    text = text.replace('cpu = "250 ms"', 'cpu = "2 s"').replace('output = "100 kB", ', "")
    (here / "set.toml").write_text(text)
    tare("tasks", "run", "set.toml", "--out", "out")
    assert set(load([here / "out"]).table["result"]) == {"out_of_memory"}
