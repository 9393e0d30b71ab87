"""One judgement of the order of values: in the head, in the sections, beside a warm-up."""

from __future__ import annotations

import columns
import numpy as np
import pytest
from said import args, templates
from synthetic import Behaviour, make

from tare import registry
from tare.experiment.findings import trusted
from tare.experiment.findings.headline import summarize
from tare.experiment.report.backing import doubts
from tare.experiment.results import Results
from tare.experiment.specification import Stopping
from tare.results.message import message
from tare.statistics.interim_analysis import FIRST_LOOK
from tare.statistics.intervals import quantile_interval
from tare.statistics.trust import Reason


def shifted(results: Results, cells: int, by: float = 1.1) -> Results:
    """Let the second half of the trials of the first cells take longer by a factor."""
    trials = results.trial_table
    later = (trials["block"] >= trials["block"].max() / 2) & (trials["cell"] < cells)
    slower = trials["trial"][later]
    return columns.with_values(
        results,
        lambda samples: samples["value"] * np.where(np.isin(samples["trial"], slower), by, 1),
    )


def results(cells: int, trials: int = 40, spread: float = 0.005) -> Results:
    return make(
        Behaviour(spread=spread), workers=(1,), workloads=tuple("abcdefgh"[:cells]), trials=trials,
        platforms=("bare",), stopping=Stopping(trials=trials),
    )  # fmt: skip


@pytest.mark.parametrize(("trials", "adjusted"), [(FIRST_LOOK - 1, False), (FIRST_LOOK, True)])
def test_only_intervals_of_enough_trials_are_called_adjusted(trials: int, adjusted: bool) -> None:
    short = message(
        "trials are autocorrelated: {n} count as about {effective} for the mean", n=40, effective=9
    )
    reason = Reason(
        "autocorrelated",
        message(
            "{% if without %}even with {without | listing} taken out, {% endif %}trials are "
            "autocorrelated (dependence time {tau}, above {limit}): {n} count as about "
            "{effective} independent ones. Intervals that ignore it are {times} × too narrow. "
            "Leave an idle period between trials, or reset what they leave behind"
        ),
        short,
    )
    expected = (
        message("{said}, and the interval of the median is adjusted for it", said=short)
        if adjusted
        else short
    )
    assert trusted.why(reason, trials) == expected
    other = Reason(
        "equal",
        message(
            "all values are equal, or nearly all: their resolution is unknown. Time more work "
            "at once, or with a finer clock"
        ),
        message("all values are equal, or nearly all"),
    )
    assert trusted.why(other, trials) == other.short


def test_a_shift_is_in_the_head_with_the_doubts_and_beside_the_warm_up() -> None:
    found = shifted(results(1), 1)
    line = trusted.line(found)
    assert line is not None
    assert args(line, "at trial {trial} the level changes by {size}")["trial"] == 21
    assert not args(line, "are doubtful, e.g.")["several"]
    assert line in summarize(found, []).notes
    ((_, doubtful),) = trusted.judged(found).doubted
    reason = doubtful.grounds[0]
    assert args(doubts(found), "as many of")["reason"] == reason.said
    assert trusted.why(reason, 40) == args(line, "are doubtful, e.g.")["why"]
    warmup = registry.units_of("finding")["warmup"].find(found)
    assert warmup is not None
    assert warmup.verdict == "no"
    assert args(warmup.caveats, "values do not")["doubted"]


def test_a_steady_series_is_not_doubted() -> None:
    found = results(1)
    assert trusted.line(found) is None
    assert not doubts(found)
    warmup = registry.units_of("finding")["warmup"].find(found)
    assert warmup is not None
    assert "values do not" not in templates(warmup.caveats)


@pytest.mark.parametrize(
    ("cells", "spread", "by", "shown"),
    [(1, 0.08, 1.05, False), (1, 0.005, 1.1, True), (4, 0.005, 1.1, True)],
)
def test_the_head_has_what_chance_does_not_explain(
    cells: int, spread: float, by: float, shown: bool
) -> None:
    """Neither as many cells, nor a shift as clear in any of them, as in an audit of series."""
    found = shifted(results(8, spread=spread), cells, by)
    assert len(trusted.judged(found).doubted) == cells
    assert (trusted.line(found) is not None) == shown
    assert args(doubts(found), "as many of")["chance"] == (not shown)


def test_the_target_is_the_one_that_was_asked_for() -> None:
    values = shifted(results(1), 1).values("wall_ns")["value"]
    median = quantile_interval(values)
    for asked, verdict in (
        (Stopping(trials=40), "DOUBT"),
        (Stopping(precision=0.05), "DOUBT"),
        (Stopping(precision=0.2), "TRUST"),
    ):
        assert trusted.judge(values, asked, median, 1).verdict == verdict


def test_a_comparison_is_trusted_to_its_widest_median() -> None:
    found = trusted.whole(results(4))
    assert found is not None
    assert (found.verdict, found.sessions) == ("TRUST", 1)
    assert found.extent == max(one.extent for one in trusted.judged(results(4)).verdicts)
    doubtful = trusted.whole(shifted(results(8), 4))
    assert doubtful is not None
    assert doubtful.verdict == "DOUBT"
