"""Too little of a resource, for measuring and for concluding: words, a next step, nothing lost."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from pathlib import Path

import cli
import pytest

pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount a small disk"),
]

QUESTION = """
[experiment]
name = "short"
question = "What is kept when something runs short?"
fingerprint = false
trials = {trials}
[[workload]]
kernel = "null"
[factors]
platform = ["bare"]
workers = {workers}
"""
#: Codes of results that cannot be written, and of too little memory or too few open files.
UNWRITABLE, SHORT = 14, 19


class Ended:
    """How a command ended."""

    def __init__(self, done: subprocess.CompletedProcess[str]) -> None:
        self.code = done.returncode
        self.output, self.errors = done.stdout, done.stderr

    def told(self, *, code: int) -> None:
        """See that it says what is wrong and what to type next, and nothing of its inside."""
        assert self.code == code, self.errors
        assert self.errors.startswith("tare: "), self.errors
        assert re.search("^  (try|hint): ", self.errors, re.MULTILINE)
        assert "Traceback" not in self.errors


def shell(script: str, folder: Path) -> Ended:
    """Run a script in a mount namespace of its own, in a folder."""
    argv = ["unshare", "--mount", "sh", "-c", script]
    return Ended(
        subprocess.run(argv, cwd=folder, capture_output=True, text=True, timeout=240, check=False)
    )


def limited(limit: str, *words: str) -> str:
    """Return a line of a shell that runs tare with a resource limit, as a new process."""
    return f"ulimit {limit} && {shlex.join([*cli.TARE, *words])}"


def tare(*words: str) -> str:
    """Return a line of a shell that runs tare."""
    return shlex.join([str(cli.program()), *words])


def question(folder: Path, *, trials: int = 2, workers: str = "[1]") -> None:
    (folder / "short.toml").write_text(QUESTION.format(trials=trials, workers=workers))


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of results that nothing was concluded from."""
    folder = tmp_path_factory.mktemp("measured")
    question(folder)
    done = shell(tare("experiment", "run", "short.toml", "--out", "short"), folder)
    assert done.code == 0, done.errors
    (folder / "short" / "report.html").unlink()
    return folder / "short"


