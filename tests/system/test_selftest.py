"""``tare selftest`` on the real machine: structure and what is exact; errors are the machine's."""

from __future__ import annotations

import json
import os
import subprocess
from typing import Any

import cli
import pytest

from tare.agent import client
from tare.features.machine.selftest.control import rate_below
from tare.features.machine.selftest.programs import PROGRAMS

pytestmark = pytest.mark.system


def tare(*words: str, codes: tuple[int, ...] = (0, 1)) -> subprocess.CompletedProcess[str]:
    done = cli.run("selftest", "--no-store", *words)
    assert done.returncode in codes, done.stdout + done.stderr
    return done


def selftest(*words: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(tare("--json", "-", *words).stdout)
    return found


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_a_program_tells_its_truth(program: Any) -> None:
    if program.timeout_s is not None:
        pytest.skip("goes on until it is killed")
    words = [str(client.binary()), "truth", *program.words]
    started = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert started.stdout is not None
    output = started.stdout.read()
    _, status, usage = os.wait4(started.pid, 0)
    started.returncode = os.waitstatus_to_exitcode(status)
    if program.known:
        assert abs(started.returncode) in program.known.values()
        return
    assert started.returncode == 0
    told = json.loads(output.splitlines()[-1])
    own, launch = told["own"], told["launch"]
    assert own
    assert launch["wall_ns"] > 0
    # The kernel's account begins with the copy of the process that starts it.
    if "minor_faults" in own:
        assert 0 <= usage.ru_minflt - own["minor_faults"] < 2000
        assert own["minor_faults"] > launch["minor_faults"] > 0
    if "memory_bytes" in own:
        assert 0 < own["memory_bytes"] < own["memory_bytes.rusage"] <= usage.ru_maxrss * 1024


def test_programs_say_what_there_is() -> None:
    for words in ([], ["nonsense", "1"], ["spin", "much"], ["spin"], ["spin", "9" * 18]):
        done = subprocess.run(
            [str(client.binary()), "truth", *words], capture_output=True, text=True, check=False
        )
        assert done.returncode == 2
        assert "  spin " in done.stderr


@pytest.fixture(scope="module")
def accuracy(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, list[Any]]:
    """Measure once; return the screen and the lines of the document."""
    file = tmp_path_factory.mktemp("selftest") / "accuracy.json"
    words = ["-n", "2", "--workers", "1,2", "--platform", "bare", "--json", str(file)]
    screen = tare(*words).stdout
    return screen, json.loads(file.read_text())["accuracy"]["lines"]


def test_what_is_exact_is_exact_and_nothing_is_impossible(accuracy: tuple[str, list[Any]]) -> None:
    _, lines = accuracy
    assert {"wall_ns", "cpu_ns", "memory_bytes", "minor_faults"} <= {x["metric"] for x in lines}
    for line in lines:
        if line["promised"] == [0, 0]:
            assert line["verdict"] == "yes", line
        if line["metric"] in ("wall_ns", "tree_wall_ns"):
            assert "times less than" not in json.dumps(line["why"])
    assert {line["workers"] for line in lines} == {1, 2}
    daemon = {
        x["source"]: x["true"] for x in lines if (x["metric"], x["program"]) == ("cpu_ns", "daemon")
    }
    assert daemon["rusage"] < daemon["reaped"]


def test_the_screen_says_what_comes_next(accuracy: tuple[str, list[Any]]) -> None:
    said, _ = accuracy
    for line in ("Error   Wall from", "Error   CPU from", "Error   Memory from", "Next "):
        assert f"\n{line}" in said


def test_a_program_is_compared_with_itself() -> None:
    found = selftest("--false-alarms", "--budget", "1 s")["false_alarms"]
    assert found["comparisons"] == sum(found["verdicts"].values()) >= 1
    assert found["rate_below"] == rate_below(found["alarms"], found["comparisons"])


def test_what_cannot_be_asked_is_refused() -> None:
    for words, code in (
        (("--workers", "0"), 10),
        (("--workers", "x"), 10),
        (("--budget", "soon"), 10),
    ):
        assert words[0] in tare(*words, codes=(code,)).stderr
    tare("--platform", "nowhere", codes=(11,))
    tare("--false-alarms", "--platform", "bare", "--platform", "unshare", codes=(11,))
