"""Periods of the quota as a factor: read, refused, and what each cell comes to."""

import pytest

from tare.errors import ExperimentError
from tare.experiment import file
from tare.experiment.catalogue import catalogue
from tare.experiment.session.window import window
from tare.experiment.specification import Cell, Experiment


def _experiment(factors: str, top: str = "") -> Experiment:
    text = f"""
[experiment]
name = "periods"
question = "What does the period do?"
{top}
[[workload]]
kernel = "qsort"
[factors]
{factors}
[window]
periods = 20
"""
    return file.parse(text, "periods.toml", catalogue())


def _cell(experiment: Experiment, **levels: float) -> Cell:
    return Cell(cell=0, workload=experiment.workloads[0], **levels)


def test_windows_of_all_periods_are_as_long() -> None:
    found = _experiment('quota = [0.5]\nperiod = ["5 ms", "100 ms"]')
    assert found.factors["period"] == (0.005, 0.1)
    for period_s, periods in ((0.005, 400), (0.1, 20)):
        cell = _cell(found, quota=0.5, period=period_s)
        made = window(found, cell, cpus=2)
        assert made is not None
        assert (made.periods, made.period_ns) == (periods, round(period_s * 1e9))
        assert cell.levels()["period"] == f"{period_s:g}"


def test_a_whole_number_of_periods_is_not_rounded_up() -> None:
    found = _experiment('quota = [0.5]\nperiod = ["10 ms", "70 ms"]')
    made = window(found, _cell(found, quota=0.5, period=0.01), cpus=2)
    assert made is not None
    assert made.periods == 140


def test_a_cell_without_a_period_has_the_experiments_own() -> None:
    found = _experiment("quota = [0.5]", 'quota_period = "20 ms"')
    cell = _cell(found, quota=0.5)
    assert found.period_s(cell) == 0.02
    assert "period" not in cell.levels()


@pytest.mark.parametrize(
    ("factors", "top", "says"),
    [
        ('period = ["5 ms"]', "", "there is none"),
        ('quota = [0.5]\nperiod = ["2 s"]', "", "1 ms to 1 s"),
        ('quota = [0.1]\nperiod = ["5 ms", "100 ms"]', "", "no quota below 1 ms"),
        ('quota = [0.5]\nperiod = ["5 ms"]', 'quota_period = "10 ms"', "factor period"),
    ],
)
def test_periods_that_cannot_be_are_refused(factors: str, top: str, says: str) -> None:
    with pytest.raises(ExperimentError, match=says):
        _experiment(factors, top)
