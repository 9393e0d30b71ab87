"""Control groups: limits written to a made-up /sys/fs/cgroup of either version."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tare.errors import PlatformError
from tare.platforms import Place, groups

NAME = "tare-0123ab-0"


def place(
    cores: float | None = None, memory_bytes: int | None = None, period_us: int = 100_000
) -> Place:
    return Place(
        name=NAME, shared="/dev/shm", cores=cores, memory_bytes=memory_bytes, period_us=period_us
    )


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(groups, "MOUNTS", tmp_path / "mounts")
    monkeypatch.setattr(groups, "OWN", tmp_path / "own")
    return tmp_path


def version_1(machine: Path) -> None:
    lines = [f"cgroup {machine}/{name} cgroup rw,relatime,{name} 0 0" for name in ("cpu", "memory")]
    lines.append(f"cgroup {machine}/systemd cgroup rw,name=systemd 0 0")
    lines.append("tmpfs /dev/shm tmpfs rw 0 0")
    (machine / "mounts").write_text("\n".join(lines) + "\n")
    (machine / "own").write_text("3:name=systemd:/\n2:memory:/session\n1:cpu:/elsewhere\n0::/\n")
    for name in ("cpu", "memory/session", "systemd"):
        (machine / name).mkdir(parents=True)


def version_2(machine: Path, controllers: str) -> None:
    (machine / "mounts").write_text(f"cgroup2 {machine}/all cgroup2 rw 0 0\n")
    (machine / "own").write_text("0::/user\n")
    (machine / "all" / "user").mkdir(parents=True)
    (machine / "all" / "cgroup.controllers").write_text(controllers)


def test_on_version_1_each_hierarchy_has_its_group(machine: Path) -> None:
    version_1(machine)
    made = groups.limited(place(cores=2, memory_bytes=1 << 20))
    # The path of the own group is not there for cpu, as in a container: the root is taken.
    assert made == [machine / "cpu" / NAME, machine / "memory" / "session" / NAME]
    assert (made[0] / "cpu.cfs_quota_us").read_text() == "200000"
    assert (made[0] / "cpu.cfs_period_us").read_text() == "100000"
    assert (made[1] / "memory.limit_in_bytes").read_text() == "1048576"
    assert not (made[1] / "memory.memsw.limit_in_bytes").exists()


def test_on_version_2_one_group_has_all(machine: Path) -> None:
    version_2(machine, "cpuset cpu memory")
    (group,) = groups.limited(place(cores=1, memory_bytes=1 << 20))
    assert group == machine / "all" / "user" / NAME
    assert (group / "cpu.max").read_text() == "100000 100000"
    assert (group / "memory.max").read_text() == "1048576"


@pytest.mark.parametrize("above", [False, True])
def test_beside_processes_a_group_of_version_2_is_made_above_if_it_may(
    machine: Path, above: bool
) -> None:
    version_2(machine, "memory")
    (machine / "all" / "user" / "scope").mkdir()
    (machine / "own").write_text("0::/user/scope\n")
    # As the kernel does, which says EBUSY, it refuses to be written.
    (machine / "all" / "user" / "scope" / "cgroup.subtree_control").mkdir()
    (machine / "all" / "user" / "cgroup.subtree_control").write_text("cpu\n")
    (machine / "all" / "cgroup.subtree_control").write_text("cpu memory\n")
    if not above:
        with pytest.raises(PlatformError):
            groups.limited(place(memory_bytes=1 << 20))
        return
    (group,) = groups.limited(place(memory_bytes=1 << 20), above=True)
    assert group == machine / "all" / NAME
    for file in group.iterdir():
        file.unlink()
    groups.clear(NAME)
    assert not group.exists()


def test_a_part_of_a_cpu_in_a_period_of_its_own(machine: Path) -> None:
    version_2(machine, "cpu")
    (group,) = groups.limited(place(cores=0.3, period_us=20_000))
    assert (group / "cpu.max").read_text() == "6000 20000"


def test_on_version_1_cpu_time_is_counted_where_it_is_limited(machine: Path) -> None:
    version_1(machine)
    with (machine / "mounts").open("a") as mounts:
        mounts.write(f"cgroup {machine}/cpuacct cgroup rw,cpuacct 0 0\n")
    (machine / "cpuacct").mkdir()
    made = groups.limited(place(cores=0.1, period_us=50_000))
    assert made == [machine / "cpu" / NAME, machine / "cpuacct" / NAME]
    assert (made[0] / "cpu.cfs_quota_us").read_text() == "5000"
    assert (made[0] / "cpu.cfs_period_us").read_text() == "50000"


@pytest.mark.parametrize("file", ["cpu.cfs_burst_us", "cpu.max.burst"])
def test_nothing_is_saved_up_beyond_a_quota(machine: Path, file: str) -> None:
    if file == "cpu.max.burst":
        version_2(machine, "cpu")
        group = machine / "all" / "user" / NAME
    else:
        version_1(machine)
        group = machine / "cpu" / NAME
    group.mkdir()
    (group / file).write_text("50000")
    groups.limited(place(cores=0.5))
    assert (group / file).read_text() == "0"


def test_without_limits_nothing_is_made(machine: Path) -> None:
    version_1(machine)
    assert groups.limited(place()) == []
    assert list((machine / "cpu").iterdir()) == []


def test_a_missing_controller_is_told_and_nothing_stays(machine: Path) -> None:
    version_2(machine, "cpu")
    with pytest.raises(PlatformError, match="no control groups with the controller memory") as e:
        groups.limited(place(memory_bytes=1 << 20))
    assert e.value.hint
    assert not (machine / "all" / "user" / NAME).exists()


def test_a_refusal_is_told(machine: Path) -> None:
    version_1(machine)
    (machine / "cpu" / NAME).write_text("in the way")
    with pytest.raises(PlatformError, match="cannot be limited here") as caught:
        groups.limited(place(cores=1))
    assert "without a quota" in (caught.value.hint or "")


def test_release_takes_what_limited_made(machine: Path) -> None:
    version_1(machine)
    for group in groups.limited(place(memory_bytes=1 << 20)):
        for file in group.iterdir():
            file.unlink()  # a real group's files go with it
    groups.release(NAME)
    assert not (machine / "memory" / "session" / NAME).exists()


def test_groups_of_an_instance_are_cleared_and_not_those_of_another(machine: Path) -> None:
    version_1(machine)
    session = machine / "memory" / "session"
    own = [session / NAME / f"{NAME}-w0", session / f"{NAME}-w1", session / f"{NAME}.scope"]
    others = [session / f"{NAME}0", session / f"{NAME}0-w0", session / "other"]
    for group in (*own, *others):
        group.mkdir(parents=True)
    groups.clear(NAME)
    assert sorted(session.iterdir()) == sorted(others)


def test_the_first_process_enters_and_becomes_the_command(tmp_path: Path) -> None:
    made = [tmp_path / "a", tmp_path / "b"]
    for group in made:
        group.mkdir()
    argv = groups.entering(made, ["/bin/sh", "-c", 'echo "$$ $1"', "sh", "a b"])
    said = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    pid, _, rest = said.partition(" ")
    assert rest == "a b\n"
    assert [(group / "cgroup.procs").read_text() for group in made] == [f"{pid}\n"] * 2


def test_a_group_that_cannot_be_entered_starts_nothing(tmp_path: Path) -> None:
    argv = groups.entering([tmp_path / "missing"], ["echo", "started"])
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert done.stdout == ""
