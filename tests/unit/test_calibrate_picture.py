"""The text picture of a sweep: small, without colour, true to its numbers."""

from __future__ import annotations

import pytest
import sweeps
from swept import of_others

from tare.experiment.sweep.analysis import calibration
from tare.features.calibration.charts.sweep import asked
from tare.features.calibration.picture import picture

WIDE = tuple(round(0.1 * n, 1) for n in range(1, 41))


def drawn(machine: sweeps.Sweep | None = None, **options) -> list[str]:
    found = calibration(sweeps.make(machine, **options))
    assert found is not None
    return picture(asked(found))


@pytest.mark.parametrize(
    ("machine", "quotas"),
    [(None, WIDE[:20]), (sweeps.h90(), WIDE), (sweeps.Sweep(usable=2.0), WIDE), (None, WIDE[:5])],
)
def test_it_fits_into_a_terminal(machine, quotas):
    lines = drawn(machine, quotas=quotas)
    assert len(lines) == 10
    assert max(map(len, lines)) <= 72


def test_breaks_and_saturation_are_marked_and_named():
    jumping = drawn(sweeps.h90(), quotas=WIDE, workers=4)
    assert "┊ breaks at 0.55, 2.85" in jumping[-1]
    assert jumping[0].count("┊") == 2
    level = drawn(quotas=WIDE[:30])
    assert "│ saturates at 2" in level[-1]
    assert "┊" not in drawn()[-1]


def test_a_break_below_a_ceiling_is_named_with_it():
    quotas = list(WIDE[:30])
    lines = picture(of_others(quotas, [54 * q if q < 0.55 else 32 * min(q, 1.5) for q in quotas]))
    assert lines[-1].endswith("┊ breaks at 0.55  │ saturates at 1.5")


def test_means_rise_from_left_to_right():
    lines = drawn()[:7]
    places = [x for line in reversed(lines) for x, sign in enumerate(line) if sign == "●"]
    assert len(places) == 20
    assert places == sorted(places)


def test_the_ends_of_both_axes_are_named():
    quotas = [0.5, 1.0, 1.5, 2.0, 2.5]
    rates = [20 * q for q in quotas]
    lines = picture(of_others(quotas, rates))
    assert lines[0].split("│")[0].strip() == "50.0"
    assert lines[-2].split() == ["0", "GFLOPS", "over", "CPUs", "asked", "for", "2.5"]


def test_two_steps_are_no_curve():
    assert picture(of_others([1.0, 2.0], [1.0, 2.0])) == []
