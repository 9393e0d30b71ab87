"""``tare fingerprint`` on the real machine, and on what hostile places leave of it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import cli
import pytest
from cli import TARE

from tare import platforms
from tare.experiment.fingerprints.machine.document import Fingerprint
from tare.features.machine.fingerprint import brief, file

pytestmark = pytest.mark.system


def fingerprint(
    *words: str, check: int | None = 0, before: tuple[str, ...] = (), **options: Any
) -> subprocess.CompletedProcess[str]:
    if before or options:
        # The command has the caller's mount namespace, and not its CPU affinity.
        argv = TARE if options else [str(cli.program())]
        done = subprocess.run(
            [*before, *argv, "fingerprint", *words],
            capture_output=True, text=True, timeout=240, check=False, **options,
        )  # fmt: skip
    else:
        done = cli.run("fingerprint", *words)
    if check is not None:
        assert done.returncode == check, done.stdout + done.stderr
    return done


def measured(*words: str, **options: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(fingerprint(*words, "--json", "-", **options).stdout)
    return found


def in_a_changed_view(script: str) -> tuple[str, ...]:
    """Return what gives a command another view of the file system; skips where that is refused."""
    argv = ("unshare", "--mount", "sh", "-c", f'{script} && exec "$@"', "sh")
    tried = subprocess.run([*argv, "true"], capture_output=True, text=True, check=False)
    if tried.returncode:
        pytest.skip(f"no mount namespace here: {tried.stderr.strip()}")
    return argv


def test_a_figure_has_a_value_with_its_interval_unit_and_rounds() -> None:
    told = measured("clock", "--budget", "0.5 s")
    one = told["metrics"]["clock.vdso"]
    assert one["unit"] == "ns"
    assert one["n"] == len(one["values"]) >= 1
    # How many rounds fit is the machine's to say.
    assert (one["ci"] is not None) == (one["n"] >= 6)
    low, high = one["ci"] or (min(one["values"]), max(one["values"]))
    assert low <= one["value"] <= high
    assert one["value"] > 0
    assert "predicted" in one
    assert told["facts"]["cpus"] >= 1
    assert (told["command"], told["effort"], told["platform"]) == ("fingerprint", "quick", "bare")


def test_the_screen_tells_a_figure_and_what_to_type_next() -> None:
    done = fingerprint("clock.vdso", "--budget", "0.5 s")
    assert "clock.vdso" in done.stdout
    assert "value [95 %]" in done.stdout
    # What was asked for stays in what is to be typed.
    assert "clock.vdso --budget '0.5 s' --json machine.json" in done.stdout


def test_what_there_is_no_probe_for_is_named_with_what_there_is() -> None:
    done = fingerprint("clok", check=11)
    assert "clok" in done.stderr
    assert "tare fingerprint clock" in done.stderr


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--whole",), 10, "--whole"),
        (("--budget", "5"), 10, "--budget"),
        (("--max-memory", "much"), 10, "--max-memory"),
        (("--directory", "/nowhere/at/all"), 11, "mkdir -p /nowhere/at/all"),
        (("--peer", "192.0.2.7:7"), 11, "--key"),
        (("-p", "nowhere"), 11, "nowhere"),
    ],
)
def test_an_option_that_makes_no_sense_is_refused_before_measuring(
    words: tuple[str, ...], code: int, said: str
) -> None:
    assert said in fingerprint("clock", *words, check=code).stderr


def test_a_file_that_cannot_be_written_is_refused_before_measuring(tmp_path: Path) -> None:
    done = fingerprint("--json", str(tmp_path / "none" / "a.json"), check=14)
    assert str(tmp_path / "none") in done.stderr
    done = fingerprint("--report", str(tmp_path / "machine.txt"), check=14)
    assert "machine.txt" in done.stderr
    assert "hint: name a file that ends in .html" in done.stderr
    assert done.stdout == ""


def test_without_sysfs_it_is_measured_all_the_same() -> None:
    before = in_a_changed_view("mount -t tmpfs none /sys")
    assert measured("clock", "--budget", "0.5 s", before=before)["metrics"]["clock.vdso"]["n"] >= 1


def test_on_one_cpu_what_needs_two_says_so_and_the_rest_goes_on() -> None:
    cpu = min(os.sched_getaffinity(0))
    told = measured(
        "cores", "clock", "--budget", "1 s", preexec_fn=lambda: os.sched_setaffinity(0, {cpu})
    )
    assert "clock.vdso" in told["metrics"]
    assert "cores" in {problem["probe"] for problem in told["problems"]}


def test_where_no_file_can_be_made_the_rest_goes_on(tmp_path: Path) -> None:
    before = in_a_changed_view(f"mount -t tmpfs -o ro none {tmp_path}")
    words = ("clock", "file.read", "--directory", str(tmp_path), "--budget", "1 s")
    told = measured(*words, before=before)
    assert "clock.vdso" in told["metrics"]
    assert "file.read" in {problem["probe"] for problem in told["problems"]}


def test_inside_of_a_platform() -> None:
    found = platforms.availability("unshare")
    if not found.works:
        pytest.skip(f"unshare: {found.why}")
    told = measured("clock", "--platform", "unshare", "--budget", "0.5 s")
    assert told["platform"] == "unshare"
    assert told["metrics"]["clock.vdso"]["n"] >= 1


@contextmanager
def at_work(*words: str, directory: Path, for_s: float = 0.0) -> Iterator[cli.Captured]:
    """Start a fingerprint, and wait until it has measured for `for_s` seconds."""
    running = cli.start("fingerprint", *words, "--directory", str(directory))
    try:
        while not list(directory.glob("tare-*")):
            assert running.poll() is None, running.communicate()
            time.sleep(0.05)
        time.sleep(for_s)
        yield running
    finally:
        running.kill()
        running.wait()


def test_what_was_measured_until_ctrl_c_is_kept(tmp_path: Path) -> None:
    target = tmp_path / "machine.json"
    work = tmp_path / "work"
    work.mkdir()
    words = ("clock.vdso", "--precision", "0.0001%", "--json", str(target))
    # Enough for one round of this probe on a busy machine.
    with at_work(*words, directory=work, for_s=2) as going:
        going.send_signal(signal.SIGINT)
        out, err = going.communicate()
    assert going.returncode == 130
    assert str(target) in err.replace("\n", "")
    assert "clock.vdso" in out
    found = file.read(target)
    assert isinstance(found, Fingerprint)
    assert found.metrics["clock.vdso"].n >= 1
    assert list(work.iterdir()) == []


def test_the_brief_one_gives_the_value_of_each_round() -> None:
    found = brief.take(1.0)
    assert found.effort == "brief"
    assert found.metrics
    for one in found.metrics.values():
        assert one.n == len(one.values)


def test_a_page_of_another_format_is_refused_before_anything_is_measured(tmp_path: Path) -> None:
    done = fingerprint("clock", "--report", str(tmp_path / "x.pdf"), check=14)
    assert {".html", ".md"} < {*re.findall(r"\.\w+", done.stderr)}
    assert done.stdout == ""


def test_what_cannot_be_written_is_shown_all_the_same(tmp_path: Path) -> None:
    view = in_a_changed_view(
        f"mount -t tmpfs -o size=4k none {tmp_path} && head -c 4096 /dev/zero > {tmp_path}/full"
    )
    words = ("clock.vdso", "--budget", "0.5 s", "--json", str(tmp_path / "machine.json"))
    done = fingerprint(*words, before=view, check=14)
    assert "No space left" in done.stderr
    assert "clock.vdso" in done.stdout


def test_an_interrupt_before_anything_has_begun_is_told_in_a_word() -> None:
    script = (
        "import signal, sys; from tare.wiring import main; "
        "import tare.features.machine.fingerprint.measure as m; "
        "m.take = lambda *_: signal.raise_signal(signal.SIGINT); main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, "fingerprint", "clock"],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 130
    assert done.stderr.strip() == "tare: interrupted"


def test_platforms_are_weighed_beside_the_first(tmp_path: Path) -> None:
    target = tmp_path / "weights.json"
    words = ("syscall.getpid", "network.connect.whole", "--budget", "3 s", "--json", str(target))
    done = fingerprint(*words, "-p", "bare", "-p", "unshare", "-p", "null")
    told = json.loads(target.read_text())
    bare, layer, double = told["platforms"]
    assert bare["costs"] == []
    # A busy machine has fewer rounds within the budget.
    assert layer["starting"]["warm"]["n"] >= 2
    assert layer["starting"]["stop"]["n"] > layer["starting"]["warm"]["n"]
    assert layer["holding"]["around_memory_bytes"] > 0
    known = {"trial.wall", "syscall.getpid", "network.connect.whole"}
    # Its own loopback is all the network that it has.
    assert known <= {cost["metric"] for cost in layer["costs"]}
    assert "Missing unshare" not in done.stdout
    assert double["platform"] == "null"
