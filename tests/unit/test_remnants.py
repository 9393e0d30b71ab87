"""Leases and cleanup: what the dead left goes, what the living have stays."""

from __future__ import annotations

import errno
import itertools
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from tare.errors import PlatformError
from tare.experiment import remnants
from tare.host import lease, processes
from tare.host.settings import restore
from tare.networks import remnants as networks
from tare.platforms import groups, users
from tare.render.words import text
from tare.results.message import message

#: Holds a lease and waits, as a process of its own that can be killed.
HOLDER = """
import sys, time
from pathlib import Path
from tare.host import lease
lease._folders = lambda: [Path(sys.argv[1])]
with lease.hold(sys.argv[2]):
    print("held", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine of its own: with the leases elsewhere, sessions of the real one look dead."""
    for name in ("leases", "files", "processes", "networks"):
        (tmp_path / name).mkdir()
    (tmp_path / "mounts").touch()
    monkeypatch.setattr(lease, "_folders", lambda: [tmp_path / "leases"])
    monkeypatch.setattr(remnants, "FOLDERS", (tmp_path / "files",))
    monkeypatch.setattr(processes, "PROC", tmp_path / "processes")
    monkeypatch.setattr(networks, "FOLDER", tmp_path / "networks")
    monkeypatch.setattr(groups, "MOUNTS", tmp_path / "mounts")
    monkeypatch.setattr("tare.registry.units_of", lambda _: {})
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


@pytest.fixture
def holder(state: Path) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    name = lease.new_name()
    argv = [sys.executable, "-c", HOLDER, str(state / "leases"), name]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield name, process
        process.kill()


def folder(state: Path, name: str) -> Path:
    path = state / "files" / name
    path.mkdir()
    (path / "file").touch()
    return path


@pytest.mark.parametrize(
    ("name", "session"),
    [
        ("tare-0123ab", "tare-0123ab"),
        ("tare-0123ab-0", "tare-0123ab"),
        ("tare-0123ab-load", "tare-0123ab"),
        ("tare-0123ab-0.scope", "tare-0123ab"),
        ("tare-0123abc", None),
        ("tare-agent:0123ab", None),
        ("tare-results", None),
        ("mytare-0123ab", None),
        ("tare", None),
        ("", None),
    ],
)
def test_names_say_their_session(name: str, session: str | None) -> None:
    assert lease.session_of(name) == session


def test_new_names_are_names() -> None:
    name = lease.new_name()
    assert lease.session_of(f"{name}-0") == name


def test_a_lease_lives_as_long_as_its_holder(state: Path) -> None:
    name = lease.new_name()
    with lease.hold(name) as held:
        assert held.pid == os.getpid()
        assert lease.sessions() == {name: True}
        lease.forget(name)
        assert lease.sessions() == {name: True}
    assert lease.sessions() == {}


