"""What many comparisons are summed up to: why some are inconclusive, and what settles them."""

from __future__ import annotations

import numpy as np
import pytest
from said import args, template, templates
from synthetic import MS, Behaviour, make

from tare.experiment.findings import platform_cells
from tare.experiment.findings.answers import all_findings
from tare.experiment.findings.comparison_summary import blocks_needed, corrected
from tare.experiment.findings.headline import summarize
from tare.experiment.specification import Stopping
from tare.features.network.findings.dry import _host
from tare.results.columns import Columns
from tare.results.finding import Finding, Unsettled
from tare.results.message import Amount, Duration, Message, message
from tare.statistics.comparison import Comparison, compare_family
from tare.wiring import SUPPLIES


def compared(blocks: int, of: int) -> list[Comparison]:
    """Compare pairs of which the first is 5 % slower and the others are noise."""
    rng = np.random.default_rng(1)
    pairs = [(rng.normal(100, 0.1, blocks), rng.normal(100, 10, blocks)) for _ in range(of)]
    pairs[0] = pairs[0][0], pairs[0][0] * 1.05
    return compare_family(pairs)


def test_an_interval_without_0_says_why_it_decides_nothing() -> None:
    few = compared(6, 12)
    assert few[0].low is not None
    assert few[0].low > 1
    assert not few[0].verdict.conclusive
    needed = args(corrected(few), "and there are")
    assert (needed["of"], needed["blocks"], needed["needed"]) == (12, 6, blocks_needed(12))
    assert needed["some"] == sum(
        c.low is not None and c.high is not None and not c.low <= 1 <= c.high for c in few
    )
    enough = compared(blocks_needed(12), 12)
    assert enough[0].verdict.conclusive
    assert corrected([c for c in enough if c.verdict.conclusive]) == ()


def test_what_holm_takes_is_said() -> None:
    """The interval of one excludes 0 by little: enough alone, too little among twelve."""
    steps = np.array([1.0] * 9 + [-0.4] * 3) / 10
    first = np.full(12, 100.0) + 0.001 * np.arange(12)
    pairs = [(first, first * np.exp(steps + 0.0001 * np.arange(12)))]
    rng = np.random.default_rng(2)
    pairs += [(first, first * np.exp(rng.normal(0, 0.1, 12))) for _ in range(11)]
    found = compare_family(pairs, tick=0.0)
    one = found[0]
    assert one.low is not None
    assert one.low > 1
    assert not one.verdict.conclusive
    assert args(corrected(found), "and there are")["needed"] is None


def test_without_an_interval_the_number_of_blocks_is_said() -> None:
    assert corrected(compared(4, 1)) == (
        message("an interval needs ≥ {needed} common blocks, {blocks} so far", needed=6, blocks=4),
    )
    assert corrected([]) == ()


@pytest.mark.parametrize(("comparisons", "blocks"), [(1, 6), (2, 7), (12, 9)])
def test_more_comparisons_need_more_blocks(comparisons: int, blocks: int) -> None:
    assert blocks_needed(comparisons) == blocks


def total(trials: int) -> Message:
    return message(
        "{% if few %}an interval needs {% elif trials <= 100000 %}≈ {% endif %}"
        "{% if trials > 100000 %}more than 100,000 more trials per cell: measure on a "
        "quieter machine{% else %}{trials | about('more trial')} per cell{% if time %}, "
        "{time} in all{% endif %}{% endif %}",
        trials=trials,
        time=Duration(9),
        few=False,
    )


def waiting(name: str, trials: int) -> Finding:
    """Return a finding whose summary says how many more trials would settle it."""
    said = message(
        "overhead: inconclusive in {share}, on {platforms | listing}{% if more %} ({more})"
        "{% endif %}",
        platforms=[name],
        more=total(trials),
    )
    brief = message(
        "overhead: inconclusive in {share}, on {platforms | listing}{% if more %} ({more})"
        "{% endif %}",
        platforms=[name],
        more=None,
    )
    lines = (Unsettled(line=0, brief=brief, trials=trials),)
    return Finding(
        name=name, question="?", answer=said, verdict="inconclusive",
        summary=(said, "a sentence"), unsettled=lines,
    )  # fmt: skip


def test_a_screen_has_one_total() -> None:
    found = [waiting("a", 12), waiting("b", 700)]
    results = make(Behaviour(mean_ns=200 * MS, spread=0.2), trials=12)
    first, second, third, fourth = summarize(results, found).answers
    assert (first, third) == (found[0].waiting[0].brief, found[1].answer)
    assert second == fourth == "a sentence"


def test_the_answers_of_an_experiment_have_one_total() -> None:
    results = make(Behaviour(mean_ns=200 * MS, spread=0.2), trials=12)
    found = all_findings(results, SUPPLIES.findings())
    totals = [f.settle for f in found if isinstance(f.settle, Message)]
    assert len({one.args["trials"] for one in totals if template(one) == "measure on a"}) > 1
    answers = [one for one in summarize(results, found).answers if isinstance(one, Message)]
    assert templates(tuple(answers)).count("measure on a") == 1


def test_what_is_inconclusive_says_what_settles_it() -> None:
    results = make(Behaviour(mean_ns=200 * MS, spread=0.3), trials=8, stopping=Stopping(trials=8))
    waiting = [
        f
        for f in all_findings(results, SUPPLIES.findings())
        if f.verdict in ("inconclusive", "partly")
    ]
    assert waiting
    assert [f.name for f in waiting if f.settle is None] == []


def test_sizes_are_judged_by_the_margin_of_the_experiment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    results = make(workers=(1,), sizes=("0.5c", "1c", "2c", "4c"), trials=8)
    basis = platform_cells.cost_basis(results)
    assert not isinstance(basis, Message)
    margins = []
    judged = platform_cells.platform_size

    def seen(*given: object, **more: object) -> object:
        margins.append(given[5])
        return judged(*given, **more)

    monkeypatch.setattr(platform_cells, "platform_size", seen)
    platform_cells.over_sizes.__wrapped__(results, basis)
    assert set(margins) == {results.experiment.margin}


def test_what_a_host_did_not_record_is_not_known() -> None:
    rows = Columns({"times_dry": [1, 2], "first_dry_ns": [np.nan] * 2, "dry_ns": [1e9, 3e9]})
    host = _host(1, rows)
    assert (host.times, host.first_ns, host.dry_ns) == (2, None, 2e9)
    assert Amount(host.dry_ns, "ns").value == 2e9
