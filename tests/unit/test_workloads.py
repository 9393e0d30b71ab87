"""Workloads: what the agent is told to execute in a trial of a cell."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tare import workloads
from tare.agent import record
from tare.experiment.specification import Cell
from tare.workloads import placeholders
from tare.workloads.specification import WorkloadSpec

SURROUNDINGS = {"PATH": "/bin", "HOME": "/root", "LC_ALL": "C", "LC_TIME": "C", "TOKEN": "secret"}


def job(spec: WorkloadSpec, **levels: str) -> record.Workload:
    cell = Cell(cell=0, workload=spec, platform="docker", workers=2, others=levels)
    return workloads.job(spec, cell.levels(), repetitions=4, seed=99, surroundings=SURROUNDINGS)


def test_a_kernel_is_told_by_name_with_parameters_repetitions_and_seed() -> None:
    spec = WorkloadSpec(name="mine", kernel="exp_float", parameters={"size": 10})
    assert job(spec) == record.Kernel(
        name="exp_float", parameters={"size": 10}, repetitions=4, seed=99
    )
    once = workloads.job(spec, {}, repetitions=None, seed=1, surroundings=SURROUNDINGS)
    assert isinstance(once, record.Kernel)
    assert once.repetitions == 1


def test_a_command_has_the_levels_in_its_words_and_in_its_environment() -> None:
    spec = WorkloadSpec(
        name="mine",
        command=("./{platform}/prog", "-j{workers}", "{input}", "{{}}", "{seed}"),
        environment={"MODE": "{input}!", "HOME": "/elsewhere"},
        directory="/srv/{input}",
        input="/data/{input}",
    )
    told = job(spec, input="a b")
    assert isinstance(told, record.Command)
    assert told.argv == ("./docker/prog", "-j2", "a b", "{}", "99")
    assert (told.directory, told.input, told.capture) == ("/srv/a b", "/data/a b", None)
    assert told.environment == {
        "PATH": "/bin",
        "HOME": "/elsewhere",
        "MODE": "a b!",
        "TARE_WORKLOAD": "mine",
        "TARE_PLATFORM": "docker",
        "TARE_WORKERS": "2",
        "TARE_PINNING": "none",
        "TARE_LOAD": "none",
        "TARE_SIZE": "all",
        "TARE_INPUT": "a b",
        "TARE_SEED": "99",
    }


@pytest.mark.parametrize(
    ("patterns", "inherited"),
    [((), set()), (("LC_*",), {"LC_ALL", "LC_TIME"}), (("*",), set(SURROUNDINGS))],
)
def test_a_command_inherits_what_it_is_told_to(
    patterns: tuple[str, ...], inherited: set[str]
) -> None:
    told = job(WorkloadSpec(name="a", command=("a",), inherit=patterns))
    assert isinstance(told, record.Command)
    assert {name for name in told.environment if not name.startswith("TARE_")} == inherited


def test_captured_streams_are_bounded() -> None:
    told = job(WorkloadSpec(name="a", command=("a",), output="{trial}.out"))
    assert isinstance(told, record.Command)
    assert told.capture is not None
    assert told.capture.limit_bytes > 0


def test_output_that_is_read_is_not_kept() -> None:
    told = job(WorkloadSpec(name="a", command=("a",), output="pipe"))
    assert isinstance(told, record.Command)
    assert told.capture == record.Capture(limit_bytes=0, reads_output=True)


@given(st.text(), st.text())
def test_what_is_literal_stays_and_levels_are_never_read_again(text: str, level: str) -> None:
    escaped = placeholders.literal(text)
    assert placeholders.names(escaped) == set()
    assert placeholders.fill(escaped, {}) == text
    assert placeholders.names(escaped + "{x}") == {"x"}
    assert placeholders.fill(escaped + "{x}", {"x": level}) == text + level
