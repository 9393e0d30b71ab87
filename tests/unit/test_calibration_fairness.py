"""Which settings are the fairest, and what they cost, on calibrations that were made up."""

from __future__ import annotations

import pytest
from said import args, templates
from swept import calibration

from tare.errors import ExperimentError
from tare.experiment.sweep.document import Calibration
from tare.features.calibration import fairness, matrix
from tare.features.calibration.matrix import Combination, Matrix, Standing


def standings(**found: Calibration) -> tuple[Standing, ...]:
    return fairness.standings(
        {
            name: (Combination(settings={"governor": name}, folder=name), one)
            for name, one in found.items()
        }
    )


def answered(rows: tuple[Standing, ...]) -> str:
    made = Matrix(asked={}, experiment=None, each_s=1.0, combinations=(), standings=rows)  # type: ignore[arg-type]
    return fairness.answer(made)


def test_what_is_linear_is_fairer_than_what_is_not_however_fast() -> None:
    rows = standings(
        powersave=calibration(33e9, slow_until=1.0), performance=calibration(30e9, seed=2)
    )
    assert [(row.label, row.verdict, row.fairest) for row in rows] == [
        ("performance", "linear", True),
        ("powersave", "piecewise", False),
    ]
    share = rows[0].maximum_share
    assert share.low is not None
    assert share.high is not None
    assert share.low < 30 / 33 < share.high
    told = answered(rows)
    fairest = args(told, "is the fairest:")
    assert (fairest["setting"], fairest["verdict"].args["verdict"]) == ("performance", "linear")
    assert fairest["verdict"].args["error"] is not None
    assert args(told, "lower than that")["fastest"] == "powersave"


def test_two_that_do_not_differ_beyond_their_noise_are_a_tie() -> None:
    rows = standings(a=calibration(seed=1), b=calibration(seed=2), c=calibration(slow_until=1.0))
    assert [row.fairest for row in rows] == [True, True, False]
    assert args(answered(rows), "the fairest, a")["settings"] == ["b", "a"]
    rows = standings(a=calibration(seed=1), b=calibration(seed=2))
    assert templates(answered(rows))[0] == "are fairer than"


def test_the_cost_is_of_the_largest_rate() -> None:
    import msgspec

    whole = calibration()
    half = msgspec.structs.replace(whole, points=whole.points[:10])
    rows = {row.label: row for row in standings(whole=whole, half=half)}
    assert rows["half"].maximum_share.value == pytest.approx(0.5, rel=0.05)


def test_one_window_has_no_interval() -> None:
    rows = standings(a=calibration(n=1), b=calibration(n=1, seed=2))
    assert rows[0].maximum.low is None
    assert fairness.standings({}) == ()


def test_settings_are_crossed_in_order() -> None:
    words = ["governor=powersave,performance turbo=on,off"]
    values = matrix.asked(words, ["governor", "turbo"])
    assert [one.folder for one in matrix.combinations(values)] == [
        "governor=powersave,turbo=on",
        "governor=powersave,turbo=off",
        "governor=performance,turbo=on",
        "governor=performance,turbo=off",
    ]
    assert matrix.asked(["governor=a", "turbo=b"], ["governor", "turbo"]) == {
        "governor": ("a",),
        "turbo": ("b",),
    }


@pytest.mark.parametrize(
    "words",
    ["", "governr=a", "governor", "governor=", "governor=a governor=b",
     f"governor={','.join(map(str, range(65)))}"],
)  # fmt: skip
def test_settings_that_are_none_are_refused(words: str) -> None:
    with pytest.raises(ExperimentError) as told:
        matrix.asked([words], ["governor", "turbo"])
    assert told.value.hint