def test_a_folder_that_is_full_is_told_and_nothing_is_left_in_it(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("fcntl.flock", full)
    with pytest.raises(PlatformError, match="No space left") as told, lease.hold(lease.new_name()):
        pytest.fail("it held")
    assert str(state / "leases") in (told.value.hint or "")
    assert not list((state / "leases").iterdir())


def test_a_killed_holder_is_dead(holder: tuple[str, subprocess.Popen[str]]) -> None:
    name, process = holder
    assert lease.sessions() == {name: True}
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert lease.sessions() == {name: False}
    lease.forget(name)
    assert lease.sessions() == {}


def test_cleanup_removes_what_the_dead_left_and_nothing_of_the_living(
    state: Path, holder: tuple[str, subprocess.Popen[str]]
) -> None:
    dead, process = holder
    of_dead = [folder(state, dead), folder(state, f"{dead}-load")]
    of_nobody = folder(state, "tare-ffffff")
    of_user = folder(state, "tare-results")
    living = lease.new_name()
    with lease.hold(living):
        of_living = folder(state, living)
        assert remnants.cleanup() == []
        process.kill()
        process.wait()
        assert sorted(remnants.cleanup()) == sorted(f"directory {path}" for path in of_dead)
        assert lease.sessions() == {living: True}
        assert of_nobody.exists()
        assert remnants.cleanup(all=True) == [f"directory {of_nobody}"]
        assert of_living.exists()
    assert of_user.exists()


def test_a_note_of_settings_whose_lease_is_lost_is_of_the_dead(state: Path) -> None:
    note = restore.Kept(
        name="tare-ffffff", pid=1, boot_id="another", since=1.0, wanted={}, saved={"swap": {}}
    )
    restore._write(note)
    with lease.hold(lease.new_name()):
        rebooted = message(
            "note of settings that the reboot put back ({settings | join(', ')})", settings=["swap"]
        )
        assert remnants.cleanup() == [text(rebooted)]
    assert not restore.exists("tare-ffffff")


def test_who_dies_during_a_cleanup_keeps_its_lease_for_the_next(
    state: Path, holder: tuple[str, subprocess.Popen[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    dead, process = holder

    def found() -> list[lease.Remnant]:
        # What it makes just before its end comes too late for those who look now.
        folder(state, dead)
        process.kill()
        process.wait()
        return []

    with monkeypatch.context() as patched:
        patched.setattr(remnants, "found", found)
        assert remnants.cleanup() == []
    assert lease.sessions() == {dead: False}
    assert remnants.cleanup() == [f"directory {state / 'files' / dead}"]
    assert lease.sessions() == {}


def test_links_are_not_followed(state: Path) -> None:
    (state / "kept").mkdir()
    (state / "files" / "tare-ffffff").symlink_to(state / "kept")
    assert remnants.cleanup(all=True) == []
    assert (state / "kept").exists()


def test_a_session_that_fails_removes_its_own(state: Path) -> None:
    name = lease.new_name()
    other = folder(state, "tare-ffffff")

    def fail() -> None:
        with remnants.lease(name):
            folder(state, name)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert list((state / "files").iterdir()) == [other]
    assert lease.sessions() == {}


def test_what_a_session_forgot_goes_at_its_end(state: Path) -> None:
    name = lease.new_name()
    with remnants.lease(name):
        folder(state, f"{name}-0")
    assert list((state / "files").iterdir()) == []


def test_what_a_failed_session_cannot_remove_stays_with_its_lease(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = lease.new_name()

    def busy() -> None:
        raise OSError(16, "Device or resource busy")

    monkeypatch.setattr(remnants, "found", lambda: [lease.Remnant(name, "group", busy)])

    def fail() -> None:
        with remnants.lease(name):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert lease.sessions() == {name: False}


def test_what_is_shared_goes_when_no_session_lives(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    removed: list[str] = []
    image = lease.Remnant("tare-agent:0123", "image", lambda: removed.append("image"))
    monkeypatch.setattr(remnants, "found", lambda: [image])
    with lease.hold(lease.new_name()):
        assert remnants.cleanup(all=True) == []
    assert remnants.cleanup() == ["image"]
    assert removed == ["image"]


def test_what_another_user_still_uses_stays_without_an_error(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def is_used() -> None:
        raise lease.InUseError("tare-agent:0123")

    monkeypatch.setattr(
        remnants, "found", lambda: [lease.Remnant("tare-agent:0123", "image", is_used)]
    )
    assert remnants.cleanup() == []


def test_what_cannot_be_removed_is_told_after_the_rest_is(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    removed: list[str] = []

    def busy() -> None:
        raise OSError(16, "Device or resource busy")

    mine = [
        lease.Remnant("tare-ffffff-0", "group", busy),
        lease.Remnant("tare-ffffff-1", "folder", lambda: removed.append("folder")),
    ]
    monkeypatch.setattr(remnants, "found", lambda: mine)
    with pytest.raises(PlatformError, match=r"group: .*busy"):
        remnants.cleanup(all=True)
    assert removed == ["folder"]


def test_stray_processes_are_found_by_name_and_ended() -> None:
    name = f"{lease.new_name()}-0"
    script = "import sys; print(flush=True); sys.stdin.read()"
    argv = [sys.executable, "-c", script, "worker", "--name", name]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()  # its command line is there a little after its start
        (stray,) = [p for p in processes.named() if p.name == name]
        assert (stray.pid, stray.user) == (process.pid, os.geteuid())
        processes.kill(stray._replace(started=stray.started + 1))
        assert process.poll() is None
        processes.kill(stray)
        assert process.wait(10) == -signal.SIGKILL
    processes.kill(stray)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has users to give to sandboxes")
def test_what_runs_as_root_of_a_sandbox_is_found(state: Path) -> None:
    name = f"{lease.new_name()}-0"
    script = "import sys; print(flush=True); sys.stdin.read()"
    argv = ["/usr/bin/python3", "-c", script, "serve", "--name", name]
    with subprocess.Popen(
        argv, user=users.FIRST + 7, cwd="/", stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        shown = state / "processes" / str(process.pid)
        shown.symlink_to(f"/proc/{process.pid}")
        assert any(str(process.pid) in told for told in remnants.cleanup(all=True))
        assert process.wait(10) == -signal.SIGKILL


#: Gets the CPU only when nobody else wants it, and that one alone which it shares with a load.
STARVED = """
import os, sys
os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
print(flush=True)
while True: pass
"""


@pytest.fixture
def starving() -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """A maker of processes that rarely run."""
    cpus = os.sched_getaffinity(0)
    one = {min(cpus)}
    started: list[subprocess.Popen[bytes]] = []

    def start(*words: str) -> subprocess.Popen[bytes]:
        os.sched_setaffinity(0, one)
        try:
            argv = [sys.executable, "-c", STARVED, *words]
            started.append(subprocess.Popen(argv, stdout=subprocess.PIPE))
        finally:
            os.sched_setaffinity(0, cpus)
        return started[-1]

    load = [sys.executable, "-c", f"import os; os.sched_setaffinity(0, {one})\nwhile True: pass"]
    with subprocess.Popen(load) as busy:
        yield start
        for process in started:
            process.kill()
            process.communicate()
        busy.kill()


def test_who_was_ended_is_gone_however_busy_the_machine_is(
    starving: Callable[..., subprocess.Popen[bytes]],
) -> None:
    for _ in range(8):
        name = f"{lease.new_name()}-0"
        process = starving("worker", "--name", name)
        assert process.stdout is not None
        process.stdout.readline()
        (stray,) = [p for p in processes.named() if p.name == name]
        processes.kill(stray)
        assert [p for p in processes.named() if p.name == name] == []


def test_who_does_not_end_is_told(
    starving: Callable[..., subprocess.Popen[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"{lease.new_name()}-0"
    process = starving("worker", "--name", name)
    assert process.stdout is not None
    process.stdout.readline()
    (stray,) = [p for p in processes.named() if p.name == name]
    monkeypatch.setattr(processes, "END_S", 0.1)
    monkeypatch.setattr(signal, "pidfd_send_signal", lambda *_: None)
    with pytest.raises(PlatformError, match=f"process {process.pid} has not ended"):
        processes.kill(stray)


def test_a_process_that_was_started_meanwhile_is_ended_too(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = {"first"}

    def end(what: str) -> None:
        running.remove(what)
        if what == "first":
            running.add("its child")

    def listed() -> list[lease.Remnant]:
        return [lease.Remnant("tare-ffffff-0", w, partial(end, w)) for w in running]

    monkeypatch.setattr(remnants, "_processes", listed)
    assert remnants.cleanup(all=True) == ["first", "its child"]


def test_processes_that_start_others_for_ever_do_not_hold_cleanup_up(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = folder(state, "tare-ffffff")
    numbers = itertools.count()
    monkeypatch.setattr(
        remnants,
        "_processes",
        lambda: [lease.Remnant("tare-ffffff-0", f"process {next(numbers)}", lambda: None)],
    )
    with pytest.raises(PlatformError, match="processes: they start others"):
        remnants.cleanup(all=True)
    assert not left.exists()


def test_children_are_counted_until_they_end() -> None:
    script = "import subprocess, sys; p = subprocess.Popen(['cat']); print(flush=True); p.wait()"
    argv = [sys.executable, "-c", script]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert processes.children(process.pid) == 1
        assert processes.children(process.pid, ran_ns=1 << 60) == 0
    assert processes.children(process.pid) == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="ordinary users' networks have no names")
def test_networks_of_dead_sessions_go_and_others_stay(state: Path) -> None:
    dead, living = lease.new_name(), lease.new_name()
    names = [f"{dead}-1", f"{dead}-s", f"{living}-1", "blue"]
    for name in names:
        (state / "networks" / name).touch()
    (state / "leases" / f"{dead}.lease").touch()
    with lease.hold(living):
        removed = remnants.cleanup()
    assert removed == [f"network namespace {dead}-1", f"network namespace {dead}-s"]
    assert {path.name for path in (state / "networks").iterdir()} == {f"{living}-1", "blue"}


def test_folders_that_their_user_may_not_change_are_removed() -> None:
    user = os.geteuid()
    with tempfile.TemporaryDirectory(prefix="tests-of-tare-", dir="/var/tmp") as name:
        place = Path(name)
        outside, folder = place / "outside", place / "folder"
        for one in (outside, folder / "a" / "b"):
            one.mkdir(parents=True)
            (one / "file").touch()
        (folder / "a" / "link").symlink_to(outside)
        if user == 0:
            # Root may change everything.
            for one in (place, *place.rglob("*")):
                os.chown(one, 65534, 65534, follow_symlinks=False)
        outside.chmod(0o500)
        for one in (folder / "a" / "b", folder / "a"):
            one.chmod(0o000)
        try:
            os.seteuid(65534 if user == 0 else user)
            remnants._remove_folder(folder)
        finally:
            os.seteuid(user)
        assert not folder.exists()
        assert (outside / "file").exists()
        assert outside.stat().st_mode & 0o777 == 0o500
        outside.chmod(0o700)
