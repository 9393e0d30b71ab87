"""Plans: crossing, order, placement, seeds, and what a plan is after it was written down."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from said import Phrase, template

from tare.errors import ExperimentError, StoreError
from tare.experiment import plan, plan_file
from tare.experiment.placement import Machine, placement
from tare.experiment.specification import Cell, Experiment, SizeSpec, Stopping, WindowSpec
from tare.workloads.specification import WorkloadSpec

MACHINE = Machine(
    spread=(0, 2, 1, 3),
    compact=(0, 1, 2, 3),
    steps=(1, 2, 4),
    cores=2,
    packages=1,
    memory_bytes=1 << 30,
)
KERNEL = WorkloadSpec(name="exp_float", kernel="exp_float")


def experiment(**changes: Any) -> Experiment:
    given: dict[str, Any] = {"name": "a", "question": "b?", "workloads": (KERNEL,), "factors": {}}
    return Experiment(**(given | changes))


LEVELS = {
    "platform": st.sampled_from(["bare", "unshare", "docker"]),
    "workers": st.integers(1, 9),
    "pinning": st.sampled_from(["none", "spread", "compact"]),
    "size": st.sampled_from(["all", "small"]),
    "input": st.text("abc", min_size=1),
}
FACTORS = st.fixed_dictionaries(
    {},
    optional={
        name: st.lists(levels, min_size=1, max_size=3, unique=True).map(tuple)
        for name, levels in LEVELS.items()
    },
)


@given(FACTORS, st.integers(1, 3))
def test_every_workload_meets_every_level_of_every_factor_once(
    factors: dict[str, tuple[Any, ...]], workloads: int
) -> None:
    specs = tuple(WorkloadSpec(name=str(n), command=("a",)) for n in range(workloads))
    made = plan.cells(experiment(workloads=specs, factors=factors), MACHINE)
    assert [cell.cell for cell in made] == list(range(len(made)))
    names = list(factors)
    found = [(cell.workload.name, *(cell.levels()[name] for name in names)) for cell in made]
    expected = itertools.product(
        [spec.name for spec in specs], *([str(level) for level in factors[n]] for n in names)
    )
    assert found == list(expected)


def test_a_workload_meets_only_the_levels_that_it_takes() -> None:
    specs = tuple(WorkloadSpec(name=name, command=("a",)) for name in "ab")
    asked = experiment(
        workloads=specs,
        factors={"platform": ("bare", "docker", "runc"), "workers": (1, 2)},
        only={"b": {"platform": ("bare", "runc"), "workers": (2,)}},
    )
    made = plan.cells(asked, MACHINE)
    assert [(c.workload.name, c.platform, c.workers) for c in made] == [
        ("a", "bare", 1), ("a", "bare", 2), ("a", "docker", 1), ("a", "docker", 2),
        ("a", "runc", 1), ("a", "runc", 2), ("b", "bare", 2), ("b", "runc", 2),
    ]  # fmt: skip


def test_a_workload_goes_with_the_last_level_that_it_takes() -> None:
    specs = tuple(WorkloadSpec(name=name, command=("a",)) for name in "ab")
    asked = experiment(
        workloads=specs,
        factors={"platform": ("bare", "docker", "runc")},
        only={"b": {"platform": ("docker", "runc")}},
    )
    left = plan.without(asked, "platform", ["docker"])
    assert left.only == {"b": {"platform": ("runc",)}}
    left = plan.without(left, "platform", ["runc"])
    assert [w.name for w in left.workloads] == ["a"]
    assert left.only == {}
    alone = experiment(workloads=specs[1:], factors=asked.factors, only=asked.only)
    with pytest.raises(ExperimentError, match="no platform is left to measure"):
        plan.without(alone, "platform", ["docker", "runc"])


def test_topology_stands_for_the_machines_own_counts() -> None:
    made = plan.cells(experiment(factors={"workers": ("topology",)}), MACHINE)
    assert [cell.workers for cell in made] == [1, 2, 4]


@pytest.mark.parametrize(
    ("cpus", "gib", "pinnings", "sizes"),
    [
        (2, 8, ("none", "pinned"), ("0.25c", "0.5c", "1c", "large")),
        (4, 1, ("none",), ("0.5c", "1c", "2c", "4c")),
        # Three of these are whole, and a fourth can be pinned.
        (4, 1, ("none", "pinned"), ("0.5c", "1c", "2c", "3c", "4c")),
        (7, 1, ("none",), ("0.5c", "1c", "3c", "7c")),
        (16, 64, ("pinned",), ("large", "xlarge", "2xlarge", "4xlarge")),
        # The memory of an instance type is more than there is.
        (16, 32, ("pinned",), ("large", "xlarge", "2xlarge", "16c")),
        (112, 384, ("none",), ("14c", "28c", "56c", "112c")),
    ],
)
def test_halving_stands_for_four_sizes_of_the_machine(
    cpus: int, gib: int, pinnings: tuple[str, ...], sizes: tuple[str, ...]
) -> None:
    all_cpus = tuple(range(cpus))
    here = msgspec.structs.replace(
        MACHINE, spread=all_cpus, compact=all_cpus, memory_bytes=gib << 30
    )
    asked = experiment(factors={"size": ("halving",), "pinning": pinnings})
    halved = plan.halved(asked, here)
    assert halved.factors["size"] == sizes
    assert plan.too_large(halved, here) == {}
    assert plan.halved(halved, here) == halved


def test_a_size_beyond_the_machine_is_refused_by_name() -> None:
    def ask(size: SizeSpec) -> None:
        plan.cells(experiment(factors={"size": ("big",)}, sizes={"big": size}), MACHINE)

    ask(SizeSpec(cores=4, memory_bytes=1 << 30))
    with pytest.raises(ExperimentError, match="'big' asks for 5 cores, this machine has 4"):
        ask(SizeSpec(cores=5))
    with pytest.raises(ExperimentError, match="'big' asks for 1,025 MiB"):
        ask(SizeSpec(memory_bytes=(1 << 30) + 1))


def test_more_cells_than_anybody_can_mean_are_refused_before_they_are_made() -> None:
    many = tuple(str(n) for n in range(10_000))
    with pytest.raises(ExperimentError, match="100000000 cells"):
        plan.cells(experiment(factors={"a": many, "b": many}), MACHINE)


@given(st.lists(st.integers(0, 99), unique=True), st.integers(0, 9), st.integers(0, 999))
def test_a_block_has_each_of_its_cells_once(numbers: list[int], session: int, block: int) -> None:
    order = plan.block_order(experiment(), numbers, session, block)
    assert sorted(order) == sorted(numbers)
    assert order == plan.block_order(experiment(), numbers, session, block)
    as_written = plan.block_order(experiment(order="sequential"), numbers, session, block)
    assert list(as_written) == numbers


def test_orders_differ_between_blocks_sessions_and_seeds() -> None:
    cells = range(20)
    orders = {
        plan.block_order(experiment(seed=seed), cells, session, block)
        for seed in (1, 2)
        for session in (0, 1)
        for block in range(5)
    }
    assert len(orders) == 20


def test_within_pairs_either_cell_comes_first_about_as_often() -> None:
    first = [plan.block_order(experiment(), (0, 1), 0, block)[0] for block in range(1000)]
    # Six standard deviations of 1000 coins.
    assert abs(sum(first) - 500) < 95


def test_the_input_is_the_same_for_all_cells_of_a_block_and_cycles() -> None:
    asked = experiment(inputs=3)
    seeds = [plan.input_seed(asked, block) for block in range(9)]
    assert seeds == seeds[:3] * 3
    assert len(set(seeds)) == 3
    assert len({plan.input_seed(experiment(), block) for block in range(9)}) == 1
    assert plan.input_seed(experiment(seed=2), 0) != plan.input_seed(experiment(), 0)


def place(cell: Cell, size: SizeSpec, instances: Any = "own") -> Any:
    return placement(experiment(sizes={"s": size}, instances=instances), cell, MACHINE)


@given(
    st.integers(1, 20),
    st.sampled_from(["none", "spread", "compact"]),
    st.none() | st.integers(1, 4),
)
def test_every_worker_has_as_many_cpus_as_its_size_says(
    workers: int, pinning: Any, cores: int | None
) -> None:
    cell = Cell(cell=0, workload=KERNEL, workers=workers, pinning=pinning, size="s")
    placed = place(cell, SizeSpec(cores=cores))
    assert len(placed) == workers
    if pinning == "none":
        assert set(placed) == {None}
        return
    given = [cpus for cpus in placed if cpus is not None]
    assert all(len(cpus) == (cores or 1) for cpus in given)
    if workers * (cores or 1) <= 4:
        taken = [cpu for cpus in given for cpu in cpus]
        assert len(taken) == len(set(taken))


def test_workers_take_cpus_in_the_machines_order() -> None:
    def pinned(pinning: Any, workers: int, cores: float | None = None) -> Any:
        cell = Cell(cell=0, workload=KERNEL, workers=workers, pinning=pinning, size="s")
        return place(cell, SizeSpec(cores=cores))

    assert pinned("spread", 3) == ((0,), (2,), (1,))
    assert pinned("compact", 2) == ((0,), (1,))
    assert pinned("compact", 2, 2) == ((0, 1), (2, 3))
    assert pinned("compact", 2, 1.5) == ((0, 1), (2, 3))
    assert pinned("compact", 2, 0.5) == ((0,), (1,))
    assert pinned("spread", 5)[4] == (0,)


def test_workers_that_share_a_quota_have_a_cpu_each() -> None:
    cell = Cell(cell=0, workload=KERNEL, workers=2, pinning="compact", quota=2.0)
    assert place(cell, SizeSpec(), "own") == ((0, 1), (2, 3))
    assert place(cell, SizeSpec(), "shared") == ((0,), (1,))


def test_a_cpuset_confines_an_instance_to_the_first_cpus_of_the_machine() -> None:
    def confined(workers: int, instances: Any, pinning: Any = "none") -> Any:
        cell = Cell(cell=0, workload=KERNEL, workers=workers, pinning=pinning, size="s")
        return place(cell, SizeSpec(cpuset=2, cores=0.5), instances)

    assert confined(1, "shared") == ((0, 1),)
    assert confined(3, "shared") == ((0, 1),) * 3
    assert confined(3, "shared", "compact") == ((0,), (1,), (0,))
    assert confined(3, "own") == ((0, 1), (2, 3), (0, 1))
    assert confined(1, "own", "spread") == ((0, 2),)


def test_a_quota_beyond_the_machine_is_refused_with_what_it_has() -> None:
    def ask(**given: Any) -> None:
        plan.cells(experiment(**given), MACHINE)

    ask(factors={"quota": (0.1, 4.0)})
    with pytest.raises(
        ExperimentError, match=r"quota of 4\.1 CPUs .* this machine has 4"
    ) as caught:
        ask(factors={"quota": (0.1, 4.1)})
    assert caught.value.hint == "[factors] quota: at most 4"
    with pytest.raises(ExperimentError, match="'wide' asks for a cpuset of 5 CPUs") as caught:
        ask(factors={"size": ("wide",)}, sizes={"wide": SizeSpec(cpuset=5)})
    assert "cpuset = 4" in (caught.value.hint or "")


def test_pinned_workers_that_share_cpus_are_told() -> None:
    asked = experiment(
        factors={"workers": (2, 4, 5), "pinning": ("none", "spread"), "size": ("all", "two")},
        sizes={"two": SizeSpec(cores=2)},
    )
    notes = plan.notes(asked, plan.cells(asked, MACHINE), MACHINE)
    assert {template(note) for note in notes} == {Phrase("so some of")}
    assert [(n.args["workers"], n.args["cores"], n.args["cpus"]) for n in notes] == [
        (4, 2, 4), (5, 1, 4), (5, 2, 4),
    ]  # fmt: skip
    assert plan.notes(experiment(), plan.cells(experiment(), MACHINE), MACHINE) == []


def test_levels_are_left_out_and_one_must_be_left() -> None:
    asked = experiment(factors={"platform": ("bare", "unshare", "docker")})
    assert plan.without(asked, "platform", ["docker"]).factors == {"platform": ("bare", "unshare")}
    with pytest.raises(ExperimentError, match="no platform is left"):
        plan.without(asked, "platform", ["bare", "unshare", "docker"])


def test_the_metric_follows_the_workloads() -> None:
    command = WorkloadSpec(name="a", command=("a",))
    assert plan.metric(experiment()) == "kernel_cpu_ns"
    assert plan.metric(experiment(workloads=(KERNEL, command))) == "wall_ns"
    assert plan.metric(experiment(metric="memory_bytes")) == "memory_bytes"
    assert plan.metric(experiment(window=WindowSpec())) == "throughput"
    assert plan.metric(experiment(window=WindowSpec(), metric="cpu_ns")) == "cpu_ns"


def rich() -> plan.Plan:
    asked = experiment(
        workloads=(KERNEL, WorkloadSpec(name="b", command=("b", "{x}"), timeout_s=1.5)),
        factors={"workers": (1, 2), "x": ("1", "ä")},
        sizes={"small": SizeSpec(cores=1)},
        platforms={"docker": {"image": "a", "read_only": False}},
        stopping=Stopping(trials=7, budget_s=None),
    )
    return plan.freeze(plan.make(asked, plan.cells(asked, MACHINE)), {"exp_float": 3})


def test_a_plan_is_read_as_it_was_written(tmp_path: Path) -> None:
    plan_file.write(rich(), tmp_path)
    assert plan_file.read(tmp_path) == rich()
    assert [path.name for path in tmp_path.iterdir()] == [plan_file.FILE]


def test_what_is_no_plan_is_told_apart(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="holds no experiment"):
        plan_file.read(tmp_path)
    page = tmp_path / "page.html"
    page.touch()
    for none in (page, tmp_path / "nothere"):
        with pytest.raises(StoreError, match="is no folder that tare run --out has made") as caught:
            plan_file.read(none)
        assert caught.value.hint == "name the folder that --out named"
    page.unlink()
    plan_file.write(rich(), tmp_path)
    path = tmp_path / plan_file.FILE
    text = path.read_text()
    path.write_text(text[: len(text) // 2])
    with pytest.raises(StoreError, match="damaged"):
        plan_file.read(tmp_path)
    path.write_text(json.dumps({**json.loads(text), "version": plan.VERSION + 1, "new": 1}))
    with pytest.raises(StoreError, match="another tare"):
        plan_file.read(tmp_path)
    with pytest.raises(StoreError, match="cannot write"):
        plan_file.write(rich(), tmp_path / "nowhere")


def test_an_experiment_goes_on_with_another_stopping_rule() -> None:
    stored = rich()
    more = msgspec.structs.replace(stored.experiment, stopping=Stopping(trials=9))
    resumed = plan_file.resume(plan.make(more, stored.cells), stored)
    assert resumed.experiment.stopping.trials == 9
    assert resumed.repetitions == {"exp_float": 3}


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"seed": 2}, "began: seed was 1 and is 2"),
        ({"factors": {"workers": (1, 2)}}, "[factors] x was "),
        ({"sizes": {"small": SizeSpec(cores=2)}}, "[sizes.small] cores was 1 and is 2"),
        (
            {"workloads": (KERNEL, WorkloadSpec(name="b", command=("c",), timeout_s=1.5))},
            "[workloads.b] command was [",
        ),
        ({"workloads": (KERNEL,)}, "[workloads.b] is gone"),
    ],
)
def test_a_changed_experiment_does_not_go_on(changes: dict[str, Any], key: str) -> None:
    stored = rich()
    changed = msgspec.structs.replace(stored.experiment, **changes)
    with pytest.raises(ExperimentError, match=re.escape(key)) as caught:
        plan_file.resume(plan.make(changed, plan.cells(changed, MACHINE)), stored)
    assert "--out" in (caught.value.hint or "")


def test_an_experiment_does_not_go_on_where_it_has_other_cells() -> None:
    asked = experiment(factors={"workers": ("topology",)})
    elsewhere = msgspec.structs.replace(MACHINE, steps=(1, 2))
    stored = plan.make(asked, plan.cells(asked, elsewhere))
    with pytest.raises(ExperimentError, match="other cells"):
        plan_file.resume(plan.make(asked, plan.cells(asked, MACHINE)), stored)


def test_as_many_blocks_are_planned_as_fit() -> None:
    assert plan.fixed_trials(10, 3) == 3
    assert plan.fixed_trials(0, 3) == 0


def test_cells_that_the_machine_refuses_are_left_out_and_counted() -> None:
    asked = experiment(factors={"platform": ("bare", "docker"), "workers": (1, 2)})
    out = plan.LeftOut(levels=(("platform", "docker"), ("workers", "2")), why="so", fix="do")

    def refuse(cell: Cell) -> plan.LeftOut | None:
        return out if cell.platform == "docker" and cell.workers == 2 else None

    made = plan.cells(asked, MACHINE, refuse)
    assert [(c.cell, c.platform, c.workers) for c in made] == [
        (0, "bare", 1), (1, "bare", 2), (2, "docker", 1),
    ]  # fmt: skip
    levels = {"platform": ("docker",), "workers": ("2",)}
    assert plan.left_out(asked, MACHINE, refuse) == [
        plan.CellsLeftOut(levels=levels, cells=1, why="so", fix="do")
    ]
    with pytest.raises(ExperimentError, match="nothing is left to measure: so") as caught:
        plan.cells(asked, MACHINE, lambda cell: out)
    assert caught.value.hint == "do"
