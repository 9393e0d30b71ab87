"""The quota that holds a process, read back from a made-up /sys/fs/cgroup of either version."""

from __future__ import annotations

from pathlib import Path

import pytest

from tare.errors import PlatformError
from tare.platforms import Place, groups, quota

NAME = "tare-0123ab-0"
PID = 77


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(groups, "MOUNTS", tmp_path / "mounts")
    monkeypatch.setattr(groups, "PROC", tmp_path / "proc")
    (tmp_path / "proc" / str(PID)).mkdir(parents=True)
    return tmp_path


def put(folder: Path, **files: object) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, value in files.items():
        (folder / name.replace("__", ".")).write_text(f"{value}\n")


def version_1(machine: Path, asked: int, around: int = -1, burst: int | None = 0) -> None:
    """Put a process into a group of the first version."""
    (machine / "mounts").write_text(
        f"cgroup {machine}/cpu cgroup rw,cpu 0 0\ncgroup2 {machine}/unified cgroup2 rw 0 0\n"
    )
    put(machine / "unified", cgroup__controllers="")
    (machine / "proc" / str(PID) / "cgroup").write_text(f"1:cpu:/outer/{NAME}\n0::/\n")
    put(machine / "cpu", cpu__cfs_quota_us=-1, cpu__cfs_period_us=100_000)
    put(machine / "cpu/outer", cpu__cfs_quota_us=around, cpu__cfs_period_us=100_000)
    own = machine / "cpu/outer" / NAME
    put(own, cpu__cfs_quota_us=asked, cpu__cfs_period_us=20_000)
    if burst is not None:
        put(own, cpu__cfs_burst_us=burst)


def version_2(machine: Path, asked: str, around: str = "max 100000") -> None:
    """Put a process into the leaf that an agent makes for itself, below its instance's group."""
    (machine / "mounts").write_text(f"cgroup2 {machine}/all cgroup2 rw 0 0\n")
    leaf = f"/slice/{NAME}/{NAME}-agent"
    (machine / "proc" / str(PID) / "cgroup").write_text(f"0::{leaf}\n")
    put(machine / "all", cgroup__controllers="cpu memory")
    put(machine / "all/slice", cpu__max=around)
    put(machine / "all/slice" / NAME, cpu__max=asked, cpu__max__burst=0)
    put(machine / f"all{leaf}", cpu__max="max 100000")


def place(cores: float, period_us: int = 20_000) -> Place:
    return Place(name=NAME, shared="/dev/shm", cores=cores, period_us=period_us)


def facts(asked: Place) -> dict[str, object]:
    return {name: value for name, value, _, _ in quota.told(PID, asked)}


def test_on_version_1_what_was_written_is_read_back(machine: Path) -> None:
    version_1(machine, asked=4_000)
    assert facts(place(0.2)) == {
        "quota_cgroup_version": 1,
        "quota_period_ns": 20_000_000,
        "quota_burst_ns": 0,
    }


def test_on_version_2_the_group_around_the_agents_leaf_holds(machine: Path) -> None:
    version_2(machine, "50000 100000", around="150000 100000")
    assert facts(place(0.5)) == {
        "quota_cgroup_version": 2,
        "quota_period_ns": 100_000_000,
        "quota_burst_ns": 0,
    }
    assert [one.cores for one in quota.held(PID)] == [0.5, 1.5]


def test_a_kernel_without_burst_tells_none(machine: Path) -> None:
    version_1(machine, asked=4_000, burst=None)
    assert "quota_burst_ns" not in facts(place(0.2))


def test_a_burst_is_told(machine: Path) -> None:
    version_1(machine, asked=4_000, burst=50)
    assert facts(place(0.2))["quota_burst_ns"] == 50_000


def test_a_quota_that_is_not_the_one_asked_is_refused(machine: Path) -> None:
    version_1(machine, asked=4_000)
    with pytest.raises(PlatformError, match=r"0\.5 CPUs was asked, and .* has 0\.2"):
        facts(place(0.5))


def test_a_microsecond_is_no_other_quota(machine: Path) -> None:
    version_1(machine, asked=6_667)
    assert facts(place(1 / 3))


def test_a_tighter_group_around_is_told_with_what_can_be_had(machine: Path) -> None:
    version_1(machine, asked=40_000, around=150_000)
    with pytest.raises(PlatformError, match=r"outer, around it, is held to 1\.5") as caught:
        facts(place(2.0))
    assert "at most 1.5" in (caught.value.hint or "")


def test_a_quota_that_nothing_holds_is_refused(machine: Path) -> None:
    version_1(machine, asked=-1)
    with pytest.raises(PlatformError, match="no control group holds") as caught:
        facts(place(0.2))
    assert caught.value.hint


def test_a_process_that_has_ended_is_a_complaint(machine: Path) -> None:
    version_2(machine, "20000 100000")
    (machine / "proc" / str(PID) / "cgroup").unlink()
    with pytest.raises(PlatformError, match="cannot be read back"):
        quota.told(PID, Place(name=NAME, cores=0.2, shared="/"))
