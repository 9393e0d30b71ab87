"""Processes that outlive a command are named, with what became of them and what counts them."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import cli
import pytest

pytestmark = pytest.mark.system

#: Ends at once; a process of its own session, without standard streams, burns 200 ms of CPU.
LEAVES = """
#include <time.h>
#include <unistd.h>
int main(int count, char **words) {
    struct timespec used;
    if (fork()) return 0;
    setsid();
    for (int stream = 0; stream < 3; stream++) close(stream);
    if (count > 1) { pause(); }
    do clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    while (used.tv_sec == 0 && used.tv_nsec < 200000000);
    return 0;
}
"""


@pytest.fixture(scope="module")
def leaves(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("leaves")
    (folder / "leaves.c").write_text(LEAVES)
    program = folder / "leaves-200ms"
    subprocess.run(["gcc", "-O1", "-o", program, folder / "leaves.c"], check=True)
    return program


def running(name: str) -> list[str]:
    found = []
    for path in Path("/proc").glob("[0-9]*/comm"):
        try:
            found += [str(path)] if path.read_text().strip() == name else []
        except OSError:
            continue
    return found


def measured(folder: Path, *words: str) -> tuple[str, dict[str, Any]]:
    done = cli.run("run", "--json", str(folder / "r.json"), *words, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout, json.loads((folder / "r.json").read_text())


def test_work_of_a_child_that_goes_on_is_in_the_cpu_time(leaves: Path, tmp_path: Path) -> None:
    said, document = measured(tmp_path, "-n", "6", "--metric", "cpu", "--", str(leaves))
    (asked,) = document["summary"]["asked"]
    assert asked["value"] >= 200_000_000
    assert document["summary"]["median_s"] < 0.1
    assert "6 of 6 trials left processes (leaves-200ms), which ended by themselves within" in said
    assert "CPU time includes theirs, wall time does not" in said
    assert running("leaves-200ms") == []


def test_a_child_that_does_not_end_is_killed(leaves: Path, tmp_path: Path) -> None:
    began = time.monotonic()
    said, _ = measured(tmp_path, "-n", "2", "--", str(leaves), "pause")
    assert "2 of 2 trials left processes (leaves-200ms), which were killed after 1 s" in said
    assert time.monotonic() - began < 60
    assert running("leaves-200ms") == []


def test_a_comparison_names_the_command(leaves: Path, tmp_path: Path) -> None:
    done = cli.run("compare", "-n", "7", f"{leaves}", "true", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "7 of 7 trials of leaves-200ms left processes (leaves-200ms)" in done.stdout


@pytest.mark.skipif(
    Path(shutil.which("sh") or "sh").resolve().name == "bash", reason="sh is bash here"
)
def test_a_redirection_that_sh_does_not_know_is_named(tmp_path: Path) -> None:
    line = "sleep .2 &> /dev/null"
    said, document = measured(tmp_path, "-n", "5", "--shell", "sh", line)
    assert document["summary"]["median_s"] < 0.2
    # On a busy machine a process is still the shell's copy when it is looked for.
    assert re.search(r"5 of 5 trials left processes \([a-z ]+\), which ended by themselves", said)
    (note,) = (line for line in said.splitlines() if "in the background" in line)
    assert "sh takes &> as & and >" in note
    (step,) = document["next_steps"]
    assert step["command"] == "tare run -n 5 'sleep .2 &> /dev/null' --shell bash"
    said, document = measured(tmp_path, "-n", "5", "--shell", "bash", line)
    assert document["summary"]["median_s"] >= 0.2
    assert "left processes" not in said
