"""The command line against the real machine: what it writes, what it refuses, what it leaves."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import cli
import journals
import pytest
import synthetic

from tare.experiment import journal, remnants
from tare.experiment.plan import VERSION
from tare.host import lease

pytestmark = [pytest.mark.system]


QUESTION = """
[experiment]
name = "quick"
question = "Does it work?"
fingerprint = false
trials = {trials}
[[workload]]
kernel = "gray2bin"
size = 4096
repetitions = 200
[factors]
platform = ["bare", "unshare"]
workers = [1, 2]
"""


def tare(*words: str, check: int | None = 0, **options: Any) -> subprocess.CompletedProcess[str]:
    done = cli.run(*words, **options)
    if check is not None:
        assert done.returncode == check, done.stdout + done.stderr
    return done


def run_json(*words: str, check: int = 0) -> dict[str, Any]:
    done = tare("run", "--json", "-", *words, check=check)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.fixture
def question(tmp_path: Path) -> Path:
    file = tmp_path / "quick.toml"
    file.write_text(QUESTION.format(trials=6))
    return file


def test_run_tells_what_a_trial_took_and_how_it_is_known() -> None:
    told = run_json("-n", "7", "--", "sleep", "0.02")
    assert len(told["trials"]) == 7
    for trial in told["trials"]:
        assert trial["exit"] == 0
        assert trial["wall_s"] >= 0.02
        assert trial["cpu_s"] < trial["wall_s"]
        assert trial["memory_bytes"] > 0
        assert trial["source"] in ("switch", "perf_cpu", "perf_task", "around")
    assert told["summary"]["n"] == 7
    assert told["summary"]["median_low_s"] <= told["summary"]["median_s"]
    assert told["facts"]["cpus"] >= 1


def test_failures_are_results_with_their_exit_codes() -> None:
    told = run_json("-n", "3", "--", "sh", "-c", "exit 3", check=15)
    assert [trial["exit"] for trial in told["trials"]] == 10 * [3]
    assert {trial["status"] for trial in told["trials"]} == {"failed"}


def test_a_signal_is_told_apart_from_an_exit_code() -> None:
    told = run_json("-n", "2", "--", "sh", "-c", "kill -SEGV $$", check=15)
    assert {(trial["exit"], trial["signal"]) for trial in told["trials"]} == {(None, 11)}


def test_a_time_out_is_told_apart_from_a_signal() -> None:
    told = run_json("-n", "2", "--timeout", "0.1 s", "--", "sleep", "30")
    assert {trial["timed_out"] for trial in told["trials"]} == {True}
    assert {(trial["status"], trial["above_s"]) for trial in told["trials"]} == {("killed", 0.1)}
    assert (told["summary"]["n"], told["summary"]["killed"], told["summary"]["failed"]) == (2, 2, 0)
    assert told["summary"]["median_s"] is None
    assert told["summary"]["above_s"] == 0.1


@pytest.mark.parametrize(
    ("command", "words"),
    [("no-such-program", "not found"), ("/etc/passwd", "not executable"), ("/etc", "directory")],
)
def test_a_command_that_cannot_start_is_named(command: str, words: str) -> None:
    done = tare("run", "-n", "2", "--", command, check=15)
    assert command in done.stderr
    assert words in done.stderr.lower()


def test_options_of_the_command_are_its_own() -> None:
    told = run_json("-n", "2", "--", "sh", "-c", "test {a} = '{a}'")
    assert [trial["exit"] for trial in told["trials"]] == [0, 0]


def test_an_experiment_goes_from_file_to_report(question: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = tare("experiment", "run", str(question), "--out", str(out))
    assert str(out / "report.html") in done.stdout.replace("\n", "")
    assert (out / "report.html").stat().st_size > 10_000
    exported = tare("export", str(out), "--table", "trials").stdout
    assert exported.count("\n") >= 6 * 4
    assert "kernel_cpu_ns" in tare("export", str(out)).stdout
    assert tare("experiment", "report", str(out), "--report", str(out / "report.md")).stdout
    # The report prints the answer that the run printed.
    again = tare("experiment", "report", str(out)).stdout
    ran, reported = (
        [line for line in text.splitlines() if not line.startswith("Next: ")]
        for text in (done.stdout, again)
    )
    assert reported == ran


def test_who_fails_often_is_no_success(tmp_path: Path) -> None:
    # Every third time.
    line = 'n=$(cat "$0" 2>/dev/null || echo 0); echo $((n + 1)) >"$0"; test $((n % 3)) != 0'
    words = ["sh", "-c", line, str(tmp_path / "count")]
    done = cli.run("run", "-n", "8", "--", *words)
    assert done.returncode == 18, done.stderr
    assert "trials failed" in done.stderr
    assert "n = 8" in done.stdout


def test_the_separator_is_missed_where_a_command_has_options() -> None:
    done = cli.run("run", "-n", "3", "sort", "-n", "file")
    assert done.returncode == 10
    assert "-n 3 -- sort -n file" in done.stderr


def test_words_of_one_command_are_no_commands() -> None:
    done = cli.run("compare", "sleep", "0.01")
    assert done.returncode == 11
    assert "hint: put each command in quotes, as in tare compare 'sleep 0.01'" in done.stderr


def test_a_command_that_fails_now_and_then_is_repeated(tmp_path: Path) -> None:
    # Fails every fifth time it is run.
    script = f"echo >> {tmp_path}/runs; test $(($(wc -l < {tmp_path}/runs) % 5)) -ne 0"
    told = run_json("-n", "6", "--", "sh", "-c", script)
    assert [trial["status"] for trial in told["trials"]].count("ok") == 6
    assert told["summary"]["failed"] == 1


def test_what_always_fails_is_named_and_the_exit_code_says_so(tmp_path: Path) -> None:
    file, out = tmp_path / "a.toml", tmp_path / "out"
    file.write_text(
        "[experiment]\nname = 'a'\nquestion = 'b?'\ntrials = 2\nfingerprint = false\n"
        "[[workload]]\nname = 'good'\ncommand = ['true']\n"
        "[[workload]]\nname = 'bad'\ncommand = ['test', '-e', '{folder}/now']\n".replace(
            "{folder}", str(tmp_path)
        )
    )
    words = ["experiment", "run", str(file), "--out", str(out)]
    done = tare(*words, "--json", str(tmp_path / "a.json"), check=18)
    assert "bad 0 of 2 (10 failed)" in " ".join(done.stderr.split())
    assert "--resume" in done.stderr
    assert (out / "report.html").exists()
    sections = json.loads((tmp_path / "a.json").read_text())["sections"]
    found = [one["finding"] for one in sections]
    (short,) = [one for one in found if one["name"] == "completeness"]
    assert [e["value"] for e in short["estimates"]] == [0]
    # What was in the way is gone: the holes are filled, and nothing is done twice.
    (tmp_path / "now").touch()
    tare(*words, "--resume")
    assert ended(out) == 2 + 10 + 2


def test_a_folder_that_holds_something_is_not_overwritten(question: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out/mine.txt").write_text("mine")
    done = tare("experiment", "run", str(question), "--out", str(tmp_path / "out"), check=14)
    assert "not empty" in done.stderr
    assert "--out" in done.stderr
    assert (tmp_path / "out/mine.txt").read_text() == "mine"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("gray2bin", "gray2bim"), ["gray2bim", "gray2bin"]),
        (("unshare", "unsharee"), ["unsharee", "unshare"]),
        (("trials", "trails"), ["trails", "trials"]),
        (("[1, 2]", "[]"), ["workers", "level"]),
        (("size = 4096", "size = 0"), ["size"]),
        (("[factors]", '[factors]\nsize = ["big"]\n[sizes.big]\ncores = 9999\n[x]'), []),
    ],
)
def test_a_wrong_file_is_refused_by_file_and_key(
    question: Path, change: tuple[str, str], words: list[str], tmp_path: Path
) -> None:
    question.write_text(question.read_text().replace(*change, 1))
    done = tare("experiment", "run", str(question), "--out", str(tmp_path / "out"), check=None)
    assert 10 <= done.returncode < 20
    assert all(word in done.stderr for word in [*words, question.name]), done.stderr
    assert not (tmp_path / "out").exists()


def test_a_size_beyond_the_machine_is_refused(question: Path, tmp_path: Path) -> None:
    question.write_text(question.read_text() + 'size = ["big"]\n[sizes.big]\ncores = 4000\n')
    done = tare("experiment", "run", str(question), "--out", str(tmp_path / "out"), check=11)
    assert "4000" in done.stderr


def test_killed_in_the_middle_it_loses_one_trial_and_leaves_nothing(tmp_path: Path) -> None:
    file, out = tmp_path / "quick.toml", tmp_path / "out"
    file.write_text(QUESTION.format(trials=60))
    words = ["experiment", "run", str(file), "--out", str(out)]
    running = cli.start(*words)
    wait_for(lambda: ended(out) >= 10)
    running.send_signal(signal.SIGKILL)
    running.wait()
    before = ended(out)
    tare("cleanup")
    assert not left_behind(out)
    file.write_text(QUESTION.format(trials=max(6, before // 4 + 3)))
    tare(*words, "--resume")
    assert ended(out) == 4 * max(6, before // 4 + 3)
    assert not left_behind(out)
    assert sorted(path.name for path in (out / "journal").iterdir()) == ["1.ndjson", "2.ndjson"]
    assert (out / "experiment.toml").read_text() == file.read_text()


def test_an_interrupt_says_how_to_go_on(tmp_path: Path) -> None:
    file, out = tmp_path / "quick.toml", tmp_path / "out"
    file.write_text(QUESTION.format(trials=200))
    running = cli.start("experiment", "run", str(file), "--out", str(out))
    wait_for(lambda: ended(out) >= 3)
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=60)
    assert running.returncode == 130
    assert "--resume" in said
    assert not left_behind(out)


def test_a_full_disk_loses_nothing_that_was_measured(question: Path, tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("mounting a small file system needs root")
    small = tmp_path / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=128k", "none", str(small)], check=True)
    try:
        question.write_text(QUESTION.format(trials=200))
        out = small / "out"
        done = tare("experiment", "run", str(question), "--out", str(out), check=14)
        assert "No space left" in done.stderr
        assert "--resume" in done.stderr
        assert ended(out) > 0
        assert not left_behind(out)
    finally:
        subprocess.run(["umount", str(small)], check=True)


def test_a_journal_of_another_version_or_with_garbage_is_refused(tmp_path: Path) -> None:
    out = journals.write(synthetic.make(trials=2), tmp_path / "out")
    (journal,) = (out / "journal").iterdir()
    text = journal.read_text()
    for broken, words in (
        (text.replace(f'"version":{VERSION}', '"version":99', 1), "another tare"),
        (text.replace("\n", "\ngarbage\n", 1), "line 2"),
    ):
        journal.write_text(broken)
        done = tare("experiment", "report", str(out), check=14)
        assert words in done.stderr
        assert str(journal) in done.stderr.replace("\n", "")


@pytest.mark.parametrize(
    "names",
    [("bare", "unshare", "isolate", "docker/isolate"), pytest.param((), marks=pytest.mark.layers)],
)
def test_describe_platforms_tells_what_works_and_what_would(names: tuple[str, ...]) -> None:
    told = json.loads(tare("describe", "platforms", *names, "--json", "-").stdout)["platforms"]
    by_name = {platform["name"]: platform for platform in told}
    assert by_name["bare"]["works"] is True
    assert {"unshare", "isolate", "docker/isolate"} <= set(by_name)
    for platform in told:
        assert platform["works"] or (platform["why"] and platform["fix"])


def wait_for(condition: Any) -> None:
    deadline = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < deadline, "it did not come to pass in two minutes"
        time.sleep(0.05)


def ended(out: Path) -> int:
    """Count the trials that the journals hold, calibration not counted."""
    count = 0
    for path in out.glob("journal/*.ndjson"):
        calibration = set()
        for line in path.read_text().splitlines():
            try:
                got = json.loads(line)
            except json.JSONDecodeError:
                continue  # the line that the kill cut
            if got["record"] == "trial" and got["calibration"]:
                calibration.add(got["trial"])
            count += got["record"] == "ended" and got["trial"] not in calibration
    return count


def left_behind(out: Path) -> set[str]:
    """Return what bears the name of a session of an experiment; none of them lives any more."""
    names = {
        one.name
        for path in journal.files(out)
        for one in journal.read(path)
        if isinstance(one, journal.Session)
    }
    assert names
    return {one.what for one in remnants.found() if lease.session_of(one.name) in names}


@pytest.mark.parametrize("words", [["run"], ["runn"], ["run", "--nope", "--", "true"]])
def test_a_usage_error_is_told_from_a_verdict(words: list[str]) -> None:
    done = tare(*words, check=10)
    assert done.stderr
    assert "Traceback" not in done.stderr


def test_names_that_look_like_markup_are_printed_as_they_are(tmp_path: Path) -> None:
    file = tmp_path / "hostile.toml"
    file.write_text(
        QUESTION.format(trials=6)
        .replace("Does it work?", "[link=x]?[/link] [/bold]")
        .replace('name = "quick"', 'name = "</script>[/b]"')
        .replace('["bare", "unshare"]', '["bare"]')
        .replace("[1, 2]", "[1]")
    )
    assert "[link=x]?[/link] [/bold]" in tare("experiment", "plan", str(file)).stdout


def test_control_characters_in_a_question_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "hostile.toml"
    file.write_text(QUESTION.format(trials=6).replace("Does it work?", "\\u001b[31m red"))
    done = tare("experiment", "plan", str(file), check=11)
    assert "experiment.question" in done.stderr
    assert "\x1b" not in done.stderr


def test_options_are_named_as_options() -> None:
    assert "--timeout" in tare("run", "--timeout", "0.2", "--", "true", check=10).stderr


def test_commands_fresh_platforms_and_sequential_order_reach_a_report(tmp_path: Path) -> None:
    file, out = tmp_path / "naps.toml", tmp_path / "out"
    file.write_text(
        """
        [experiment]
        name = "naps"
        question = "Do fresh platforms and commands work in sequential order?"
        fingerprint = false
        trials = 3
        fresh = "trial"
        tail = "stop"
        order = "sequential"
        [[workload]]
        name = "sleep"
        command = "sh -c 'echo {nap}; sleep {nap}'"
        output = "output/{trial}.out"
        [factors]
        platform = ["bare", "unshare"]
        nap = ["0.01", "0.02"]
        """
    )
    tare("experiment", "run", str(file), "--out", str(out))
    assert (out / "report.html").exists()
    said = [path.read_text().strip() for path in sorted((out / "output").glob("*.out"))]
    assert sorted(said) == ["0.01"] * 6 + ["0.02"] * 6


@pytest.mark.parametrize("platform", ["bare", "bubblewrap", "runc"])
def test_a_program_of_the_current_directory_runs_in_sandboxes_as_beside_them(
    platform: str, tmp_path: Path
) -> None:
    (tmp_path / "solution").write_text("#!/bin/sh\nread -r word <in.txt && test $word = 42\n")
    (tmp_path / "solution").chmod(0o755)
    (tmp_path / "in.txt").write_text("42\n")
    words = ("run", "-p", platform, "-n", "1", "--", "./solution", "in.txt")
    done = tare(*words, cwd=tmp_path, check=None)
    if done.returncode == 12:
        pytest.skip(done.stderr)
    assert done.returncode == 0, done.stderr
    done = tare("run", "-p", platform, "-n", "1", "--", "./nothing", cwd=tmp_path, check=15)
    assert "./nothing: not found" in done.stderr
    assert "--output" not in done.stderr
