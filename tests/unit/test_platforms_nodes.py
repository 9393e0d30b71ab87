"""The node of memory that is near to CPUs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tare.platforms import Place, groups
from tare.platforms.docker.nested import limits


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr(groups, "NODES", tmp_path)
    for name, cpus in (("node0", "0-3,8-11\n"), ("node1", "4-7\n"), ("node2", "\n")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "cpulist").write_text(cpus)
    return tmp_path


@pytest.mark.parametrize(
    ("cpus", "node"), [((0, 9), "0"), ((4,), "1"), ((3, 4), None), ((99,), None), (None, None)]
)
def test_the_node_of_all_cpus(
    machine: Path, cpus: tuple[int, ...] | None, node: str | None
) -> None:
    assert groups.near(cpus) == node


def test_where_there_is_one_node_nothing_is_to_be_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(groups, "NODES", tmp_path)
    assert groups.near((0,)) is None
    (tmp_path / "node0").mkdir()
    (tmp_path / "node0" / "cpulist").write_text("0-1")
    assert groups.near((0,)) is None


def test_a_container_elsewhere_is_told_of_no_node(machine: Path) -> None:
    place = Place(name="tare-0123ab-0", shared="/x", cpus=(4, 5), cores=2.0, memory_bytes=1 << 30)
    here, elsewhere = limits(place, here=True), limits(place, here=False)
    assert set(here) - set(elsewhere) == {"--cpuset-mems=1"}
    assert elsewhere == [
        "--cpu-period=100000",
        "--cpu-quota=200000",
        "--cpuset-cpus=4,5",
        "--memory=1073741824",
        "--memory-swap=1073741824",
    ]
