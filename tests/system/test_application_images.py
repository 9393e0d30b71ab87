"""Images of real applications: the same lock makes the same files, and a kill leaves nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tare.applications.image import built, cache, prepared, remnants, size_bytes
from tare.results.message import Message, Said
from tare.workloads.application import Application, Image

pytestmark = [pytest.mark.applications, pytest.mark.system, pytest.mark.timeout(1800)]

BUILD = """\
from tare.applications.image import built
from tare.workloads.application import Application, Image
built(Application(name="some", question="?", folder="/", digest="0" * 64, command=("true",),
                  image=Image(packages=("busybox",))), lambda said: print(said.id, flush=True))
"""


def application(*packages: str) -> Application:
    return Application(
        name="some", question="?", folder="/", digest="0" * 64, command=("true",),
        image=Image(packages=packages),
    )  # fmt: skip


def test_two_builds_from_one_lock_have_the_same_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[Said] = []
    wanted = application("ffmpeg")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "first"))
    first = built(wanted, said.append)
    left = [one for one in said if isinstance(one, Message) and "left" in one.args]
    assert left
    assert size_bytes(wanted)
    source = "-f lavfi -i testsrc2=size=320x240:rate=30 -t 1 -c:v libx264 /data/source.mp4"
    data, _ = prepared(wanted, first, [["ffmpeg", *source.split()]], said.append)
    assert (data / "source.mp4").stat().st_size > 0
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "second"))
    second = built(wanted, said.append, first.lock)
    assert second.lock == first.lock


def test_a_killed_build_leaves_no_process_no_mount_and_what_the_next_removes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with subprocess.Popen([sys.executable, "-c", BUILD], stdout=subprocess.PIPE) as build:
        assert build.stdout is not None
        for line in build.stdout:
            if line.strip() == b"application.image.packages":
                break
        build.send_signal(signal.SIGKILL)
    # They are ended by the kernel, which takes a moment.
    while still := [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc")))  # noqa: PTH208
                    if str(tmp_path) in environment(pid)]:  # fmt: skip
        assert still
        time.sleep(0.05)
    assert str(tmp_path) not in Path("/proc/self/mountinfo").read_text()
    assert size_bytes(application("busybox")) is None
    [left] = remnants()
    left.remove()
    assert remnants() == []
    assert not list(cache.folder().glob("*.new"))


def environment(pid: int) -> str:
    """Return what a process was given, unless it is gone or this one."""
    if pid == os.getpid():
        return ""
    try:
        return Path(f"/proc/{pid}/environ").read_text(errors="replace")
    except OSError:
        return ""
