"""Programs with files of their own, on every layer of this machine: what is planned runs."""

from __future__ import annotations

import collections
import json
import subprocess
from pathlib import Path
from typing import Any

import cli
import pytest

from tare.experiment import journal

pytestmark = pytest.mark.system

PLATFORMS = (
    "bare", "cgroup", "unshare", "bubblewrap", "isolate", "runc", "crun", "nspawn", "podman",
    "docker", "docker/isolate", "docker/runc", "gvisor",
)  # fmt: skip
#: Of a test that is repeated on all of them in `make nightly`.
REPRESENTATIVE = ("bare", "cgroup", "bubblewrap", "runc", "docker", "docker/runc")
each_set = pytest.mark.parametrize(
    "names",
    [
        pytest.param(REPRESENTATIVE, id="representative"),
        pytest.param(PLATFORMS, id="all", marks=pytest.mark.layers),
    ],
)
COMPILED = r"""
#include <stdio.h>
int main(int words, char **word) {
    long sum = 0, one;
    FILE *file = fopen(word[1], "r");
    if (!file) { perror(word[1]); return 3; }
    while (fscanf(file, "%ld", &one) == 1) sum += one;
    return sum != 5050;
}
"""
QUESTION = """
[experiment]
name = "everywhere"
question = "Do files and sizes reach every platform?"
trials = 1
fingerprint = false
skip_missing = true
[[workload]]
name = "compiled"
command = ["./compiled", "numbers.txt"]
[[workload]]
name = "script"
command = ["./script", "{folder}/numbers.txt"]
[factors]
platform = {platforms}
workers = [1, 2]
size = ["0.5c256m"]
"""


def tare(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return cli.run(*words, cwd=folder, timeout=300)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder below /tmp, of which sandboxes have one of their own."""
    (tmp_path / "compiled.c").write_text(COMPILED)
    subprocess.run(["gcc", "-O2", "-o", "compiled", "compiled.c"], cwd=tmp_path, check=True)
    (tmp_path / "script").write_text('#!/bin/sh\ntest "$(wc -l <"$1")" = 100\n')
    (tmp_path / "script").chmod(0o755)
    (tmp_path / "numbers.txt").write_text("".join(f"{n}\n" for n in range(1, 101)))
    text = QUESTION.replace("{platforms}", json.dumps(PLATFORMS))
    (tmp_path / "everywhere.toml").write_text(text.replace("{folder}", str(tmp_path)))
    # A box of isolate has a user of its own.
    tmp_path.chmod(0o711)
    return tmp_path


@each_set
def test_what_is_planned_runs(folder: Path, names: tuple[str, ...]) -> None:
    text = (folder / "everywhere.toml").read_text()
    (folder / "everywhere.toml").write_text(text.replace(json.dumps(PLATFORMS), json.dumps(names)))
    done = tare("experiment", "run", "everywhere.toml", "--out", "out", folder=folder)
    lines = list(journal.read_all(folder / "out"))
    ends = [line for line in lines if isinstance(line, journal.TrialEnd)]
    assert [line.reason for line in ends if line.status != "ok"] == []
    assert done.returncode == 0, done.stdout + done.stderr
    begun = [line.levels for line in lines if isinstance(line, journal.TrialStart)]
    left_out = [line.detail for line in lines if isinstance(line, journal.Note) and line.detail]
    assert all(one["why"] for one in left_out)
    # Every cell was executed, or is said to have been left out.
    cells = collections.Counter(levels["platform"] for levels in begun)
    for one in left_out:
        # A level by itself, or cells by the levels that they share.
        stacks = one["platform"] if isinstance(one["platform"], list) else [one["platform"]]
        for stack in stacks:
            cells[stack] += one.get("cells", 4) // len(stacks)
    assert cells == dict.fromkeys(names, 4)
    # In a sandbox inside of it, root would be root to this machine's files.
    (nested,) = (one for one in left_out if "docker/runc" in one["platform"])
    assert "image" in nested["fix"]


def test_a_missing_program_is_known_before_the_first_trial(folder: Path) -> None:
    text = (folder / "everywhere.toml").read_text().replace("./compiled", "./nothing")
    (folder / "wrong.toml").write_text(text)
    for words in (("plan", "wrong.toml"), ("run", "wrong.toml", "--out", "wrong")):
        done = tare("experiment", *words, folder=folder)
        assert done.returncode == 15
        assert "./nothing: not found" in done.stderr
    assert not (folder / "wrong" / "journal").exists()


def test_a_plan_says_what_fails_and_why(folder: Path) -> None:
    text = (folder / "everywhere.toml").read_text().replace(json.dumps(PLATFORMS), '["bare"]')
    (folder / "few.toml").write_text(text)
    (folder / "script").write_text("#!/bin/sh\necho no luck >&2\nexit 3\n")
    done = tare("experiment", "plan", "few.toml", "--json", "few.json", folder=folder)
    assert done.returncode == 0, done.stderr
    assert "Failed: script: " in done.stdout
    (said,) = json.loads((folder / "few.json").read_text())["forecast"]["failures"]
    assert said["cells"] == ["script"]
    assert "exit code 3" in said["reason"]
    assert "no luck" in said["reason"]
    (folder / "numbers.txt").write_text("1\n")
    done = tare("experiment", "plan", "few.toml", folder=folder)
    assert done.returncode == 15
    assert "exit code" in done.stderr


def test_a_plan_tells_how_long_it_takes_and_keeps_nothing(folder: Path) -> None:
    text = (folder / "everywhere.toml").read_text()
    (folder / "few.toml").write_text(text.replace(json.dumps(PLATFORMS), '["bare", "unshare"]'))
    before = set(folder.iterdir())
    done = tare("experiment", "plan", "few.toml", "--json", "-", folder=folder)
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    forecast = told["forecast"]
    assert len(told["cells"]["rows"]) == forecast["executed_cells"] == 8
    assert 0 < forecast["block_s"] < forecast["total_s"]
    assert (forecast["blocks"], forecast["failures"]) == (1, [])
    assert set(folder.iterdir()) == before


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("co:lon", marks=pytest.mark.layers),
        pytest.param("back\\slash", marks=pytest.mark.layers),
        'com,ma "quoted"',
    ],
)
@each_set
def test_any_name_is_shown_or_refused_when_planned(
    tmp_path: Path, name: str, names: tuple[str, ...]
) -> None:
    inside = tmp_path / name
    inside.mkdir(mode=0o711)
    tmp_path.chmod(0o711)
    (inside / "a program").write_text('#!/bin/sh\ntest "$(cat "$1")" = right\n')
    (inside / "a program").chmod(0o755)
    (inside / "in").write_text("right\n")
    for platform in names:
        done = tare(
            "run", "-n", "1", "-p", platform, "--", f"./{name}/a program", f"./{name}/in",
            folder=tmp_path,
        )  # fmt: skip
        told = done.stdout + done.stderr
        # 12: it is not here, or takes no such name.
        assert done.returncode in (0, 12), f"{platform}: {told}"
        assert "agent" not in told, f"{platform}: {told}"
        if done.returncode == 12:
            assert "try:" in told, f"{platform}: {told}"
