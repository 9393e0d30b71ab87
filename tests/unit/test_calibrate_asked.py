"""What is typed after ``tare calibrate``: refused before measuring, with what would do."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
from inprocess import invoke
from test_calibration_sweep import KERNELS

from tare.errors import ExperimentError, StoreError, TareError, UsageError
from tare.experiment import catalogue, machine_facts
from tare.features.calibration import asked as calibrate_asked
from tare.features.calibration import sweep_command
from tare.features.calibration.options import SweepOptions
from tare.options.parsing import parse
from tare.registry import Catalogue

TOPOLOGY = {
    "spread": (0, 1),
    "compact": (0, 1),
    "steps": (1, 2),
    "cores": 2,
    "packages": 1,
    "memory_bytes": 8 << 30,
}


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    known = Catalogue(kernels=KERNELS, metrics={}, probes={}, platforms={}, loads={})
    monkeypatch.setattr(catalogue, "catalogue", lambda: known)
    monkeypatch.setattr(machine_facts, "topology", lambda: TOPOLOGY)
    monkeypatch.setattr(machine_facts, "available_bytes", lambda: 4 << 30)


def test_the_default_is_linpack_at_tenths_of_all_cpus() -> None:
    found = calibrate_asked.experiment(SweepOptions())
    assert len(found.factors["quota"]) == 20
    assert found.factors["workers"] == (2,)
    (workload,) = found.workloads
    assert (workload.kernel, workload.parameters["size"]) == ("linpack", 1000)


def test_sizes_are_interleaved_the_largest_first() -> None:
    sizes = ("linpack:size=100", "linpack:size=500,leading_dimension=1800")
    found = calibrate_asked.experiment(SweepOptions(kernel=sizes))
    assert [
        (one.parameters["size"], one.parameters["leading_dimension"]) for one in found.workloads
    ] == [(500, 1800), (100, 0)]
    assert len({one.name for one in found.workloads}) == 2
    assert all(one.kernel == "linpack" for one in found.workloads)


def test_a_solve_on_all_threads_is_one_worker() -> None:
    found = calibrate_asked.experiment(SweepOptions(kernel=("linpack:threads=2",)))
    assert found.factors["workers"] == (1,)
    found = calibrate_asked.experiment(SweepOptions(kernel=("linpack:threads=2",), threads=2))
    assert found.factors["workers"] == (2,)


def test_any_command_can_be_swept() -> None:
    found = calibrate_asked.experiment(SweepOptions(command=("gzip", "-k", "{x}"), threads=1))
    (workload,) = found.workloads
    assert workload.command == ("gzip", "-k", "{{x}}")
    assert workload.directory == str(Path.cwd())
    assert found.runs_commands


def test_memory_sizes_are_those_that_fit() -> None:
    found = calibrate_asked.experiment(SweepOptions(by="memory", kernel=("linpack:size=100",)))
    assert [found.limits(str(name)).memory_bytes for name in found.factors["size"]] == [
        mib << 20 for mib in (128, 256, 512, 1024, 1769, 2048, 3008, 3538)
    ]


def test_a_small_machine_has_its_whole_cpus() -> None:
    found = calibrate_asked.experiment(SweepOptions(by="cpuset"))
    assert [found.limits(str(name)).cpuset for name in found.factors["size"]] == [1, 2]


def test_virtual_cpus_are_those_of_a_machine_of_that_size() -> None:
    found = calibrate_asked.experiment(SweepOptions(by="vcpus"))
    assert found.factors["platform"] == ("vm",)
    assert [found.limits(str(name)).cpuset for name in found.factors["size"]] == [1, 2]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (SweepOptions(by="vcpus", platform="docker"), "--platform is docker"),
        (SweepOptions(by="cpuset", step=Fraction("0.1")), "--step says nothing with --by cpuset"),
        (SweepOptions(by="memory", quotas=(Fraction(1),)), "--quotas says nothing"),
        (SweepOptions(quotas=(Fraction(1),), step=Fraction(1)), "--quotas and --step exclude"),
        (
            SweepOptions(quotas=(Fraction("0.5"), Fraction(1), Fraction(2))),
            "3 steps of quota cannot distinguish",
        ),
        (SweepOptions(step=Fraction(3)), "3 CPUs are more than this machine has: 2"),
        (SweepOptions(windows=3, budget=60.0), "--windows and --budget exclude"),
        (SweepOptions(period=(0.0001,)), "periods from 1 ms to 1 s"),
        (SweepOptions(kernel=("linpak",)), "no kernel 'linpak'"),
        (SweepOptions(kernel=("linpack:most=1",)), "has no 'most'"),
        (SweepOptions(kernel=("linpack", "linpack")), "is there twice"),
        (SweepOptions(command=("true",), kernel=("qsort",)), "--kernel is about a kernel"),
        (SweepOptions(command=("true",), kernel=("linpack",)), "--kernel is about a kernel"),
        (
            SweepOptions(kernel=("linpack:size=20000",)),
            "this machine, in what is available, has 4,096 MiB",
        ),
        (
            SweepOptions(by="memory", kernel=("linpack:size=5000",)),
            "the least size, 128 MB, has 128 MiB",
        ),
    ],
)
def test_what_makes_no_sweep_is_refused(options: SweepOptions, message: str) -> None:
    with pytest.raises(TareError, match=message) as told:
        calibrate_asked.experiment(options)
    assert told.value.exit_code >= 10
    assert told.value.hint


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--by", "disk"), "--by 'disk' is not possible; expected one of: \"quota\""),
        (("--step", "0"), "--step '0' is not possible; expected a number of CPUs above 0"),
        (("--windows", "0"), "--windows '0' is below 1"),
        (("--windows", "-1"), "--windows '-1' is negative"),
        (("--periods", "0"), "--periods '0' is below 1"),
        (("--period", "fast"), "--period 'fast' does not begin with a number"),
        (("--period", "100 ms,fast"), "--period '100 ms,fast' does not begin with a number"),
        (("--period", ""), "--period '' is not possible; expected times, such as"),
        (("--budget", "0 s"), "--budget '0 s' is below 1ns"),
        (("--budget", "5"), "--budget '5' has no unit of time"),
        (("--by", "quota", "--by", "cpuset"), "--by is given 2 times"),
    ],
)
def test_values_that_are_none_are_refused(words: tuple[str, ...], message: str) -> None:
    done = invoke("calibrate", *words)
    assert isinstance(done.exception, UsageError)
    assert message in done.exception.message
    assert done.exception.hint


def test_the_budget_outranks_the_windows(capsys: pytest.CaptureFixture[str]) -> None:
    found = sweep_command.within(90.0, 88.0, 42.0)
    assert (found.trials, found.budget_s) == (2, 88.0)
    told = " ".join(capsys.readouterr().err.split())
    assert "2 windows" in told
    assert "90 s" in told
    assert "--budget '130 s'" in told
    found = sweep_command.within(300.0, 298.0, 42.0)
    assert (found.trials, found.budget_s) == (7, 298.0)
    assert capsys.readouterr().err == ""


def test_a_budget_for_not_one_window_each_is_refused() -> None:
    with pytest.raises(
        ExperimentError, match=r"took 1 s.*about 42 s: about 43 s in all.*not fit 30"
    ) as raised:
        sweep_command.within(30.0, 29.0, 42.0)
    assert "--budget '130 s'" in (raised.value.hint or "")


def test_a_budget_is_a_time() -> None:
    assert parse("tare calibrate", SweepOptions, ["--budget", "5 min"]).budget == 300


def test_a_sweep_that_goes_on_is_asked_for_nothing_else() -> None:
    calibrate_asked.check_resumed(SweepOptions(windows=9, budget=60.0, out=Path("x"), resume=True))
    with pytest.raises(ExperimentError, match="so that --step says nothing"):
        calibrate_asked.check_resumed(SweepOptions(step=Fraction("0.5")))
    with pytest.raises(ExperimentError, match="so that a command says nothing"):
        calibrate_asked.check_resumed(SweepOptions(command=("true",)))


def test_folders_with_something_in_them_are_refused(tmp_path: Path) -> None:
    sweep_command.check_free(tmp_path)
    sweep_command.check_free(tmp_path / "new")
    (tmp_path / "some.txt").write_text("mine")
    with pytest.raises(StoreError, match="is not empty") as told:
        sweep_command.check_free(tmp_path)
    assert told.value.hint == "choose another --out"
    (tmp_path / "plan.json").write_text("{}")
    with pytest.raises(StoreError) as told:
        sweep_command.check_free(tmp_path)
    assert "--resume" in (told.value.hint or "")
    with pytest.raises(StoreError, match="is a file"):
        sweep_command.check_free(tmp_path / "some.txt")


def test_a_sweep_is_gone_on_with_only_where_there_is_one(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="holds no sweep to go on with") as told:
        sweep_command.stored(tmp_path, SweepOptions())
    assert "leave --resume out" in (told.value.hint or "")


def test_a_free_name_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert calibrate_asked.free_folder() == Path("calibration")
    (tmp_path / "calibration").mkdir()
    assert calibrate_asked.free_folder() == Path("calibration")
    (tmp_path / "calibration" / "plan.json").touch()
    (tmp_path / "calibration-2").touch()
    assert calibrate_asked.free_folder() == Path("calibration-3")


def test_settings_may_follow_one_option() -> None:
    typed = ["--settings", "governor=a,b", "turbo=on,off", "--step", "0.2", "--", "env", "a=b"]
    found = parse("tare calibrate", SweepOptions, typed)
    assert found.settings == ["governor=a,b", "turbo=on,off"]
    assert found.command == ["env", "a=b"]
    assert parse("tare calibrate", SweepOptions, ["--settings", "a=1"]).settings == ["a=1"]
    assert parse("tare calibrate", SweepOptions, ["x", "a=1"]).command == ["x", "a=1"]