def small_disk(measured: Path, *, extra_kib: int) -> str:
    """Return lines that mount a disk with results and little room more at ``disk``."""
    held = sum(-(-p.stat().st_size // 4096) * 4 for p in measured.rglob("*") if p.is_file())
    return (
        f"mkdir -p disk && mount -t tmpfs -o size={held + extra_kib}k tmpfs disk && "
        f"cp -r {shlex.quote(str(measured))} disk/short || exit 99\n"
    )


def test_a_disk_that_is_full_while_concluding(measured: Path, tmp_path: Path) -> None:
    script = (
        small_disk(measured, extra_kib=16)
        + f"""
        {tare("experiment", "report", "disk/short", "--report", "page.html")} >said || exit 98
        ls -A disk/short
        tail -n 1 said
        {tare("export", "disk/short", "--file", "disk/short/all.duckdb")}
        echo $?
        ls -A disk/short
    """
    )
    done = shell(script, tmp_path)
    assert done.code == 0, done.errors
    # The tables are held in memory, and of a file that has no room nothing stays.
    kept = ["experiment.toml", "journal", "plan.json"]
    assert done.output.splitlines() == [*kept, "Report: page.html", str(UNWRITABLE), *kept]
    assert "cannot write" in done.errors


def test_a_disk_that_is_full_after_measuring(tmp_path: Path) -> None:
    question(tmp_path)
    run = tare("experiment", "run", "short.toml", "--out", "disk/short")
    script = f"""
        mkdir disk && mount -t tmpfs -o size=400k tmpfs disk
        {run}
        code=$?
        mount -o remount,size=60m disk
        {tare("experiment", "report", "disk/short")} && test -s disk/short/report.html || exit 98
        exit $code
    """
    done = shell(script, tmp_path)
    done.told(code=UNWRITABLE)
    assert "experiment report disk/short" in done.errors


#: Of what a shell may allow: too little is refused beforehand, since libraries would abort.
@pytest.mark.parametrize("limit", ["-v 400000", "-v 1500000", "-n 16"])
@pytest.mark.parametrize("words", [("experiment", "report"), ("run", "true"), ("compare",)])
def test_too_little_is_refused_beforehand(
    measured: Path, tmp_path: Path, limit: str, words: tuple[str, ...]
) -> None:
    given = (*words, str(measured)) if words == ("experiment", "report") else words
    done = shell(limited(limit, *given), tmp_path)
    done.told(code=SHORT)
    assert "ulimit" in done.errors
    assert done.output == ""


@pytest.mark.parametrize("limit", ["-v 400000", "-n 16"])
def test_cleanup_needs_next_to_nothing(tmp_path: Path, limit: str) -> None:
    assert shell(limited(limit, "describe", "loads"), tmp_path).code == 0


def test_64_open_files_are_enough(tmp_path: Path) -> None:
    question(tmp_path, workers="[1, 2]")
    done = shell(limited("-n 64", "experiment", "run", "short.toml", "--out", "short"), tmp_path)
    assert done.code == 0, done.errors


def test_a_disk_that_is_full_while_measuring_and_what_was_measured_is_gone_on_with(
    tmp_path: Path,
) -> None:
    question(tmp_path, trials=12)
    run = tare("experiment", "run", "short.toml", "--out", "disk/short")
    script = f"""
        mkdir disk && mount -t tmpfs -o size=60k tmpfs disk
        {run}
        code=$?
        mount -o remount,size=60m disk
        {run} --resume >/dev/null || exit 98
        {tare("export", "disk/short", "--table", "trials", "--json", "-")}
        exit $code
    """
    done = shell(script, tmp_path)
    done.told(code=UNWRITABLE)
    assert "--resume" in done.errors
    trials = json.loads(done.output)
    assert sum(trial["status"] == "ok" for trial in trials) == 12
    first = [trial for trial in trials if trial["session"] == 1 and trial["status"] == "ok"]
    assert 0 < len(first) < 12


def test_a_folder_to_read_only_is_concluded_from_elsewhere(measured: Path, tmp_path: Path) -> None:
    question(tmp_path)
    report = tare("experiment", "report", "disk/short")
    mounted = small_disk(measured, extra_kib=9000) + "mount -o remount,ro disk\n"
    shell(mounted + report, tmp_path).told(code=UNWRITABLE)
    (tmp_path / "page.html").unlink(missing_ok=True)
    elsewhere = shell(f"{mounted}{report} --report page.html", tmp_path)
    assert elsewhere.code == 0, elsewhere.errors
    assert (tmp_path / "page.html").stat().st_size > 0
    for words in (["--out", "disk/new"], ["--out", "disk/short", "--resume"]):
        run = tare("experiment", "run", "short.toml", *words)
        shell(mounted + run, tmp_path).told(code=UNWRITABLE)


#: Room for nothing, and for a part of the trials.
@pytest.mark.parametrize("room_kib", [0, 64])
@pytest.mark.parametrize("words", [("run", "-n", "30", "true"), ("compare", "true", "/bin/true")])
def test_memory_for_files_that_is_full(
    tmp_path: Path, room_kib: int, words: tuple[str, ...]
) -> None:
    script = f"""
        mount -t tmpfs -o size={room_kib + 16}k tmpfs /dev/shm
        dd if=/dev/zero of=/dev/shm/other bs=1k count=16 2>/dev/null
        {tare(*words)}
        code=$?
        ls /dev/shm
        exit $code
    """
    done = shell(script, tmp_path)
    done.told(code=UNWRITABLE)
    assert " --out results " in done.errors
    assert "tare-" not in done.output


@pytest.mark.slow
def test_memory_for_files_that_is_full_hinders_no_experiment(tmp_path: Path) -> None:
    question(tmp_path, workers="[1, 2]")
    script = f"""
        mount -t tmpfs -o size=16k tmpfs /dev/shm
        dd if=/dev/zero of=/dev/shm/other bs=1k count=16 2>/dev/null
        {tare("experiment", "run", "short.toml", "--out", "short")}
    """
    done = shell(script, tmp_path)
    assert done.code == 0, done.errors
