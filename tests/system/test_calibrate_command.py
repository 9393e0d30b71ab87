"""``tare calibrate`` against the real machine: tiny sweeps, of which nobody tests the speed."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cli
import layers
import msgspec
import pytest
from cli import TARE

from tare import platforms
from tare.experiment.sweep.document import Calibration
from tare.features.calibration.matrix import Matrix

pytestmark = pytest.mark.system

NOBODY = 65534
#: Periods in a window that is to hold its quota, and the longest tick that Linux has.
PERIODS = 20
TICK_S = 0.01
#: Four quotas, windows of 40 ms: seconds in all.
QUOTAS = (0.2, 0.4, 0.6, 0.8)
TINY = (
    "--quotas", "0.2,0.4,0.6,0.8", "--period", "10 ms", "--periods", "4", "--windows", "3",
    "--threads", "1", "--kernel", "linpack:size=200",
)  # fmt: skip
TINY_COMMAND = (*TINY[:-2], "--", "sh", "-c", "i=0; while [ $i -lt 500 ]; do i=$((i+1)); done")
AUTOGROUP = Path("/proc/sys/kernel/sched_autogroup_enabled")
may_limit = pytest.mark.skipif(
    os.geteuid() != 0, reason="only root has control groups on every machine"
)


def tiny(option: str, value: str) -> tuple[str, ...]:
    """Return TINY with another value of one option."""
    place = TINY.index(option) + 1
    return (*TINY[:place], value, *TINY[place + 1 :])


def calibrate(
    *words: str, check: int | None = 0, **options: Any
) -> subprocess.CompletedProcess[str]:
    done = cli.run("calibrate", *words, **options)
    if check is not None:
        assert done.returncode == check, done.stdout + done.stderr
    return done


def read(text: str | bytes) -> Calibration:
    return msgspec.json.decode(text, type=Calibration)


def reported(text: str) -> Calibration:
    """Return the calibration of a report."""
    (one,) = json.loads(text)["calibrations"]
    return msgspec.convert(one, Calibration)


def trials(folder: Path) -> int:
    return sum(
        '"record":"ended"' in line
        for file in (folder / "journal").glob("*.ndjson")
        for line in file.read_text().splitlines()
    )


@may_limit
@pytest.mark.parametrize("platform", layers.each(["bare", "docker"], ["bare"]))
def test_a_sweep_is_kept_told_and_gone_on_with(platform: str, tmp_path: Path) -> None:
    found = platforms.availability(platform)
    if not found.works:
        pytest.skip(found.why or "")
    out, file = tmp_path / "out", tmp_path / "machine.json"
    words = (*tiny("--periods", str(PERIODS)), "-p", platform, "--out", str(out))
    done = calibrate(*words, "--json", str(file))
    one = reported(file.read_text())
    assert one.platform == platform
    assert [point.cpus for point in one.points] == list(QUOTAS)
    assert all(point.n == 3 and point.rate.value > 0 for point in one.points)
    # A window of whole periods sees one hand-out more at most; a tick is how late it may end.
    for quota, point in zip(QUOTAS, one.points, strict=True):
        assert point.delivered is not None
        most = quota * (PERIODS + 1) / PERIODS + TICK_S / (PERIODS * one.period_s)
        assert 0 < point.delivered.value < most
    assert read((out / "calibration.json").read_bytes()) == one
    assert (out / "report.html").stat().st_size > 10_000
    assert "4 quotas" in done.stderr
    assert "3 windows" in done.stderr
    for word in ("slope", "intercept", "R²", "maximum", "\nReport", "\nKept", "\nNext"):
        assert word in done.stdout
    assert any("Inconclusive: 4 steps" in line for line in done.stdout.splitlines())
    refused = calibrate(*TINY, "--out", str(out), check=14)
    assert "--resume" in refused.stderr
    done = calibrate("--resume", "--windows", "4", "--out", str(out), "--json", "-")
    assert [point.n for point in reported(done.stdout).points] == [4, 4, 4, 4]
    assert len(list((out / "journal").iterdir())) == 2


@may_limit
def test_any_command_can_be_swept_and_a_free_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "calibration").mkdir()
    (tmp_path / "calibration" / "mine").touch()
    done = calibrate("--json", "-", *TINY_COMMAND, cwd=tmp_path)
    assert (tmp_path / "calibration-2" / "report.html").exists()
    assert "calibration-2" in done.stderr
    one = reported(done.stdout)
    assert one.work == "execution"
    assert all(point.rate.value > 0 for point in one.points)


@may_limit
def test_memory_comes_with_cpu_time(tmp_path: Path) -> None:
    words = ("--by", "memory", *tiny("--period", "20 ms")[2:])
    done = calibrate(*words, "--out", str(tmp_path / "out"), "--json", "-")
    one = reported(done.stdout)
    assert one.by == "memory"
    sizes = [point.memory_bytes or 0 for point in one.points]
    assert sizes[:4] == [mib << 20 for mib in (128, 256, 512, 1024)]


@may_limit
@pytest.mark.parametrize(
    ("ending", "code"),
    [(signal.SIGINT, 130), pytest.param(signal.SIGTERM, 143, marks=pytest.mark.slow)],
)
def test_an_interruption_keeps_what_was_measured(
    ending: signal.Signals, code: int, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    words = ["calibrate", *tiny("--windows", "500"), "--out", str(out)]
    process = cli.start(*words)
    deadline = time.monotonic() + 60
    while trials(out) < 8 and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(ending)
    _, said = process.communicate(timeout=60)
    assert process.returncode == code
    assert f"tare calibrate --resume --out {out}" in said
    kept = trials(out)
    assert kept >= 8
    done = calibrate("--resume", "--windows", "5", "--out", str(out), "--json", "-")
    assert all(point.n >= 5 for point in reported(done.stdout).points)


@may_limit
def test_a_wrong_result_stops_the_sweep_and_the_rest_is_kept(tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = ("--kernel", "linpack:size=200,most_residual=0", *TINY[:-2])
    done = calibrate(*words, "--out", str(out), check=15)
    assert "trial" in done.stderr
    assert "residual" in done.stderr
    assert trials(out) >= 1


@pytest.fixture
def autogroup() -> Iterator[str]:
    if os.geteuid() != 0 or not AUTOGROUP.exists():
        pytest.skip("this kernel has no autogroups, or this user may not change them")
    before = AUTOGROUP.read_text()
    yield before
    assert AUTOGROUP.read_text() == before


@pytest.mark.machine
def test_settings_are_held_and_put_back(autogroup: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = ("--settings", "autogroup=on,off", *TINY, "--out", str(out), "--json")
    done = calibrate(*words, str(tmp_path / "matrix.json"))
    found = msgspec.json.decode((out / "matrix.json").read_bytes(), type=Matrix)
    assert [one.state for one in found.combinations] == ["measured", "measured"]
    assert len(found.standings) == 2
    # Four steps tell no line from a bend, whatever the settings.
    assert not any(one.fairest for one in found.standings)
    for value in ("on", "off"):
        one = read((out / f"autogroup={value}" / "calibration.json").read_bytes())
        assert one.settings == {"autogroup": value}
    assert json.loads((tmp_path / "matrix.json").read_text())["answer"] == found.answer
    assert (found.answer or "?") in done.stdout
    done = calibrate("--resume", "--out", str(out))
    assert "2 measured already" in done.stderr


@pytest.fixture
def home() -> Iterator[Path]:
    """Give a folder of another user's, whom pytest's own folders do not let in."""
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    with tempfile.TemporaryDirectory() as made:
        os.chown(made, NOBODY, NOBODY)
        yield Path(made)


def test_without_rights_it_says_what_it_needs(home: Path) -> None:
    as_nobody = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    environment = {**os.environ, "HOME": str(home), "PYTHONDONTWRITEBYTECODE": "1"}
    environment.pop("XDG_RUNTIME_DIR", None)
    tried = subprocess.run(
        [*as_nobody, sys.executable, "-c", "import msgspec, tare.agent.client"],
        env=environment,
        capture_output=True,
        check=False,
    )
    if tried.returncode != 0:
        pytest.skip("another user cannot read this Python or this checkout")
    done = subprocess.run(
        [*as_nobody, *TARE, "calibrate", *TINY, "--out", str(home / "out")],
        env=environment, cwd="/", capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 12, done.stdout + done.stderr
    assert re.search(r"try: sudo (\S*/)?tare calibrate ", done.stderr)
    assert not (home / "out").exists()


def test_without_docker_it_says_so(tmp_path: Path) -> None:
    environment = {**os.environ, "DOCKER_HOST": f"unix://{tmp_path}/no.sock"}
    out = tmp_path / "out"
    words = (*TINY, "-p", "docker", "--out", str(out))
    done = calibrate(*words, check=12, env=environment)
    assert "tare: docker" in done.stderr
    assert "try: " in done.stderr
    assert not out.exists()


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--step", "0"), 10),
        (("--step", "4096"), 11),
        (("--kernel", "linpak"), 11),
        (("--settings", "governr=a"), 11),
        (("--by", "vcpus", "--platform", "docker"), 11),
        (("--kernel", "linpack:size=49999", "--threads", "1000"), 11),
        (("--resume",), 11),
        (("--resume", "--out", "nowhere"), 14),
        (("--windows", "0"), 10),
        (("--periods", "0"), 10),
    ],
)
def test_what_makes_no_sweep_is_refused(words: tuple[str, ...], code: int, tmp_path: Path) -> None:
    done = calibrate(*words, check=code, cwd=tmp_path)
    assert list(tmp_path.iterdir()) == []
    assert "Traceback" not in done.stderr
