"""A calibration is cited by later sessions, and says when the machine is no longer the same."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
from said import unwritten
from test_calibration_mapping import swept

from tare.experiment.journal import MachineFact
from tare.experiment.sweep import cache
from tare.experiment.sweep.document import Calibration, Machine
from tare.host import state
from tare.results.message import Message
from tare.statistics import scaling

HERE = {
    "cpu": "Made-up CPU", "cpus": 2, "governor": "performance", "kernel": "6.1", "load_average": 1,
}  # fmt: skip


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(state, "folder", lambda: tmp_path)
    return tmp_path


def calibrated(**more: Any) -> Calibration:
    machine = Machine(cpu="Made-up CPU", cpus=2, governor="performance", kernel="6.1")
    more = {"lost_share": 0.002, **more}
    return msgspec.structs.replace(swept(lambda x: 28 * x), machine=machine, **more)


def remember(one: Calibration) -> bool:
    return cache.remember(one, periods=20)


def told(here: Mapping[str, Any] = HERE, *platforms: str) -> dict[str, Any]:
    now = [MachineFact(name=name, value=value, source="made up") for name, value in here.items()]
    return {f.name: f.value for f in cache.facts(now, platforms or ("bare",))}


def as_messages(here: Mapping[str, Any], name: str) -> Message:
    """Return a fact as the message that its text is made of."""
    with pytest.MonkeyPatch.context() as patch:
        unwritten(patch, cache)
        return told(here)[name]


def changed(here: Mapping[str, Any], name: str = "calibration_changed") -> list[dict[str, Any]]:
    """Return what is said to have changed, as data."""
    return [one.args for one in as_messages(here, name).args["changes"]]


def test_nothing_is_told_of_a_machine_that_nobody_calibrated() -> None:
    assert told() == {}


def test_a_session_cites_the_calibration() -> None:
    assert remember(calibrated())
    found = told()
    assert found.pop("calibration_r_squared") > 0.99
    speed = as_messages(HERE, "calibration_speed").args
    assert (speed["slope"].value, speed["most"].value) == (
        pytest.approx(28e9, rel=0.01),
        pytest.approx(56e9, rel=0.03),
    )
    assert {speed["slope"].unit, speed["most"].unit} == {"flop/s"}
    assert found.pop("calibration_speed").endswith("at most")
    assert found == {
        "calibration_date": "2026-05-01 10:00",
        "calibration_workload": "linpack (size 1000)",
        "calibration_platform": "bare",
        "calibration_verdict": "linear",
        "calibration_linear": "0.1 to 2",
        "calibration_lost_share": 0.002,
    }


@pytest.mark.parametrize(
    "change", [{"governor": "powersave"}, {"cpus": 4}, {"cpu": "Another", "cpus": 1}]
)
def test_another_machine_is_said(change: dict[str, Any]) -> None:
    remember(calibrated())
    now = {**HERE, **change}
    assert changed(now) == [
        {"name": name, "then": str(HERE[name]), "now": str(value)} for name, value in change.items()
    ]
    assert "calibration_changed_kernel" not in told(now)


def test_what_is_no_longer_told_has_changed() -> None:
    remember(calibrated())
    without = {name: value for name, value in HERE.items() if name != "governor"}
    assert changed(without) == [{"name": "governor", "then": "performance", "now": "unknown"}]


def test_another_kernel_only_weakens_it() -> None:
    remember(calibrated())
    now = {**HERE, "kernel": "6.2"}
    assert changed(now, "calibration_changed_kernel") == [
        {"name": "kernel", "then": "6.1", "now": "6.2"}
    ]
    assert "calibration_changed" not in told(now)


def test_a_setting_that_was_held_is_what_was_calibrated() -> None:
    remember(calibrated(settings={"governor": "powersave"}))
    assert changed(HERE) == [{"name": "governor", "then": "powersave", "now": "performance"}]


def test_of_several_the_one_of_this_platform_and_machine_is_cited() -> None:
    remember(calibrated(measured="2026-05-01T10:00:00+00:00"))
    remember(calibrated(measured="2026-05-02T10:00:00+00:00", platform="docker"))
    held = {"governor": "powersave"}
    remember(
        calibrated(measured="2026-05-03T10:00:00.123456+00:00", settings=held, workload="triad")
    )
    assert told()["calibration_workload"] == "linpack (size 1000)"
    assert told(HERE, "docker")["calibration_date"] == "2026-05-02 10:00"
    assert told({**HERE, **held})["calibration_workload"] == "triad"


def test_the_newest_of_a_workload_on_a_platform_is_kept(folder: Path) -> None:
    for day in range(1, 10):
        remember(calibrated(measured=f"2026-05-0{day}T10:00:00+00:00"))
    assert [one.measured[:10] for one in cache.kept()] == ["2026-05-09"]
    for number in range(50):
        remember(calibrated(workload=f"kernel {number}"))
    assert len(cache.kept()) == 32
    assert (folder / state.CALIBRATIONS).stat().st_size < 32 << 10


def test_what_was_measured_under_a_load_is_not_the_machine() -> None:
    assert not remember(calibrated(levels={"load": "memcpy"}))
    assert told() == {}


def test_what_was_only_tried_is_not_cited() -> None:
    assert not cache.remember(calibrated(), periods=4)
    assert told() == {}


def test_all_cpus_speak_for_the_machine() -> None:
    remember(calibrated(measured="2026-05-01T10:00:00+00:00"))
    remember(calibrated(measured="2026-05-02T10:00:00+00:00", workers=1))
    assert told()["calibration_date"] == "2026-05-01 10:00"


def test_what_is_remembered_is_forgotten_at_a_word(folder: Path) -> None:
    assert cache.forget() == (None, ())
    remember(calibrated())
    remember(calibrated(platform="docker"))
    path, removed = cache.forget()
    assert path == folder / state.CALIBRATIONS
    assert [one.platform for one in removed] == ["docker", "bare"]
    assert told() == {}
    assert cache.forget() == (None, ())
    # Of another tare, or damaged: nobody can read it, and it goes as well.
    (folder / state.CALIBRATIONS).write_text("{")
    assert cache.forget() == (path, ())
    assert not path.exists()


def test_too_noisy_a_sweep_takes_no_place() -> None:
    one = calibrated()
    remember(one)
    noisy = msgspec.structs.replace(one.asked, verdict="inconclusive")
    assert not remember(msgspec.structs.replace(one, asked=noisy))
    assert told()["calibration_verdict"] == "linear"


def test_what_was_disturbed_or_may_have_been_takes_no_place() -> None:
    assert not remember(calibrated(lost_share=None))
    one = calibrated(lost_share=0.47)
    disturbed = scaling.withheld(one.asked, "disturbed", "Inconclusive.")
    assert not remember(msgspec.structs.replace(one, asked=disturbed))
    assert told() == {}


def test_what_an_earlier_tare_remembered_is_not_known(folder: Path) -> None:
    """It did not tell whether the CPU time had arrived."""
    remember(calibrated())
    file = folder / state.CALIBRATIONS
    file.write_text(re.sub(r'"lost_share": [0-9.]+,', "", file.read_text()))
    assert len(cache.kept()) == 1
    assert told() == {}


def test_names_of_any_alphabet_are_kept() -> None:
    remember(calibrated(workload="prüfe\n" + 200 * "x"))
    assert told()["calibration_workload"].startswith("pr\\xfcfe\\nx")


@pytest.mark.parametrize(
    "change",
    [
        {"measured": "yesterday"},
        {"workload": "\x1b[31mred"},
        {"workload": 7},
        {"verdict": "splendid"},
        {"linear": [[0.1, 2.0]] * 100},
        {"linear": [[-1, 2]]},
        {"linear": [[0.1, 1e300]]},
        {"r2": 2},
        {"slope": "NaN"},
        {"maximum": 1e300},
        {"machine": {"cpu": ["x"]}},
        {"machine": {f"n{i}": "x" for i in range(100)}},
        {"platform": None},
        {"workers": 0},
    ],
)
def test_what_tare_did_not_write_goes_into_no_result(change: dict[str, Any]) -> None:
    remember(calibrated())
    found = state.read(state.CALIBRATIONS)
    assert found is not None
    state.write(state.CALIBRATIONS, {"calibrations": [{**found["calibrations"][0], **change}]})
    assert told() == {}


def test_a_damaged_file_is_replaced(folder: Path) -> None:
    (folder / state.CALIBRATIONS).write_text('{"calibrations": {')
    assert told() == {}
    remember(calibrated())
    assert told()["calibration_verdict"] == "linear"
