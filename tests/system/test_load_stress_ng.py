"""The real stress-ng: at work between start and stop, gone after, its death seen."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tare import loads
from tare.agent import record
from tare.errors import PlatformError
from tare.host import lease

pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(shutil.which("stress-ng") is None, reason="no stress-ng"),
]

STARTER = """
import sys, time
from tare import loads
loads.start("stress-ng", {"workers": 2}, sys.argv[1])
print("started", flush=True)
time.sleep(600)
"""


def stressing(name: str) -> list[int]:
    """Return the pids of what works under a name, the dead excepted."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_text().split("\0")
        except OSError:
            continue
        if entry.name.isdigit() and any(f"/{name}." in word for word in words[1:]):
            found.append(int(entry.name))
    return found


def eventually(holds: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 30
    while not holds() and time.monotonic() < deadline:
        time.sleep(0.02)
    return holds()


@pytest.mark.parametrize(
    "given",
    [
        {"stressor": "cpu", "workers": 2},
        {"stressor": "cpu", "workers": 1, "extra": "--cpu-load 25"},
        {"stressor": "memcpy", "workers": 1},
        {"stressor": "vm", "workers": 1, "extra": "--vm-bytes 16m"},
    ],
)
def test_it_works_from_start_to_stop(given: dict[str, Any]) -> None:
    assert loads.availability("stress-ng", given).works
    name = f"{lease.new_name()}-load"
    running = loads.start("stress-ng", given, name)
    try:
        running.check()
        assert len(stressing(name)) > given["workers"]
    finally:
        running.stop()
    assert stressing(name) == []
    running.stop()


@pytest.mark.parametrize("whom", [0, 1])
def test_its_death_is_seen(whom: int) -> None:
    name = f"{lease.new_name()}-load"
    running = loads.start("stress-ng", {"workers": 2}, name)
    try:
        os.kill(sorted(stressing(name))[whom], signal.SIGKILL)

        def seen() -> bool:
            try:
                running.check()
            except PlatformError:
                return True
            return False

        assert eventually(seen)
    finally:
        running.stop()
    assert stressing(name) == []


def test_it_dies_with_whoever_started_it() -> None:
    name = f"{lease.new_name()}-load"
    argv = [sys.executable, "-c", STARTER, name]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as starter:
        assert starter.stdout is not None
        try:
            assert starter.stdout.readline() == b"started\n"
            assert len(stressing(name)) == 3
        finally:
            starter.kill()
    assert eventually(lambda: stressing(name) == [])
    for left in Path("/tmp").glob(f"{name}.*"):
        shutil.rmtree(left)


def test_what_others_made_of_its_name_is_not_touched() -> None:
    name = f"{lease.new_name()}-load"
    theirs = Path("/tmp") / name
    theirs.mkdir()
    (theirs / "file").touch()
    running = loads.start("stress-ng", {"workers": 1}, name)
    running.stop()
    assert (theirs / "file").exists()
    shutil.rmtree(theirs)
    assert list(Path("/tmp").glob(f"{name}*")) == []


def test_bad_options_say_what_stress_ng_says() -> None:
    name = f"{lease.new_name()}-load"
    with pytest.raises(PlatformError, match="unrecognized option"):
        loads.start("stress-ng", {"extra": "--no-such-option"}, name)
    with pytest.raises(PlatformError, match="no stressor 'nonsense'"):
        loads.start("stress-ng", {"stressor": "nonsense"}, name)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root starts it as another user")
def test_it_runs_as_who_called_sudo(tmp_path: Path) -> None:
    caller, name = record.User(uid=54321, gid=54321, groups=()), lease.new_name()
    running = loads.start("stress-ng", {"workers": 1}, name, caller)
    try:
        assert {Path(f"/proc/{pid}").stat().st_uid for pid in stressing(name)} == {54321}
    finally:
        running.stop()
    assert not list(Path(tempfile.gettempdir()).glob(f"{name}.*"))
    # Its options are that user's, and could write anywhere.
    written = tmp_path / "written"
    with contextlib.suppress(PlatformError):
        extra = f"--log-file {written}"
        loads.start("stress-ng", {"workers": 1, "extra": extra}, name, caller).stop()
    assert not written.exists()
