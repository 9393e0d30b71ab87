"""What of an experiment this machine can be asked: levels and single cells that cannot be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
import served

from tare import platforms
from tare.errors import ExperimentError, PlatformError, TrialError
from tare.experiment import availability_filter, plan
from tare.experiment.availability_filter import _Trying, fitted
from tare.experiment.placement import Machine
from tare.experiment.specification import Experiment
from tare.registry import Availability
from tare.render.words import text
from tare.workloads.application import Needs
from tare.workloads.specification import WorkloadSpec

HERE = Machine(
    spread=(0, 1), compact=(0, 1), steps=(1, 2), cores=2, packages=1, memory_bytes=8 << 30
)
MIB = 1 << 20


def asked(**factors: tuple[object, ...]) -> Experiment:
    workload = WorkloadSpec(name="null", kernel="null")
    return Experiment(name="x", question="?", workloads=(workload,), factors=dict(factors))


@pytest.fixture
def works(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[tuple[str, platforms.Held]]]:
    """Let platforms work, but for what is said not to; return what is tried."""
    tried: list[tuple[str, platforms.Held]] = []

    def let(refuse: Callable[[str, platforms.Held], bool]) -> list[tuple[str, platforms.Held]]:
        def availability(
            stack: str, options: Any, commands: bool, files: Any, held: platforms.Held
        ) -> Availability:
            tried.append((stack, held))
            if refuse(stack, held):
                return Availability(name=stack, works=False, why="too small", fix="more")
            return Availability(name=stack, works=True, emulated=stack.startswith("vm"))

        monkeypatch.setattr(availability_filter.platforms, "availability", availability)
        return tried

    return let


def test_of_a_platform_whose_workers_cannot_meet_those_alone_are_kept(works: Any) -> None:
    works(lambda stack, held: False)
    found = fitted(asked(platform=("bare", "gvisor"), workers=(1, 2)), HERE, skip=False)
    assert [(c.platform, c.workers) for c in found.cells] == [
        ("bare", 1), ("bare", 2), ("gvisor", 1),
    ]  # fmt: skip
    assert found.experiment.factors["platform"] == ("bare", "gvisor")
    (note,) = found.notes
    assert note.detail["cells"] == 1
    assert (note.detail["platform"], note.detail["workers"]) == (("gvisor",), ("2",))
    assert 'instances = "shared"' in note.message


def test_a_workload_whose_levels_are_all_missing_is_left_out_with_them(works: Any) -> None:
    works(lambda stack, held: stack == "docker")
    other = WorkloadSpec(name="other", kernel="null")
    experiment = msgspec.structs.replace(
        asked(platform=("bare", "docker")),
        workloads=(*asked().workloads, other),
        only={"other": {"platform": ("docker",)}},
    )
    found = fitted(experiment, HERE, skip=True)
    assert [c.workload.name for c in found.cells] == ["null"]
    assert [w.name for w in found.experiment.workloads] == ["null"]
    assert [note.detail.get("platform") or note.detail["workload"] for note in found.notes] == [
        "docker", "other",
    ]  # fmt: skip


def test_sizes_that_cannot_be_pinned_are_one_line(works: Any) -> None:
    works(lambda stack, held: False)
    sizes = ("0.25c", "0.5c", "1c", "2c")
    found = fitted(asked(size=sizes, pinning=("none", "pinned")), HERE, skip=False)
    assert len(found.cells) == 6
    (note,) = found.notes
    assert note.message == (
        "size 0.25c and 0.5c with pinning pinned were left out (2 cells): "
        "fractions of a core cannot be pinned, whole ones can."
    )
    assert note.detail["size"] == ("0.25c", "0.5c")


def test_a_platform_of_which_no_cell_can_be_is_missing(works: Any) -> None:
    works(lambda stack, held: False)
    experiment = asked(platform=("bare", "gvisor"), workers=(2,))
    with pytest.raises(PlatformError, match="no memory") as caught:
        fitted(experiment, HERE, skip=False)
    assert "--skip-missing" in (caught.value.hint or "")
    found = fitted(experiment, HERE, skip=True)
    assert found.experiment.factors["platform"] == ("bare",)
    assert found.notes[0].detail["platform"] == "gvisor"
    assert "instances" in str(found.notes[0].detail["fix"])
    with pytest.raises(ExperimentError, match="no memory"):
        fitted(asked(platform=("gvisor",), workers=(2,)), HERE, skip=True)


def test_a_platform_that_cannot_hold_one_size_keeps_the_others(works: Any) -> None:
    tried = works(
        lambda stack, held: stack == "gvisor" and (held.memory_bytes or 1 << 40) < 64 * MIB
    )
    sizes = ("0.5c", "1c", "1c32m", "all")
    found = fitted(asked(platform=("bare", "gvisor"), size=sizes), HERE, skip=False)
    assert [c.size for c in found.cells if c.platform == "gvisor"] == ["0.5c", "1c", "all"]
    assert [c.size for c in found.cells if c.platform == "bare"] == list(sizes)
    (note,) = found.notes
    assert (note.detail["size"], note.detail["why"]) == (("1c32m",), "too small")
    # What holds half a core holds a whole one.
    assert ("gvisor", platforms.Held(0.5, None)) in tried
    assert ("gvisor", platforms.Held(1.0, None)) not in tried


def test_a_size_is_tried_by_itself_where_a_smaller_one_cannot_be(works: Any) -> None:
    works(lambda stack, held: held.cores is not None and held.cores < 1)
    found = fitted(asked(platform=("runc",), size=("0.5c", "1c")), HERE, skip=False)
    assert [c.size for c in found.cells] == ["1c"]


def test_a_program_that_is_missing_is_told_before_anything_is_measured(works: Any) -> None:
    works(lambda stack, held: False)
    workload = WorkloadSpec(name="a", command=("./tare-nothing", "x"))
    experiment = Experiment(name="x", question="?", workloads=(workload,), factors={})
    with pytest.raises(TrialError, match=r"\./tare-nothing: not found"):
        fitted(experiment, HERE, skip=False)


def test_a_level_that_is_missing_is_named_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def availability(stack: str, *_: Any) -> Availability:
        why = "vm did not start: this machine has no KVM"
        return Availability(name=stack, works=stack == "bare", why=why, fix="modprobe")

    monkeypatch.setattr(availability_filter.platforms, "availability", availability)
    found = fitted(asked(platform=("bare", "vm")), HERE, skip=True)
    (note,) = [one for one in found.notes if one.detail]
    assert note.detail == {"platform": "vm", "why": "this machine has no KVM", "fix": "modprobe"}


def test_what_no_emulated_cpu_runs_is_left_out_before_anything_is_tried(works: Any) -> None:
    works(lambda stack, held: False)
    slow = served.application(name="slow")
    slow = msgspec.structs.replace(slow, needs=Needs(native="it does not start within 3 min"))
    experiment = msgspec.structs.replace(
        asked(platform=("bare", "vm", "vm/docker")),
        workloads=(
            *asked().workloads,
            WorkloadSpec(name="slow", command=("true",), application=slow, of_agent=True),
        ),
    )
    kept = plan.cells(experiment, HERE, _Trying(experiment, HERE).refuse)
    assert [(c.workload.name, c.platform) for c in kept] == [
        ("null", "bare"), ("null", "vm"), ("null", "vm/docker"), ("slow", "bare"),
    ]  # fmt: skip
    (one, other) = plan.left_out(experiment, HERE, _Trying(experiment, HERE).refuse)
    assert (one.levels["platform"], other.levels["platform"]) == (("vm",), ("vm/docker",))
    assert text(one.why) == "the CPU of vm is emulated here: it does not start within 3 min"
