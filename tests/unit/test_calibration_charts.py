"""What the pictures of sweeps show, and that they say it."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
import sweeps
import vega_lite
from said import args, templates
from swept import of_others

from tare.experiment.sweep.analysis import calibration
from tare.experiment.sweep.document import Calibration
from tare.experiment.sweep.numbers import step
from tare.features.calibration.charts.messages import tell_sweep
from tare.features.calibration.charts.one import residual, sweep_chart
from tare.features.calibration.charts.sweep import asked
from tare.render.drawing import MOST_MARKS, by_itself
from tare.results.message import Amount
from tare.statistics.scaling import MATTERS

WIDE = tuple(round(0.1 * n, 1) for n in range(1, 41))


def made(machine: sweeps.Sweep | None = None, **options: Any) -> Calibration:
    found = calibration(sweeps.make(machine, **options))
    assert found is not None
    return found


@pytest.fixture(scope="module")
def linear() -> Calibration:
    return made()


@pytest.fixture(scope="module")
def jumping() -> Calibration:
    return made(sweeps.h90(), quotas=WIDE, workers=4)


@pytest.fixture(scope="module")
def saturating() -> Calibration:
    return made(quotas=WIDE[:30])


def titles(chart: Any) -> list[str]:
    return [panel.get("title", "") for panel in chart["vconcat"]]


def words(spec: Any) -> str:
    return json.dumps(by_itself(spec), ensure_ascii=False)


def test_each_piece_has_a_letter_in_key_panel_and_words(jumping):
    sweep = asked(jumping)
    assert [piece.letter for piece in sweep.pieces] == ["A", "B", "C"]
    drawn = words(sweep_chart(sweep))
    told = args(tell_sweep(sweep), "pieces:")["pieces"]
    ends = [("A", 0.1, 0.5), ("B", 0.6, 2.8), ("C", 2.9, 4)]
    for letter, start, end in ends:
        assert f'"told": "{letter}"' in drawn
        assert f"{letter}: {start:g} to {end:g}: " in drawn
    assert [
        (one.args["letter"], one.args["start"].value, one.args["end"].value) for one in told
    ] == ends
    places = args(tell_sweep(sweep), "(dashed rules)")["places"]
    assert places == [step(0.55), step(2.85)]


def test_one_piece_has_no_letter(linear):
    sweep = asked(linear)
    assert '"told": "A"' not in words(sweep_chart(sweep))
    assert "pieces:" not in templates(tell_sweep(sweep))
    line = args(tell_sweep(sweep), "dashed: one line")
    # The line is the verdict's, and R² that of least squares.
    assert line["r2"] is None
    assert sweep.line.slope == pytest.approx(linear.asked.segments[0].slope / 1e9)
    assert sweep.line.slope != pytest.approx(linear.asked.line.slope / 1e9, rel=1e-6)
    assert (line["slope"].value, line["slope"].unit) == (pytest.approx(28, rel=0.01), "GFLOPS")


def test_saturation_is_marked(saturating):
    sweep = asked(saturating)
    assert sweep.pieces[-1].flat
    assert not sweep.pieces[0].flat
    assert "saturates at 2" in words(sweep_chart(sweep))
    place = args(tell_sweep(sweep), "saturates at")["place"]
    assert (place.value, place.unit) == (saturating.asked.saturates_at, "CPUs")
    pieces = args(tell_sweep(sweep), "pieces:")["pieces"]
    assert [one.args["slope"] is None for one in pieces] == [False, True]


def test_what_did_not_happen_has_no_panel(linear):
    def without(**gone: Any) -> Calibration:
        points = tuple(msgspec.structs.replace(p, **gone) for p in linear.points)
        return msgspec.structs.replace(linear, points=points)

    assert any("Clock" in title for title in titles(sweep_chart(asked(linear))))
    bare = without(clock_hz=None, frequency_hz=None, throttled_share=None, steal_cpus=None)
    assert len(titles(sweep_chart(asked(bare)))) == 3
    assert "during the sweep:" not in templates(tell_sweep(asked(bare)))
    stolen = titles(sweep_chart(asked(without(steal_cpus=0.2, throttled_share=0.0))))
    assert any("hypervisor" in title for title in stolen)
    assert not any("stopped" in title for title in stolen)


def test_the_last_panel_names_the_axis_that_all_share(jumping):
    panels = sweep_chart(asked(jumping))["vconcat"][1:]

    def axes(panel: dict[str, Any]) -> list[dict[str, Any]]:
        layers = panel.get("layer", [panel])
        return [
            layer["encoding"]["x"]
            for layer in layers
            if "field" in layer.get("encoding", {}).get("x", {})
        ]

    domains = {tuple(x["scale"]["domain"]) for panel in panels for x in axes(panel)}
    assert len(domains) == 1
    assert all(x["axis"]["labels"] for x in axes(panels[-1]))
    assert not any(x["axis"]["labels"] for x in axes(panels[1]))


def test_residuals_are_of_the_line_that_the_verdict_rests_on(jumping, linear):
    for found in (jumping, linear):
        told = args(tell_sweep(asked(found)), "of one line")
        largest = found.asked.largest_error
        assert largest is not None
        off = residual(asked(found))
        assert max(map(abs, off.values())) == pytest.approx(100 * largest, rel=0.02)
        assert told["most"] == Amount(max(map(abs, off.values())) / 100, "share")
        assert told["beyond"] == sum(abs(value) > 100 * MATTERS for value in off.values())


def test_the_sweep_of_somebody_else():
    quotas = [0.1 * n for n in range(1, 21)] * 2
    rates = [28.4 * q for q in quotas]
    sweep = of_others(quotas, rates)
    assert len(sweep.steps) == 20
    assert sweep.unit == "GFLOPS"
    assert len(titles(sweep_chart(sweep))) == 3
    assert "during the sweep:" not in templates(tell_sweep(sweep))


def test_one_value_at_each_step_has_no_interval():
    quotas = [0.1 * n for n in range(1, 21)]
    sweep = of_others(quotas, [28 * q for q in quotas])
    assert '"y2"' not in words(sweep_chart(sweep)["vconcat"][1])
    told = args(tell_sweep(sweep), "dots: each of")
    assert told["trials"].args == {"least": 1, "most": 1}
    assert (told["steps"], told["singles"]) == (20, False)
    assert told["first"].args["rate"] == Amount(pytest.approx(2.8), "GFLOPS")


def test_many_trials_are_thinned_and_said():
    quotas = [0.1 * n for n in range(1, 1001) for _ in range(7)]
    rates = [28 * q for q in quotas]
    sweep = of_others(quotas, rates)
    _, rates, *_ = sweep_chart(sweep)["vconcat"]
    assert max(len(vega_lite.rows(part)) for part in rates["layer"]) <= MOST_MARKS
    assert args(tell_sweep(sweep), "of the single") == {"every": 2}
