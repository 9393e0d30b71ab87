"""Where a command's output goes: nowhere, through a pipe that is read, or to files."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import cli
import layers
import pytest

import tare
from tare import platforms

pytestmark = pytest.mark.system

PLATFORMS = ("bare", "unshare", "bubblewrap", "runc", "nspawn", "podman", "docker", "gvisor")


def run(folder: Path, *words: str, code: int = 0) -> str:
    done = cli.run("run", "--no-fingerprint", *words, cwd=folder)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.mark.skipif(shutil.which("grep") is None, reason="there is no grep")
def test_a_program_that_stops_early_at_dev_null_does_its_whole_job_with_a_pipe(
    tmp_path: Path,
) -> None:
    line = "a line with the needle in it\n"
    (tmp_path / "hay").write_text(line * 50_000)
    written = {}
    for output in ("null", "pipe", "kept.txt", "/dev/null"):
        out = tmp_path / f"out-{Path(output).name}-{len(written)}"
        run(
            tmp_path,
            "-n",
            "3",
            "--output",
            output,
            "--out",
            str(out),
            "--",
            "grep",
            "needle",
            "hay",
        )
        (written[output],) = set(tare.open(out).values("written_bytes")["value"].tolist())
    whole = len(line) * 50_000
    assert written["pipe"] == written["kept.txt"] == whole
    # At /dev/null, GNU grep stops at the first line that matches.
    assert written["null"] == written["/dev/null"] < whole
    assert (tmp_path / "kept.txt").read_text() == (line * 50_000)[: 1 << 20]


@pytest.mark.parametrize("platform", layers.each(PLATFORMS, ("bare",)))
def test_output_means_the_same_on_every_platform(tmp_path: Path, platform: str) -> None:
    found = platforms.availability(platform)
    if not found.works:
        pytest.skip(f"{platform}: {found.why}")
    is_pipe = "test -p /proc/self/fd/1"
    for output, code in (("pipe", 0), ("null", 15)):
        where = ("-p", platform, "-n", "2", "--output", output)
        run(tmp_path, *where, "--", "sh", "-c", is_pipe, code=code)
    # More than any memory of an instance would hold.
    run(
        tmp_path,
        "-p",
        platform,
        "-n",
        "1",
        "--output",
        "pipe",
        "--",
        "head",
        "-c",
        "1G",
        "/dev/zero",
    )
    line = "echo out; echo err >&2"
    run(tmp_path, "-p", platform, "-n", "2", "--output", "o-{trial}", "--", "sh", "-c", line)
    kept = {path.name: path.read_text() for path in tmp_path.glob("o-*")}
    assert kept == {"o-1": "out\n", "o-1.err": "err\n", "o-2": "out\n", "o-2.err": "err\n"}


def test_the_last_trial_of_each_command_is_kept(tmp_path: Path) -> None:
    said = run(tmp_path, "-n", "3", "--output", "o.txt", "echo a", "echo b", code=11)
    assert "every command would overwrite o.txt" in said
    assert f"try: tare run --no-fingerprint -n 3 --output '{tmp_path}/o-{{trial}}.txt' " in said
    run(tmp_path, "-n", "3", "--output", "{workload}.txt", "--workers", "2", "echo a", code=11)
    run(tmp_path, "-n", "3", "--output", "{workload}-{platform}", "echo a", "echo b")
    kept = {path.name: path.read_text() for path in tmp_path.glob("*-bare")}
    assert kept == {"echo a-bare": "a\n", "echo b-bare": "b\n"}


def test_a_failure_proposes_a_file_that_has_what_was_written(tmp_path: Path) -> None:
    line = ("-n", "3", "--", "sh", "-c", "echo the reason; exit 3")
    assert "hint: keep what it wrote with --output FILE" in run(tmp_path, *line, code=15)
    run(tmp_path, "--output", "o.txt", *line, code=15)
    assert (tmp_path / "o.txt").read_text() == "the reason\n"
    # Errors are read from the first trial on.
    said = run(tmp_path, "-n", "1", "--output", "pipe", "--", "sh", "-c", "echo why >&2; exit 3",
               code=15)  # fmt: skip
    assert "why" in said


def test_python_has_the_option(tmp_path: Path) -> None:
    file = tmp_path / "o.txt"
    tare.run(["echo", "a"], trials=2, output=file)
    assert file.read_text() == "a\n"
    tare.run(["sh", "-c", "test -p /proc/self/fd/1"], trials=2, output="pipe")


def test_a_file_of_an_experiment_is_in_its_folder(tmp_path: Path) -> None:
    (tmp_path / "e.toml").write_text(
        '[experiment]\nname = "e"\nquestion = "?"\ntrials = 2\nfingerprint = false\n'
        'iterations = 2\n[[workload]]\ncommand = "echo a"\noutput = "said/{trial}"\n'
    )
    done = cli.run("experiment", "run", "e.toml", "--out", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    kept = {path.name: path.read_text() for path in (tmp_path / "out/said").iterdir()}
    assert kept == {"1": "a\na\n", "2": "a\na\n"}
    plan = json.loads((tmp_path / "out/plan.json").read_text())
    assert plan["experiment"]["workloads"][0]["output"] == "said/{trial}"
