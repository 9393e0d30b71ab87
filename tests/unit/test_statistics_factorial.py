from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.formula.api import ols
from statsmodels.stats.anova import anova_lm

from tare.statistics import factorial
from tare.statistics.factorial import Decomposition, decompose


def unbalanced(seed: int = 1, n: int = 300) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "platform": rng.choice(["bare", "docker", "vm"], n, p=[0.5, 0.3, 0.2]),
            "pinning": rng.choice(["none", "pinned"], n),
            "size": rng.choice(["s", "m"], n, p=[0.7, 0.3]),
        }
    )
    effect = table["platform"].map({"bare": 0, "docker": 1, "vm": 3})
    crossed = (table["platform"] == "vm") & (table["pinning"] == "pinned")
    table["value"] = 10 + effect - 1.5 * crossed + rng.standard_normal(n)
    return table


def of(table: pd.DataFrame, *factors: str, **more: object) -> Decomposition:
    found = decompose(table["value"].to_numpy(), {f: table[f].to_list() for f in factors}, **more)  # type: ignore[arg-type]
    assert found is not None
    return found


def test_sums_of_squares_are_those_of_statsmodels() -> None:
    table = unbalanced()
    anova = anova_lm(ols("value ~ platform * pinning * size", table).fit(), typ=2)
    total = float(np.sum((table["value"] - table["value"].mean()) ** 2))
    error = anova.loc["Residual", "sum_sq"] / anova.loc["Residual", "df"]
    found = of(table, "platform", "pinning", "size")
    assert len(found.effects) == 6
    for effect in found.effects:
        row = anova.loc[":".join(effect.factors)]
        omega = (row["sum_sq"] - row["df"] * error) / (total + error)
        assert effect.degrees == row["df"]
        assert effect.f == pytest.approx(row["F"])
        assert effect.p == pytest.approx(row["PR(>F)"], abs=1e-12)
        assert effect.share == pytest.approx(max(0, omega))
    row = anova.loc["platform:pinning:size"]
    omega = (row["sum_sq"] - row["df"] * error) / (total + error)
    assert found.higher == pytest.approx(max(0, omega))


def test_ranks_are_decomposed_alike() -> None:
    table = unbalanced()
    ranked = table.assign(value=stats.rankdata(table["value"]))
    shares = {e.factors: e.rank_share for e in of(table, "platform", "pinning").effects}
    again = {e.factors: e.share for e in of(ranked, "platform", "pinning").effects}
    assert shares == pytest.approx(again)


def test_what_was_planted_is_found_and_nothing_else() -> None:
    found = of(unbalanced(), "platform", "pinning", "size")
    by_name = {e.factors: e for e in found.effects}
    assert by_name["platform",].share > 0.3
    assert by_name["platform",].rank_p == pytest.approx(1 / 500)
    assert by_name["platform", "pinning"].rank_p < 0.01
    assert by_name["size",].rank_p > 0.05
    assert by_name["size",].share < 0.01
    explained = found.higher + sum(e.share for e in found.effects)
    assert found.within == pytest.approx(1 - explained)


def test_an_interaction_of_three_factors_is_not_within_cells() -> None:
    """Cells of 80 and 120 by the parity of three levels, trials with an SD of 1: 1 of 401."""
    sign = np.repeat([(-1) ** sum(levels) for levels in np.ndindex(2, 2, 2)], 10)
    rng = np.random.default_rng(5)
    table = crossed(2, 2, 2, trials=10).assign(value=100 + 20 * sign + rng.standard_normal(80))
    found = of(table, "a", "b", "c")
    assert found.higher == pytest.approx(400 / 401, abs=0.001)
    assert found.within < 0.005
    assert sum(e.share for e in found.effects) < 0.001


def test_rows_of_one_trial_are_one_unit() -> None:
    """Ten iterations of each of six trials: a factor that differs by trial is not known better."""
    rng = np.random.default_rng(2)
    shift = rng.standard_normal(12)
    rows = pd.DataFrame({"trial": np.repeat(np.arange(12), 10)})
    rows["platform"] = np.where(rows["trial"] % 2, "a", "b")
    rows["value"] = shift[rows["trial"]] + 0.01 * rng.standard_normal(120)
    by_row = of(rows, "platform")
    by_trial = of(rows, "platform", trial=rows["trial"].to_list())
    assert by_trial.n == 12
    assert by_row.n == 120
    assert by_trial.effects[0].p > by_row.effects[0].p
    expected = stats.f_oneway(shift[1::2], shift[::2]).pvalue
    assert by_trial.effects[0].p == pytest.approx(expected, abs=0.02)


def test_permutations_of_nothing_alarm_as_often_as_they_say() -> None:
    rng = np.random.default_rng(3)
    alarms = 0
    for seed in range(100):
        table = unbalanced(seed, 40).assign(value=rng.standard_t(2, 40))
        alarms += of(table, "platform").effects[0].rank_p <= 0.05
    assert alarms <= stats.binom.ppf(0.999, 100, 0.05)


def test_factors_that_say_nothing_are_left_out_and_told() -> None:
    table = unbalanced().assign(one="x")
    table["alias"] = table["platform"].str.upper()
    found = of(table, "platform", "one", "alias")
    assert found.left_out == ("one", "alias")
    assert [e.factors for e in found.effects] == [("platform",)]
    assert decompose(table["value"].to_numpy(), {"one": table["one"].to_list()}) is None


def test_a_design_that_is_not_fully_crossed_has_only_what_can_be_known() -> None:
    table = unbalanced()
    table = table[~((table["platform"] == "vm") & (table["pinning"] == "pinned"))]
    effects = {e.factors: e for e in of(table, "platform", "pinning").effects}
    assert effects["platform", "pinning"].degrees == 1


def test_equal_values_explain_nothing() -> None:
    found = of(unbalanced().assign(value=5.0), "platform")
    assert found.effects[0].share == 0
    assert found.effects[0].p == 1


def test_one_trial_a_cell_cannot_be_decomposed() -> None:
    assert decompose(np.arange(4.0), {"a": list("xyzw")}) is None


def crossed(*levels: int, trials: int = 2) -> pd.DataFrame:
    rows = np.repeat(list(np.ndindex(*levels)), trials, axis=0)
    table = pd.DataFrame(rows, columns=[*"abc"[: len(levels)]]).astype(str)
    return table.assign(value=rows[:, 1] + np.random.default_rng(4).standard_normal(len(rows)))


def test_a_model_that_is_too_large_has_no_interactions(monkeypatch: pytest.MonkeyPatch) -> None:
    table = crossed(5, 3, 2)
    assert of(table, "a", "b", "c").crossed
    monkeypatch.setattr(factorial, "MOST_WORK", 1_000)
    found = of(table, "a", "b", "c")
    assert (found.cells, found.crossed, found.left_out) == (30, False, ())
    anova = anova_lm(ols("value ~ a + b + c", table).fit(), typ=2)
    cells = anova_lm(ols("value ~ a * b * c", table).fit(), typ=2).loc["Residual"]
    scale = anova.loc["Residual", "sum_sq"] / anova.loc["Residual", "df"]
    scale /= cells["sum_sq"] / cells["df"]
    for effect in found.effects:
        assert effect.f == pytest.approx(scale * anova.loc[effect.factors[0], "F"])


def test_a_factor_that_makes_too_many_cells_is_left_out() -> None:
    found = of(crossed(400, 4, 3), "a", "b", "c")
    assert (found.cells, found.crossed, found.left_out) == (12, True, ("a",))
    assert len(found.effects) == 3
