"""What holds for every setting and every check that the registry finds."""

from __future__ import annotations

from pathlib import Path

import pytest
from trees import MACHINES, grow

from tare.errors import ExperimentError, TareError
from tare.features.machine.doctor import checks
from tare.host import settings
from tare.host.check import Check
from tare.host.kernel_files import KernelFiles
from tare.host.settings.setting import Setting
from tare.host.view import View
from tare.render import words

SETTINGS: dict[str, Setting] = settings.units()
CHECKS: dict[str, Check] = checks.units()


@pytest.mark.parametrize("name", SETTINGS)
def test_a_setting_says_why_it_cannot_be_had_where_nothing_is(name: str, tmp_path: Path) -> None:
    unit, kernel = SETTINGS[name], KernelFiles(tmp_path)
    assert unit.description.source
    assert unit.wanted
    assert unit.names(kernel) == []
    assert unit.read(kernel) is None
    with pytest.raises(TareError, match="here"):
        unit.check(kernel, unit.wanted)


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("machine", MACHINES)
def test_a_setting_refuses_what_it_has_not(name: str, machine: str, tmp_path: Path) -> None:
    kernel = grow(machine, tmp_path)
    with pytest.raises(TareError):
        SETTINGS[name].check(kernel, "no such value")


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("machine", MACHINES)
def test_what_was_saved_is_what_is(name: str, machine: str, tmp_path: Path) -> None:
    kernel, unit = grow(machine, tmp_path), SETTINGS[name]
    for file, text in unit.save(kernel, "tare-0123ab").items():
        assert unit.now(kernel, file) == text


@pytest.mark.parametrize("name", CHECKS)
def test_a_check_knows_its_place_and_the_size_of_its_effect(name: str) -> None:
    check = CHECKS[name]
    assert words.text(check.effect)
    assert check.description.source
    assert [one.order for one in CHECKS.values()].count(check.order) == 1


@pytest.mark.parametrize("name", CHECKS)
@pytest.mark.parametrize("machine", MACHINES)
def test_what_a_check_would_change_is_a_setting(name: str, machine: str, tmp_path: Path) -> None:
    told = CHECKS[name].diagnose(View(kernel=grow(machine, tmp_path)))
    for setting, value in told.fix.items():
        unit = SETTINGS[setting]
        try:
            unit.check(KernelFiles(tmp_path / "now"), value)
        except ExperimentError:
            raise
        except TareError:
            continue  # it is a value of it, and only this user or machine cannot have it


def test_there_is_no_setting_of_another_name() -> None:
    with pytest.raises(ExperimentError, match="no setting 'gouvernor'"):
        settings.check({"gouvernor": "performance"})
