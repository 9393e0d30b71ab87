"""The pages of settings, of two machines and of somebody else's sweep."""

from __future__ import annotations

from typing import Any

import msgspec
import printed
import pytest
import sweeps
import swept
from said import args, template
from swept import EMPTY, fit_of_others

from tare.experiment.sweep import messages
from tare.experiment.sweep.analysis import calibration
from tare.experiment.sweep.document import Calibration
from tare.features.calibration import entries, fairness, page
from tare.features.calibration.mapping import mapping
from tare.features.calibration.matrix import Matrix, combinations
from tare.features.calibration.session import Conclusion
from tare.render import files, words
from tare.render.words import sentence
from tare.results.message import Amount, message
from tare.units import significant

WIDE = tuple(round(0.1 * n, 1) for n in range(1, 41))
QUOTAS = [0.1 * n for n in range(1, 21)] * 2
VALUES = {"governor": ("powersave", "performance"), "turbo": ("on", "off")}


def made(machine: sweeps.Sweep | None = None, **options: Any) -> Calibration:
    found = calibration(sweeps.make(machine, **options))
    assert found is not None
    return found


@pytest.fixture(scope="module")
def jumping() -> Calibration:
    return made(sweeps.h90(), quotas=WIDE, workers=4)


@pytest.fixture(scope="module")
def steady() -> Calibration:
    return made(sweeps.Sweep(usable=4.0, speed=40e9), quotas=WIDE, workers=4)


@pytest.fixture(scope="module")
def measured(jumping, steady) -> dict[str, Calibration]:
    return {"governor=powersave,turbo=on": jumping, "governor=performance,turbo=on": steady}


@pytest.fixture(scope="module")
def matrix(measured) -> Matrix:
    every = {one.label: one for one in combinations(VALUES)}
    rows = fairness.standings({name: (every[name], found) for name, found in measured.items()})
    some = [
        msgspec.structs.replace(one, state="measured")
        if name in measured
        else msgspec.structs.replace(one, state="left out", why="no turbo")
        for name, one in every.items()
    ]
    asked = sweeps.make(trials=1, quotas=WIDE[:5]).experiment
    found = Matrix(asked=VALUES, experiment=asked, each_s=2.0, combinations=tuple(some),
                   standings=rows, work="flop")  # fmt: skip
    return msgspec.structs.replace(found, answer=words.paragraph(fairness.answer(found)))


def test_settings_begin_with_the_answer_and_end_with_what_is_missing(matrix, measured, tmp_path):
    laid = page.of_matrix(matrix, measured, "tare calibrate --settings …")
    assert laid.answers == (matrix.answer,)
    assert "performance" in laid.answers[0]
    assert [f.name for f in laid.charts] == ["settings"]
    assert [row["place"] for row in laid.sections[0].finding.tables[0].rows] == ["fairest", None]
    assert template(laid.doubts[0]) == "them, such as"
    assert len(laid.doubts) == 3
    off = [f"governor={name},turbo=off" for name in VALUES["governor"]]
    assert [(d.args["setting"], d.args["state"], d.args["why"]) for d in laid.doubts[1:]] == [
        (setting, "left out", "no turbo") for setting in off
    ]
    written = files.write(
        page.of_matrix(matrix, measured, "tare calibrate"), tmp_path / "page.html"
    )
    assert "governor=performance,turbo=on" in written[0].read_text()


def test_settings_of_which_none_is_measured(matrix):
    nothing = msgspec.structs.replace(matrix, standings=(), answer=None)
    laid = page.of_matrix(nothing, {}, "tare calibrate")
    assert laid.charts == []
    assert laid.answers == (message("nothing was measured"),)


def test_two_machines(jumping, steady, tmp_path):
    found = mapping(jumping, steady, ("H90", "server"))
    laid = page.of_two(found, jumping, steady, "tare calibrate compare")
    assert laid.answers == (found.sentence,)
    assert [f.name for f in laid.charts] == ["mapping", "both"]
    rows = laid.sections[0].finding.tables[0].rows
    assert len(rows) == len(found.equals)
    assert [row["docker"] for row in rows] == [equal.flag for equal in found.equals]
    told = laid.charts[0].alternative
    for piece in found.pieces:
        assert f"{piece.start:.3g} to {piece.end:.3g} CPUs on H90" in told
    written = files.write(page.of_two(found, jumping, steady, "tare …"), tmp_path / "two.md")
    assert (tmp_path / "two-charts" / "mapping.svg") in written


def test_somebody_else_s_sweep(tmp_path):
    rates = [28.4 * q * (1 + 0.001 * (i % 3)) for i, q in enumerate(QUOTAS)]
    fit = fit_of_others(QUOTAS, rates)
    laid = page.of_fit(fit, "points", "sweep.csv", "tare calibrate fit sweep.csv")
    assert laid.answers == (messages.of_fit(fit, "points"),)
    assert args(laid.answers, "along one line")["linear"]
    bent = [54 * q if q < 1.25 else 40 + 20 * q for q in QUOTAS]
    broken = page.of_fit(fit_of_others(QUOTAS, bent), "points", "sweep.csv", "tare …")
    assert not args(broken.answers, "along one line")["linear"]
    pieces = broken.sections[0].finding.tables[0]
    assert [row["slope"] for row in pieces.rows] == [pytest.approx(54), pytest.approx(20)]
    assert [c.unit for c in pieces.columns if c.key == "slope"] == ["points per CPU"]
    assert broken.further[0] == pieces
    assert "points" in laid.charts[0].alternative
    assert "Meanwhile" not in laid.charts[0].alternative
    written = files.write(page.of_fit(fit, "points", "sweep.csv", "tare …"), tmp_path / "fit.html")
    assert sentence(laid.answers[0])[:40] in written[0].read_text()


def test_sizes_of_linpack_are_compared(tmp_path):
    large, small = swept.calibration(40e9, n=3), swept.calibration(30e9, n=3, seed=2)
    names = ("linpack (size 10000, leading_dimension 25000)", "linpack (size 1000)")
    both = tuple(
        msgspec.structs.replace(one, workload=name)
        for one, name in zip((large, small), names, strict=True)
    )
    concluded = Conclusion(calibrations=both, folder=tmp_path, report=EMPTY, ended="trials")
    lines = printed.lines(entries.report(concluded, None))
    for one, name in zip(both, names, strict=True):
        (row,) = (line for line in lines if f" {name}: mean" in line)
        fastest = max(one.points, key=lambda p: p.rate.value)
        rate = fastest.rate
        mean = words.text(message("{rate}", rate=Amount(rate.value, "flop/s", rate.low, rate.high)))
        assert f": mean {mean}, max {significant(max(fastest.rates) / 1e9)} GFLOPS, at " in row
    assert any(line.endswith(f"All other entries are about {names[0]}.") for line in lines)
