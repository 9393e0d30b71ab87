"""Warm-ups, periods and cold starts inside executions: doubted, and left out by --steady."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from said import Phrase, template

from tare.features.audit.audit import audit
from tare.features.audit.figures import figures
from tare.features.audit.question import Question
from tare.readers import ColumnOptions
from tare.results.message import message


def forks_file(tmp_path: Path, first: float, name: str = "forks.csv") -> Path:
    """Write 12 forks of 20 iterations, the first five of which take longer."""
    rng = np.random.default_rng(4)
    rows = [
        f"{fork},{i},{level * (1 + first * (i <= 5)) * (1 + 0.01 * noise):.6f}"
        for fork, level in enumerate(1 + 0.01 * rng.standard_normal(12), 1)
        for i, noise in enumerate(rng.standard_normal(20), 1)
    ]
    file = tmp_path / name
    file.write_text("\n".join(["fork,iteration,time_s", *rows]) + "\n")
    return file


def test_a_warm_up_inside_forks_is_a_doubt_and_steady_leaves_it_out(tmp_path: Path) -> None:
    file = forks_file(tmp_path, 0.5)
    (whole,) = audit([file]).series
    (reason,) = whole.trust.reasons
    assert (whole.trust.verdict, template(reason), reason.args["kind"]) == (
        "DOUBT",
        "they settle, or",
        "warm-up",
    )
    (part,) = audit([file], Question(steady=True)).series
    assert part.trust.verdict == "TRUST"
    low, high = part.median.low, part.median.high
    assert low is not None
    assert high is not None
    assert low <= 1 <= high < whole.median.estimate
    assert part.value_of_trial == message(
        "{values} values of {trials | counted('trial')}: each trial counts as the mean "
        "of {% if first > 1 %}iterations {first}{% if last %} to {last}{% else %} and "
        "later{% endif %}{% else %}all{% if last %} {last}{% else %} its{% endif %} "
        "iterations{% endif %}",
        values=12 * 13,
        trials=12,
        first=8,
        last=20,
    )
    assert figures(audit([file], Question(steady=True)))["series"][0]["steady_from"] == 7


def test_a_period_inside_forks_is_a_doubt_and_has_no_steady_part(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    values = 1 + 0.8 * (np.arange(15) % 3 == 2) + 0.01 * rng.standard_normal((12, 15))
    rows = [f"{fork},{x:.6f}" for fork, some in enumerate(values, 1) for x in some]
    file = tmp_path / "period.csv"
    file.write_text("\n".join(["fork,time_s", *rows]) + "\n")
    assert audit([file]).verdict == "DOUBT"
    refused = audit([file], Question(steady=True))
    (reason,) = refused.series[0].trust.reasons
    assert (refused.verdict, template(reason)) == ("REJECT", "out --steady, or")


def test_programs_with_equal_steady_states_are_slower_by_their_warm_up_alone(
    tmp_path: Path,
) -> None:
    files = [forks_file(tmp_path, 0.0, "a.csv"), forks_file(tmp_path, 0.5, "b.csv")]
    columns = ColumnOptions(compare=("file",))
    (whole,) = audit(files, Question(columns=columns)).comparisons
    assert whole.word == "slower"
    assert Phrase("the two differ") in {template(one) for one in whole.matched.cautions}
    (steady,) = audit(files, Question(columns=columns, steady=True)).comparisons
    assert not steady.verdict.conclusive or steady.verdict.within_margin
    assert Phrase("the two differ") not in {template(one) for one in steady.matched.cautions}


def test_a_cold_first_run_is_named_and_no_doubt(tmp_path: Path) -> None:
    rng = np.random.default_rng(6)
    file = tmp_path / "cold.csv"
    values = [2.5, *(0.1 * (1 + 0.01 * rng.standard_normal(29)))]
    file.write_text("\n".join(["time_s", *map(str, values)]) + "\n")
    columns = ColumnOptions(trial="row")
    (found,) = audit([file], Question(columns=columns)).series
    assert found.trust.verdict == "TRUST"
    assert Phrase("as long: a") in {template(one) for one in found.trust.remarks}
    (rest,) = audit([file], Question(columns=columns, steady=True)).series
    assert rest.n == 29
    assert rest.value_of_trial == message(
        "the first {% if n == 1 %}value is{% else %}{n} values are{% endif %} left out (--steady)",
        n=1,
    )
