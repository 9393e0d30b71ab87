"""CPU sets of pinned instances on recorded machines; names of sizes; lists of CPUs."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import msgspec
import pytest
import served
from hypothesis import given
from hypothesis import strategies as st

from tare.agent import client
from tare.errors import ExperimentError
from tare.experiment import plan
from tare.experiment.placement import Cpu, Machine, cpu_sets, placement
from tare.experiment.specification import Cell, Experiment, SizeSpec, listed_cpus, named_size
from tare.results.message import message
from tare.workloads.application import Needs
from tare.workloads.specification import WorkloadSpec

KERNEL = WorkloadSpec(name="exp_float", kernel="exp_float")
RECORDED = Path(__file__).parents[1] / "data" / "topology"


def expand(path: str) -> list[str]:
    before, brace, rest = path.partition("{")
    if not brace:
        return [path]
    numbers, _, after = rest.partition("}")
    return [f"{before}{cpu}{after}" for cpu in listed_cpus(numbers) or ()]


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Machine]:
    """Machines whose sysfs was recorded, as the agent reads them."""
    found = {}
    for file in RECORDED.glob("*.txt"):
        root = tmp_path_factory.mktemp(file.stem)
        for line in file.read_text().splitlines():
            if line.startswith("#"):
                continue
            pattern, _, content = line.partition("=")
            for path in expand(pattern):
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(content + "\n")
        command = [str(client.binary()), "topology", "--sysfs", str(root)]
        said = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
        found[file.stem] = Machine.parse({**said, "memory_bytes": 1 << 40})
    return found


def parts(machine: Machine, cpus: tuple[int, ...], part: str) -> set[Any]:
    return {getattr(one, part) for one in machine.cpus if one.cpu in cpus}


@pytest.mark.parametrize(
    ("name", "each", "part"),
    [
        ("2x24_epyc_7451", 3, "cache"),
        ("2x24_epyc_7451", 6, "node"),
        ("2x24_epyc_7451", 24, "package"),
        ("2x10_xeon_e5_2630", 5, "node"),
        ("4x10_xeon_e7_4870", 10, "package"),
    ],
)
def test_an_instance_has_cores_of_its_own_that_share_what_can_be_shared(
    machines: dict[str, Machine], name: str, each: int, part: str
) -> None:
    machine = machines[name]
    sets = cpu_sets(machine, each, machine.cores // each)
    taken = [cpu for cpus in sets for cpu in cpus]
    assert len(taken) == len(set(taken))
    assert len(parts(machine, tuple(taken), "core")) == len(taken), "no two on one core"
    for cpus in sets:
        assert len(cpus) == each
        assert len(parts(machine, cpus, part)) == 1


def test_second_threads_are_taken_when_no_core_is_left(machines: dict[str, Machine]) -> None:
    machine = machines["2x24_epyc_7451"]
    first, second = cpu_sets(machine, 48, 2)
    assert len(parts(machine, first, "core")) == 48
    assert set(first) | set(second) == set(machine.compact)
    (wide,) = cpu_sets(machine, 60, 1)
    assert len(parts(machine, wide, "core")) == 48


def test_slower_cores_are_taken_when_no_faster_ones_are_left(machines: dict[str, Machine]) -> None:
    machine = machines["hybrid_i7_1370p"]
    fast = sum(1 for core in {c.core: c for c in machine.cpus}.values() if core.tier == 0)
    (cpus,) = cpu_sets(machine, fast, 1)
    assert parts(machine, cpus, "tier") == {0}
    (cpus,) = cpu_sets(machine, fast + 1, 1)
    assert parts(machine, cpus, "tier") == {0, 1}


def test_an_instance_fills_a_cache_that_is_begun_rather_than_begin_another() -> None:
    machine = Machine(
        spread=tuple(range(8)), compact=tuple(range(8)), steps=(1,), cores=8, packages=1,
        memory_bytes=1,
        cpus=tuple(Cpu(cpu=n, package=0, node=0, cache=n // 4 * 4, core=n) for n in range(8)),
    )  # fmt: skip
    assert cpu_sets(machine, 3, 2) == ((0, 1, 2), (4, 5, 6))
    assert cpu_sets(machine, 1, 3) == ((0,), (1,), (2,))
    assert cpu_sets(machine, 2, 5)[4] == (0, 1), "more than fit go round again"
    assert cpu_sets(machine, 6, 1) == ((0, 1, 2, 3, 4, 5),)


@given(st.integers(1, 8), st.integers(1, 9))
def test_every_set_has_its_number_of_cpus(each: int, instances: int) -> None:
    machine = Machine(
        spread=tuple(range(8)), compact=(0, 2, 4, 6, 1, 3, 5, 7), steps=(1,), cores=4, packages=1,
        memory_bytes=1,
        cpus=tuple(Cpu(cpu=n, package=0, cache=0, core=n // 2 * 2) for n in range(8)),
    )  # fmt: skip
    sets = cpu_sets(machine, each, instances)
    assert [len(set(cpus)) for cpus in sets] == [each] * instances
    fit = sets[: 8 // each]
    assert len({cpu for cpus in fit for cpu in cpus}) == each * len(fit)


def test_names_say_cores_and_memory() -> None:
    assert named_size("2c8g") == SizeSpec(cores=2, memory_bytes=8 << 30)
    assert named_size("0.5c") == SizeSpec(cores=0.5)
    assert named_size("1c512m") == SizeSpec(cores=1, memory_bytes=512 << 20)
    assert named_size("large") == SizeSpec(cores=2, memory_bytes=8 << 30)
    assert named_size("16xlarge") == SizeSpec(cores=64, memory_bytes=256 << 30)
    for wrong in ("", "2", "2g", "c", "0c", "2c8", "2C8G", "2c 8g", "-1c", "all", "small"):
        assert named_size(wrong) is None


def test_lists_of_cpus() -> None:
    assert listed_cpus("0") == (0,)
    assert listed_cpus("0-1,3") == (0, 1, 3)
    assert listed_cpus("3,0-1,1") == (0, 1, 3)
    for wrong in ("", "none", "pinned", "1-0", "0,", "0 1", "-1", "0-1-2"):
        assert listed_cpus(wrong) is None


HERE = Machine(
    spread=(0, 1, 2, 3), compact=(0, 1, 2, 3), steps=(1, 2, 4), cores=4, packages=1,
    memory_bytes=16 << 30,
)  # fmt: skip


def asked(**changes: Any) -> Experiment:
    given: dict[str, Any] = {"name": "a", "question": "b?", "workloads": (KERNEL,), "factors": {}}
    return Experiment(**(given | changes))


def test_pinned_is_a_cpuset_in_place_of_a_quota() -> None:
    e = asked(factors={"size": ("2c1g",), "pinning": ("none", "pinned", "0,2", "0-2")})
    none, pinned, two, three = plan.cells(e, HERE)
    assert (placement(e, none, HERE), e.cores(none)) == ((None,), 2)
    assert (placement(e, pinned, HERE), e.cores(pinned)) == (((0, 1),), None)
    assert (placement(e, two, HERE), e.cores(two)) == (((0, 2),), None)
    assert (placement(e, three, HERE), e.cores(three)) == (((0, 1, 2),), 2)
    assert {e.given_cores(cell) for cell in (none, pinned, two, three)} == {2}
    assert e.limits("2c1g").memory_bytes == 1 << 30


def test_instances_are_disjoint_and_workers_share_theirs() -> None:
    cell = Cell(cell=0, workload=KERNEL, workers=2, size="2c", pinning="pinned")
    assert placement(asked(), cell, HERE) == ((0, 1), (2, 3))
    assert placement(asked(instances="shared"), cell, HERE) == ((0, 1), (0, 1))


def test_what_cannot_be_pinned_is_left_out_and_told() -> None:
    e = asked(factors={"size": ("0.25c", "0.5c", "1c", "all"), "pinning": ("none", "pinned", "0")})
    made = plan.cells(e, HERE)
    assert [(c.size, c.pinning) for c in made] == [
        ("0.25c", "none"), ("0.25c", "0"), ("0.5c", "none"), ("0.5c", "0"), ("1c", "none"),
        ("1c", "pinned"), ("1c", "0"), ("all", "none"), ("all", "0"),
    ]  # fmt: skip
    assert [c.cell for c in made] == list(range(9))
    assert [(one.levels, one.why, one.cells) for one in plan.left_out(e, HERE)] == [
        (
            {"size": ("0.25c", "0.5c"), "pinning": ("pinned",)},
            message("fractions of a core cannot be pinned, whole ones can"),
            2,
        ),
        (
            {"size": ("all",), "pinning": ("pinned",)},
            message("it has no number of cores that could be pinned"),
            1,
        ),
    ]
    with pytest.raises(ExperimentError, match="nothing is left to measure") as caught:
        plan.cells(asked(factors={"pinning": ("pinned",)}), HERE)
    assert "1c" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("size", "enough"),
    [
        ("1c256m", "1c512m"),
        ("2.5c500m", "2.5c512m"),
        ("0.1c", "0.2c"),
        ("0.1c2g", "0.2c2g"),
        ("0.1c256m", "0.2c512m"),
        ("own", "3c512m"),
    ],
)
def test_a_size_that_is_too_small_for_an_application_comes_with_one_that_is_enough(
    size: str, enough: str
) -> None:
    needs = Needs(cores=0.2, memory_bytes=512 << 20)
    shop = msgspec.structs.replace(served.application(), needs=needs)
    workload = WorkloadSpec(name="shop", application=shop)
    e = asked(
        workloads=(workload,), factors={"size": (size,)},
        sizes={"own": SizeSpec(cpuset=3, memory_bytes=1 << 20)},
    )  # fmt: skip
    with pytest.raises(ExperimentError, match="shop needs at least") as caught:
        plan.cells(e, HERE)
    assert caught.value.hint == f"a larger size, such as {enough}"
    assert plan.cells(asked(workloads=(workload,), factors={"size": (enough,)}), HERE)


def test_a_list_beyond_the_machine_or_below_the_size_is_refused() -> None:
    with pytest.raises(ExperimentError, match="no CPU 4"):
        plan.cells(asked(factors={"pinning": ("0-4",)}), HERE)
    with pytest.raises(ExperimentError, match="fewer CPUs than the 2 cores"):
        plan.cells(asked(factors={"pinning": ("1",), "size": ("2c",)}), HERE)


def test_a_table_of_the_users_own_outranks_a_name() -> None:
    own = SizeSpec(cores=1)
    e = asked(factors={"size": ("large", "xlarge")}, sizes={"large": own})
    assert e.limits("large") == own
    assert plan.instance_types(e) == {"xlarge"}


def test_sizes_that_the_machine_cannot_hold() -> None:
    e = asked(factors={"size": ("large", "xlarge", "2xlarge", "2c32g")})
    assert set(plan.too_large(e, HERE)) == {"2xlarge", "2c32g"}
    with pytest.raises(ExperimentError, match="'2xlarge' asks for 8 cores") as caught:
        plan.cells(e, HERE)
    assert "cores = 4" in (caught.value.hint or "")
