"""Lines around trials, failures that are none, parameters, what is piped in."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

import cli
import pytest

pytestmark = pytest.mark.system


def tare(
    *words: str, cwd: Path, code: int = 0, stdin: Any = subprocess.DEVNULL, text: str | None = None
) -> subprocess.CompletedProcess[str]:
    done = cli.run(*words, cwd=cwd, stdin=stdin, input=text)
    assert done.returncode == code, done.stderr + done.stdout
    return done


def summary(*words: str, cwd: Path) -> dict[str, Any]:
    tare("run", "--json", "out.json", *words, cwd=cwd)
    found: dict[str, Any] = json.loads((cwd / "out.json").read_text())
    return found


def wait_for(file: Path) -> None:
    for _ in range(400):
        if file.exists():
            return
        time.sleep(0.05)
    pytest.fail(f"there is no {file}")


def test_lines_are_executed_in_their_order_and_not_timed(tmp_path: Path) -> None:
    found = summary(
        "-n", "3", "--setup", "echo setup >> log", "--prepare", "sleep 0.2; echo prepare >> log",
        "--conclude", "sleep 0.2; echo conclude >> log", "--cleanup", "echo cleanup >> log",
        "--shell", "sh", "echo trial >> log", cwd=tmp_path,
    )  # fmt: skip
    each = ["prepare", "trial", "conclude"]
    assert (tmp_path / "log").read_text().split() == ["setup", *each, *each, *each, "cleanup"]
    assert found["summary"]["max_s"] < 0.15


@pytest.mark.parametrize(
    ("option", "told"),
    [("--setup", "setup of true failed with exit code 4: no room"),
     ("--prepare", "prepare of true failed with exit code 4: no room"),
     ("--conclude", "conclude of true failed with exit code 4: no room")],
)  # fmt: skip
def test_a_line_that_fails_says_what_it_said(option: str, told: str, tmp_path: Path) -> None:
    words = ("-n", "3", "--cleanup", "echo cleaned > log", option, "echo no room >&2; exit 4")
    done = tare("run", *words, "--", "true", cwd=tmp_path, code=15)
    assert told in done.stderr
    assert (tmp_path / "log").exists()


def test_a_cleanup_that_fails_loses_nothing(tmp_path: Path) -> None:
    words = ("-n", "6", "-L", "x", "1,2", "--cleanup", "echo {x} >> log; exit 3")
    done = tare("run", *words, "--export-json", "hf.json", "sleep 0.0{x}", cwd=tmp_path, code=15)
    assert "x=2" in done.stdout
    assert "x=1" in done.stderr
    assert "exit code 3" in done.stderr
    assert len(json.loads((tmp_path / "hf.json").read_text())["results"]) == 2
    assert (tmp_path / "log").read_text().split() == ["1", "2"]
    # What was set up in part is cleaned up, too.
    tare("run", "--setup", "exit 1", "--cleanup", "echo c > undone", "true", cwd=tmp_path, code=15)
    assert (tmp_path / "undone").exists()


def test_who_cuts_a_line_short_ends_all_that_it_waits_for(tmp_path: Path) -> None:
    mark = f"{1000 + os.getpid()}.5"
    line = f"echo b > began; sleep {mark}; true"
    process = cli.start("run", "--prepare", line, "--", "true", cwd=tmp_path)
    wait_for(tmp_path / "began")
    process.terminate()
    process.communicate(timeout=60)
    assert subprocess.run(["pgrep", "-f", f"sleep {mark}"], check=False).returncode == 1


def test_a_failed_run_leaves_no_earlier_answer(tmp_path: Path) -> None:
    files = {"--export-json": "a.json", "--report": "a.html", "--markdown": "a.md"}
    for file in files.values():
        (tmp_path / file).write_text("OLD")
    words = [word for pair in files.items() for word in pair]
    tare("run", *words, "--", "false", cwd=tmp_path, code=15)
    for file in files.values():
        assert "trials failed" in (tmp_path / file).read_text()
    # A pipe is written to, and not replaced.
    os.mkfifo(tmp_path / "pipe.html")
    reader = subprocess.Popen(["sh", "-c", "cat pipe.html > page"], cwd=tmp_path)
    tare("run", "-n", "6", "--report", "pipe.html", "--", "true", cwd=tmp_path)
    assert reader.wait(timeout=60) == 0
    assert (tmp_path / "page").read_text().startswith("<!doctype html>")
    assert (tmp_path / "pipe.html").is_fifo()


def test_what_was_prepared_is_not_used_up_by_a_warm_up(tmp_path: Path) -> None:
    words = ("--prepare", "true", "--warmup", "1", "--", "true")
    assert "prepare" in tare("run", *words, cwd=tmp_path, code=11).stderr


def test_cleanup_comes_after_a_run_that_was_cut_short(tmp_path: Path) -> None:
    words = ("--cleanup", "echo cleaned > log", "--setup", "echo s > began", "--", "sleep", "0.05")
    process = cli.start("run", *words, cwd=tmp_path)
    wait_for(tmp_path / "began")
    time.sleep(0.5)
    process.terminate()
    _, err = process.communicate(timeout=60)
    assert process.returncode == 143, err
    assert (tmp_path / "log").read_text() == "cleaned\n"


def test_failures_that_are_none(tmp_path: Path) -> None:
    words = ("-n", "3", "--", "sh", "-c", "exit 3")
    found = summary("--ignore-failure", *words, cwd=tmp_path)
    assert [t["exit"] for t in found["trials"]] == [3, 3, 3]
    assert summary("--ignore-failure=2,3", *words, cwd=tmp_path)["summary"]["failed"] == 0
    tare("run", "--ignore-failure=2", *words, cwd=tmp_path, code=15)
    killed = ("-n", "3", "--", "sh", "-c", "kill -9 $$")
    assert summary("-i", *killed, cwd=tmp_path)["trials"][0]["signal"] == 9
    tare("run", "--ignore-failure=9", *killed, cwd=tmp_path, code=15)
    # What takes too long was ended by us, and took longer.
    done = tare("run", "-i", "--timeout", "100 ms", "-n", "3", "--", "sleep", "9", cwd=tmp_path)
    assert "> 100 ms median (3 of 3 runs exceeded 100 ms)" in done.stdout


def test_a_command_that_fails_shows_what_it_said_at_last(tmp_path: Path) -> None:
    done = tare("run", "--", "sh", "-c", "echo lost key >&2; exit 3", cwd=tmp_path, code=15)
    assert "lost key" in done.stderr
    assert "--output" not in done.stderr
    done = tare("run", "false b", "sh -c 'echo lost door >&2; exit 3'", cwd=tmp_path, code=15)
    assert "lost door" in done.stderr


def test_what_is_piped_in_is_given_to_each_or_refused(tmp_path: Path) -> None:
    words = ("-n", "3", "--output", "kept-{trial}.out", "--no-fingerprint")
    done = tare("run", *words, "--", "wc", "-l", cwd=tmp_path, text="a\nb\n", code=11)
    assert "--input -" in done.stderr
    tare("run", *words, "--input", "-", "--", "wc", "-l", cwd=tmp_path, text="a\nb\n")
    kept = sorted(tmp_path.glob("kept-*.out"))
    assert [one.read_text() for one in kept] == ["2\n"] * 3
    # A file from its beginning is meant, one in the middle of a loop is the loop's.
    lines = tmp_path / "lines"
    lines.write_text("a\nb\n")
    with lines.open() as file:
        tare("run", "-n", "3", "--", "cat", cwd=tmp_path, stdin=file, code=11)
        file.seek(2)
        tare("run", "-n", "3", "--", "cat", cwd=tmp_path, stdin=file)


def test_a_scan_is_a_table(tmp_path: Path) -> None:
    words = ("-P", "t", "1", "3", "-n", "6", "--export-json", "hf.json", "sleep 0.0{t}")
    done = tare("run", *words, cwd=tmp_path)
    lines = done.stdout.splitlines()
    assert [line.split()[0] for line in lines[1:5]] == ["command", "t=1", "t=2", "t=3"]
    results = json.loads((tmp_path / "hf.json").read_text())["results"]
    assert [one["parameters"] for one in results] == [{"t": "1"}, {"t": "2"}, {"t": "3"}]
    assert [len(one["times"]) for one in results] == [6, 6, 6]
    for one, least in zip(results, (0.01, 0.02, 0.03), strict=True):
        assert least < one["median"] < least + 0.05


def test_several_commands_are_one_table(tmp_path: Path) -> None:
    # Far enough apart for a verdict of six trials, whatever else this machine does meanwhile.
    words = ("-n", "6", "--markdown", "-", "sleep 0.05", "sleep 0.5")
    done = tare("run", *words, cwd=tmp_path)
    title, _, head, rule, first, second, *_ = done.stdout.splitlines()
    assert title.startswith("**wall time")
    cells = [cell.strip() for cell in head.strip("|").split("|")]
    assert (len(cells), cells[0], cells[-1]) == (6, "command", "n")
    assert "vs. sleep 0.05" in cells[2]
    assert rule == "| --- | ---: | ---: | --- | ---: | ---: |"
    assert first.startswith("| sleep 0.05 | ")
    assert "slower" in second
    found = summary("-n", "6", "sleep 0.05", "sleep 0.5", cwd=tmp_path)
    assert found["comparisons"][0]["verdict"] == "slower"
