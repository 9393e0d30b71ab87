"""Memory that files may fill: how much, whose, and why there is none."""

from __future__ import annotations

import os

import pytest
from test_fingerprint_rounds import probe

from tare.errors import PlatformError, UsageError
from tare.experiment import machine_facts
from tare.experiment.session import scratch_space
from tare.features.machine.fingerprint import command, file_cache
from tare.features.machine.fingerprint.request import Asked, places
from tare.features.machine.fingerprint.specification import predict
from tare.host import hardware
from tare.options.parsing import parse
from tare.platforms import groups

GIB = 1 << 30


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine with 32 GiB available, a large disk, and groups of made-up directories."""
    monkeypatch.setattr(machine_facts, "available_bytes", lambda: 32 * GIB)
    monkeypatch.setattr(groups, "memory_limits", list)
    monkeypatch.setattr(scratch_space, "spare_bytes", lambda folder: 500 * GIB)
    monkeypatch.setattr(scratch_space, "disk", lambda folder, size: (folder, size, None))
    removed = []

    def limited(place, *, above):
        return [tmp_path / place.name / str(place.memory_bytes)]

    monkeypatch.setattr(groups, "limited", limited)
    monkeypatch.setattr(groups, "clear", removed.append)
    return removed


@pytest.mark.parametrize(
    ("asked", "most", "memory"),
    [
        (None, None, GIB),
        (64 << 20, None, 64 << 20),
        (4 * GIB, None, 4 * GIB),
        (None, GIB, GIB // 2),
    ],
)
def test_a_group_of_known_memory_and_a_file_of_twice_that(machine, tmp_path, asked, most, memory):
    with file_cache.made("tare-1-cache", asked, tmp_path, most) as cache:
        assert cache.job.group == str(tmp_path / "tare-1-cache" / str(memory))
        assert cache.job.file_bytes == 2 * memory
        assert cache.facts == {"file_cache_group_bytes": memory}
        assert machine == []
    assert machine == ["tare-1-cache"]


def test_the_group_is_removed_after_an_error(machine, tmp_path):
    with (
        pytest.raises(KeyboardInterrupt),
        file_cache.made("tare-1-cache", None, tmp_path, None),
    ):
        raise KeyboardInterrupt
    assert machine == ["tare-1-cache"]


def test_the_machines_cache_has_no_group(machine, tmp_path):
    with file_cache.made("tare-1-cache", "machine", tmp_path, None) as cache:
        assert cache.job.group is None
        assert cache.job.file_bytes == 64 * GIB
        assert cache.facts == {"file_cache_machine_bytes": 32 * GIB}
    assert machine == []


def test_a_small_disk_makes_the_group_smaller_or_impossible(machine, tmp_path, monkeypatch):
    monkeypatch.setattr(scratch_space, "spare_bytes", lambda folder: 100 << 20)
    with file_cache.made("tare-1-cache", None, tmp_path, None) as cache:
        assert cache.memory_bytes == 50 << 20
    monkeypatch.setattr(scratch_space, "spare_bytes", lambda folder: 1 << 20)
    with (
        pytest.raises(file_cache.LackingError, match="--directory"),
        file_cache.made("tare-1-cache", None, tmp_path, None),
    ):
        pass


def test_without_rights_the_reason_is_told(machine, tmp_path, monkeypatch):
    def refused(place, *, above):
        raise PlatformError("cannot be limited", "run as root") from PermissionError(13, "denied")

    monkeypatch.setattr(groups, "limited", refused)
    with (
        pytest.raises(file_cache.LackingError, match=r"no control group .*denied.*run it as root"),
        file_cache.made("tare-1-cache", None, tmp_path, None),
    ):
        pass


def test_its_duration_is_in_proportion_to_the_memory(machine, tmp_path):
    described = probe(file_cache.PROBE, seconds=20.0)
    with file_cache.made("tare-1-cache", 64 << 20, tmp_path, None) as cache:
        assert cache.timed(described).seconds.whole == pytest.approx(described.seconds.whole / 16)


@pytest.mark.parametrize(
    ("asked", "lacks"),
    [
        (Asked(), True),
        (Asked(words=("file",)), True),
        (Asked(effort="whole"), False),
        (Asked(words=("file.cache_size.group",)), False),
        (Asked(words=("file",), file_cache=64 << 20), False),
        (Asked(effort="whole", platform="docker"), True),
    ],
)
def test_only_who_asks_for_it_gets_so_large_a_file(asked, lacks):
    assert (file_cache.NEED in places(asked).lacking) == lacks


def test_its_option_is_for_it_alone():
    def read(*words):
        found = parse("tare fingerprint", command.TakeOptions, words)
        if found.file_cache is not None:
            command._check_file_cache(found)
        return found.file_cache

    assert read() is None
    assert read("--full", "--file-cache", "machine") == "machine"
    assert read("file", "--file-cache", "64 MiB") == 64 << 20
    with pytest.raises(UsageError, match="--file-cache is for"):
        read("syscall", "--file-cache", "64 MiB")
    with pytest.raises(UsageError, match="below"):
        read("--full", "--file-cache", "1 MiB")
    with pytest.raises(UsageError):
        read("--full", "--file-cache", "all")


def test_the_group_is_what_is_expected(tmp_path):
    here = hardware.read(root=tmp_path)
    measured = {"file.cache_size.group": 60e6}
    found = predict(here, measured, {"file_cache_group_bytes": 64 << 20})
    assert found["file.cache_size.group"].value == 64 << 20
    assert predict(here, measured) == {}


def test_a_tenth_of_the_disk_is_spared(tmp_path):
    about = os.statvfs(tmp_path)
    spare = scratch_space.spare_bytes(tmp_path)
    assert 0 <= spare <= about.f_bavail * about.f_frsize
