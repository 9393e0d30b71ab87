"""The size of the file cache is that of a control group, which is removed however it ends."""

from __future__ import annotations

import re
import time
from pathlib import Path

import cli
import pytest
from test_fingerprint import at_work

from tare.errors import AgentError
from tare.experiment.session import scratch_space
from tare.features.machine.fingerprint import file_cache, measure, measured_platform
from tare.features.machine.fingerprint.request import Asked
from tare.platforms import Place, groups

pytestmark = [pytest.mark.system, pytest.mark.timeout(180)]

MIB = 1 << 20
MEMORY = 32 * MIB


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Return the groups that are made, or skip where none can be."""
    paths: list[Path] = []
    limited = groups.limited

    def recorded(place: Place, *, above: bool = False) -> list[Path]:
        paths.extend(found := limited(place, above=above))
        return found

    monkeypatch.setattr(groups, "limited", recorded)
    return paths


def asked(directory: Path, cache: int = MEMORY) -> Asked:
    return Asked(words=(file_cache.PROBE,), file_cache=cache, directory=directory, budget_s=100.0)


@pytest.fixture(autouse=True)
def room(tmp_path: Path) -> None:
    """Skip where the disk is nearly full: the group would be made smaller."""
    if scratch_space.spare_bytes(tmp_path) < 4 * MEMORY:
        pytest.skip("the disk has no room beside the tenth that is left alone")


def need_groups(problems: tuple[object, ...]) -> None:
    if any("no control group" in str(one) or "does not count" in str(one) for one in problems):
        pytest.skip(str(problems))


def test_the_size_is_near_the_groups_memory_and_the_fall_is_seen(
    tmp_path: Path, made: list[Path]
) -> None:
    found, _ = measure.take(asked(tmp_path))
    need_groups(found.problems)
    size = found.metrics["file.cache_size.group"]
    # The process and the tables of the file take a part.
    assert MEMORY / 2 <= size.value <= MEMORY
    assert size.predicted == MEMORY
    assert size.why is not None
    assert "control group" in size.why
    assert found.facts["file_cache_group_bytes"] == MEMORY
    assert found.metrics["file.cache_size.fall"].value > 1
    assert "file.cache_size.machine" not in found.metrics
    sizes = [point.at[0] for point in found.curves["file.cache_size.by_size"].points]
    assert sizes == [n * MEMORY // 8 for n in range(1, 17)]
    assert len(made) == 1
    assert not made[0].exists()
    assert list(tmp_path.iterdir()) == []


def test_the_group_is_removed_when_the_agent_ends(
    tmp_path: Path, made: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def perform_round(*_args: object) -> None:
        assert all(path.exists() for path in made)
        raise AgentError("it ended")

    monkeypatch.setattr(measured_platform, "perform_round", perform_round)
    found, _ = measure.take(asked(tmp_path))
    assert not found.metrics
    assert "it ended" in found.problems[0].why
    assert not any(path.exists() for path in made)


def test_what_a_killed_one_left_is_cleaned_away(tmp_path: Path) -> None:
    # Rounds of the clock come first, and the group is there meanwhile.
    words = (file_cache.PROBE, "clock", "--file-cache", "16MiB", "--budget", "100s")
    with at_work(*words, directory=tmp_path) as going:
        session = re.match(r"tare-[0-9a-f]+", next(iter(tmp_path.iterdir())).name)
        assert session is not None
        group = f"{session[0]}-cache"
        deadline = time.monotonic() + 60
        while not (left := groups.named(lambda name: name == group)):
            if going.poll() is not None or time.monotonic() > deadline:
                pytest.skip("no control group can be made here")
            time.sleep(0.05)
        going.kill()
        going.communicate()
    done = cli.run("cleanup")
    assert str(left[0]) in done.stdout.replace("\n", "")
    assert groups.named(lambda name: name == group) == []
    assert list(tmp_path.iterdir()) == []
