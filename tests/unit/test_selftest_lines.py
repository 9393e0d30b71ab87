"""Errors, promises, verdicts and what is kept of a self-test, on programs that were made up."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import columns
import msgspec
import numpy as np
import pytest

from tare import units
from tare.errors import StoreError
from tare.experiment import machine_facts
from tare.experiment.placement import Machine
from tare.experiment.plan import cells
from tare.experiment.report.backing import machine_tables
from tare.experiment.results import Results, empty
from tare.experiment.specification import Cell, Experiment
from tare.features.machine.selftest import control, programs, report
from tare.features.machine.selftest.accuracy import Accuracy
from tare.features.machine.selftest.bounds import bound
from tare.features.machine.selftest.control import FalseAlarms
from tare.features.machine.selftest.errors import WHOLE, Truth, errors, read
from tare.features.machine.selftest.lines import Line, lines
from tare.features.measure.baseline.stored import lasting
from tare.host import state
from tare.render import data, files
from tare.render.words import paragraph, text
from tare.results.columns import Columns
from tare.results.message import Amount, Deviation, message
from tare.units import off_by
from tare.workloads import job

MS = 1_000_000
HERE = Machine(
    spread=(0, 1), compact=(0, 1), steps=(1, 2), cores=2, packages=1, memory_bytes=1 << 33
)


def question(**given: Any) -> Experiment:
    asked = {"trials": 3, "budget_s": 1.0, "seed": 1} | given
    return programs.experiment(["bare"], [1, 2], **asked)


def results(folder: Path, told: dict[str, Any], samples: dict[tuple[str, str], float], n: int = 6,
            program: str = "spin", status: str = "ok") -> Results:  # fmt: skip
    """Trials of one program that all told and measured the same."""
    output = folder / "output"
    output.mkdir(exist_ok=True)
    rows = []
    for trial in range(1, n + 1):
        (output / f"{trial}.0.0.out").write_text(f"whatever\n{json.dumps(told)}\n")
        rows += [
            {"trial": trial, "worker": 0, "iteration": 0, "phase": "measured",
             "metric": metric, "source": source, "value": value}
            for (metric, source), value in samples.items()
        ]  # fmt: skip
    trials = columns.of_records([
        {"trial": trial, "workload": program, "platform": "bare", "workers": "1",
         "status": status, "reason": None}
        for trial in range(1, n + 1)
    ])  # fmt: skip
    tables = (empty(name) for name in ("facts", "sessions", "faults", "stops"))
    made = columns.samples_of(columns.of_records(rows))
    return Results(question(), trials, made, *tables)


SPIN = {"own": {"wall_ns": 30 * MS, "cpu_ns": 25 * MS}, "launch": {"wall_ns": MS, "cpu_ns": MS}}


def test_an_error_is_what_was_measured_less_what_the_program_and_its_launch_took(
    tmp_path: Path,
) -> None:
    told = results(tmp_path, SPIN, {("wall_ns", "perf_cpu"): 31.5 * MS, ("memory_bytes", "x"): 1})
    found = errors(told, tmp_path)
    assert set(found["metric"]) == {"wall_ns"}
    assert set(found["error"]) == {0.5 * MS}
    assert set(found["less"]) == {0.0}
    (line,) = lines(found)
    assert (line.verdict, line.n, line.used) == ("yes", 6, True)
    assert line.error == Deviation(0.5 * MS, "ns", 0.0)


def test_a_source_sees_what_it_can_see() -> None:
    truth = Truth({"cpu_ns": 20, "cpu_ns.rusage": 1, "wall_ns": 5, "teardown_ns": 2}, {})
    assert truth.of("cpu_ns", "cgroup") == 20
    assert truth.of("cpu_ns", "rusage") == 1
    assert truth.of("memory_bytes", "rusage") is None
    assert truth.of(WHOLE, "around") == 7


def test_what_is_shorter_than_the_program_saw_is_off_even_once(tmp_path: Path) -> None:
    found = errors(results(tmp_path, SPIN, {("wall_ns", "perf_cpu"): 30.9 * MS}), tmp_path)
    assert lines(found)[0].verdict == "yes"
    found["less"][0] = 0.2 * MS
    (line,) = lines(found)
    assert line.verdict == "no"
    assert line.why == message(
        "{times} of {of} times less than the program itself measured, by up to {most}",
        times=1,
        of=6,
        most=Amount(0.2 * MS, "ns"),
    )


def test_a_figure_is_off_only_where_its_whole_interval_is_outside(tmp_path: Path) -> None:
    far = errors(results(tmp_path, SPIN, {("wall_ns", "perf_cpu"): 40 * MS}), tmp_path)
    assert lines(far)[0].verdict == "no"
    assert lines(far.rows(far["trial"] < 4))[0].verdict == "inconclusive"
    scattered = far.with_columns(error=np.array([0.0, 0, 9, 9, 9, 9]) * MS)
    assert lines(scattered)[0].verdict == "inconclusive"


def test_what_tare_does_not_use_is_told_apart(tmp_path: Path) -> None:
    both = {("wall_ns", "perf_cpu"): 31.1 * MS, ("wall_ns", "around"): 45.0 * MS}
    accuracy = judged(errors(results(tmp_path, SPIN, both), tmp_path))
    assert accuracy.off == ()
    assert [one.source for one in accuracy.doubtful_unused] == ["around"]
    assert report.answer(accuracy) == message(
        "tare measures correctly here: {% if judged == 1 %}the only figure that it uses is"
        "{% else %}all {judged} figures that it uses are{% endif %} within the specified "
        "error.",
        judged=1,
    )
    (group,) = report.groups(accuracy.doubtful_unused)
    assert group.args["unused"] == message("outside")
    assert group.args["why"] == message(
        "the launcher reads its clock when it gets a CPU again, which is late on a busy "
        "machine; it is used where the kernel does not stamp"
    )


def test_what_failed_as_asked_is_exact_or_off(tmp_path: Path) -> None:
    samples = {("exit_code", "wait"): 7.0}
    good = errors(results(tmp_path, {}, samples, program="exit", status="failed"), tmp_path)
    assert lines(good)[0].verdict == "yes"
    bad = good.with_columns(error=[0.0] * 5 + [1.0])
    assert lines(bad)[0].why == message("{times} of {of} times not exact", times=1, of=6)
    assert not errors(results(tmp_path, {}, samples, program="exit"), tmp_path)


@pytest.mark.parametrize("said", ["", "words\n", '{"own": 5}\n', '{"own":{}}\n', "\xff\n"])
def test_a_program_that_tells_nothing_is_left_out(tmp_path: Path, said: str) -> None:
    path = tmp_path / "1.0.0.out"
    path.write_text(said)
    assert read(path) is None
    assert read(tmp_path / "nowhere") is None


def test_every_byte_counts(tmp_path: Path) -> None:
    told = {"own": {"output_bytes.stdout": 5, "output_bytes.stderr": 5}, "launch": {}}
    made = results(tmp_path, told, {("wall_ns", "around"): 1.0}, n=1, program="write")
    line = json.dumps(told)
    (tmp_path / "output/1.0.0.out").write_text(f"oooo\n{line}\n")
    (tmp_path / "output/1.0.0.out.err").write_text("eee\n")
    found = errors(made, tmp_path)
    assert dict(zip(found["source"], found["error"], strict=True)) == {"stdout": 0, "stderr": -1}


def test_every_promise_has_its_reason() -> None:
    for program in programs.PROGRAMS:
        for metric in program.metrics:
            promised = bound(metric, "wait" if program.known else "perf_cpu", 1e9, 1e6)
            assert promised.why
            assert promised.low <= 0 <= promised.high
    assert not bound("cpu_ns", "host_cgroup", 1.0, 1.0).promises


def judged(found: Columns) -> Accuracy:
    return Accuracy(
        date="2026-01-01 00:00", boot_id=None, platforms=("bare",), workers=(1,), trials=6,
        seconds=1.0, ended="finished", lines=lines(found),
    )  # fmt: skip


@pytest.fixture
def accuracy(tmp_path: Path) -> Accuracy:
    both = {
        ("wall_ns", "perf_cpu"): 31.1 * MS, ("wall_ns", "around"): 45.0 * MS,
        ("cpu_ns", "rusage"): 26.2 * MS,
    }  # fmt: skip
    return judged(errors(results(tmp_path, SPIN, both), tmp_path))


ALARMS = FalseAlarms(
    date="2026-01-02 00:00", boot_id=None, platform="bare", comparisons=40, alarms=2, limit=6,
    rate_below=0.149, verdicts={"same": 38, "slower": 2}, pairs=900, seconds=60.0,
)  # fmt: skip


def test_what_was_found_becomes_facts_of_later_sessions(
    accuracy: Accuracy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state, "folder", lambda: tmp_path / "state")
    topology = {"cores": 2, "packages": 1, "memory_bytes": 1}
    before = {fact.name for fact in machine_facts.facts(topology)}
    assert not any(name.startswith("selftest_") for name in before)
    report.keep(accuracy)
    report.keep(ALARMS)
    facts = {f.name: f for f in machine_facts.facts(topology) if f.name.startswith("selftest_")}
    assert facts["selftest_wall_error_ns"].value == pytest.approx(0.1 * MS)
    assert facts["selftest_wall_error_ns"].source == "tare selftest"
    assert facts["selftest_verdict"].value == "yes"
    assert facts["selftest_false_alarms"].value == "2 of 40"
    assert lasting([(name, None, f.value) for name, f in facts.items()]) == {}


def test_what_was_found_of_another_agent_or_kernel_is_no_fact(
    accuracy: Accuracy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state, "folder", lambda: tmp_path)
    report.keep(accuracy)
    kept = state.read(state.SELFTEST)
    assert kept is not None
    for other in (
        kept | {"agent_digest": "0" * 64},
        kept | {"kernel": "2.6"},
        kept | {"facts": [5]},
        ["no document"],
    ):
        state.write(state.SELFTEST, other)
        facts = machine_facts.facts({"memory_bytes": 1})
        assert not any(f.name.startswith("selftest_") for f in facts)
    (tmp_path / state.SELFTEST).write_bytes(b"\x00damaged")
    assert state.read(state.SELFTEST) is None
    report.keep(ALARMS)
    kept = state.read(state.SELFTEST)
    assert kept is not None
    assert [one["name"] for one in kept["facts"]] == [one.name for one in ALARMS.facts()]


def test_where_nothing_can_be_kept_it_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(state, "folder", lambda: tmp_path / "file" / "state")
    with pytest.raises(StoreError) as caught:
        state.write("x.json", {})
    assert "XDG_STATE_HOME" in (caught.value.hint or "")
    assert state.read("x.json") is None


def test_scripts_read_what_was_found(accuracy: Accuracy) -> None:
    for found, name in ((accuracy, "accuracy"), (ALARMS, "false_alarms")):
        saved = json.loads(files.encode(report.make(found, 1)))
        # Messages come back as their texts.
        assert data.builtins(msgspec.convert(saved[name], type(found))) == data.builtins(found)


def test_reports_say_how_far_off_the_instrument_is(tmp_path: Path) -> None:
    made = results(tmp_path, SPIN, {("wall_ns", "around"): 1.0}, n=1)
    told = [("kernel", "6.1", None)]
    facts = [
        ("selftest_date", "2026-01-01 00:00", None),
        ("selftest_wall_error_ns", 0.7e6, "ns"),
        ("selftest_wall_error_within_ns", 0.1e6, "ns"),
    ]
    own = message(
        "Measurement error of tare {place}: {errors | join(', ')} ({source}).",
        place=message("on this machine"),
        errors=[message("{name} {error}", name="wall", error=Deviation(0.7e6, "ns", 0.1e6))],
        source=message("tare selftest, {date}", date="2026-01-01 00:00"),
    )
    for known, said in (
        (told, message("Measurement error of tare on this machine is unknown: tare selftest")),
        ([*told, *facts], own),
    ):
        rows = [(1, None, None, name, value, unit, "uname") for name, value, unit in known]
        facts_table = columns.of_table("facts", rows)
        (table,) = machine_tables(dataclasses.replace(made, facts=facts_table))
        assert text(said) in paragraph(table.note)


def test_alarms_are_too_many_where_five_percent_would_hardly_bring_them() -> None:
    assert control.limit(200) == 17
    assert control.rate_below(2, 40) == pytest.approx(0.149, abs=0.001)
    assert control.rate_below(0, 1) == pytest.approx(0.95)
    assert control.rate_below(3, 3) == 1.0
    assert control.limit(1) == 2  # one comparison proves nothing


def test_programs_run_wherever_the_agent_is() -> None:
    asked = question()
    assert not asked.runs_commands
    made = programs.worthwhile(cells(asked, HERE))
    assert [cell.cell for cell in made] == list(range(len(made)))
    assert {c.workload.name for c in made if c.workers == 1} == set(programs.BY_NAME)
    assert {c.workload.name for c in made if c.workers == 2} < set(programs.BY_NAME)
    spin = next(c for c in made if c.workload.name == "spin")
    told: Any = job(spin.workload, spin.levels(), repetitions=None, seed=1, surroundings={})
    assert told.argv[:3] == ("/proc/self/exe", "truth", "spin")
    assert isinstance(spin, Cell)


@pytest.mark.parametrize(("cpus", "workers"), [(1, (1, 2)), (2, (1, 2, 4)), (96, (1, 32, 64))])
def test_degrees_of_parallelism_follow_the_cpus(cpus: int, workers: tuple[int, ...]) -> None:
    assert programs.degrees(cpus) == workers


@pytest.mark.parametrize(
    ("value", "unit", "half", "text"),
    [
        (70_000, "ns", 12_000, "+0.070 ± 0.012 ms"),
        (-3.2e6, "ns", 1.1e6, "−3.2 ± 1.1 ms"),
        (400, "ns", None, "+0.40 µs"),
        (0, "bytes", None, "0 bytes"),
        (-110592, "bytes", 4096, "−0.105 ± 0.004 MiB"),
        (20, "1", 2, "+20 ± 2"),
    ],
)
def test_errors_are_written_with_sign_and_half_width(
    value: float, unit: str, half: float | None, text: str
) -> None:
    assert off_by(value, unit, half) == text


def test_a_line_names_figure_and_place(accuracy: Accuracy) -> None:
    line: Line = accuracy.head()["wall"]
    assert line.named.args == {
        "metric": "wall_ns",
        "source": "perf_cpu",
        "platform": "bare",
        "workers": 1,
        "program": "spin",
    }
    many = msgspec.structs.replace(line, workers=4)
    assert units.counted(4, "worker") in text(many.named)
    assert units.counted(1, "worker") not in text(line.named)
